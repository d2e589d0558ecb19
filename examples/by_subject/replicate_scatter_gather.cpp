// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/by_subject/replicate_scatter_gather.cpp -pthread -o gather && ./gather
// The classic single-process form by hand: replicate the model from device 0, scatter the batch, apply in parallel, gather the outputs; loss, sum of
// gradients and update on device 0. Beside it the same steps as DataParallel<replicas>: the same bits, and no device has more to do than another.
#include <cstdio>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <heddle/io/synthetic.hpp>
#include <thread>

using namespace heddle;
using namespace heddle::extending;
using namespace heddle::run_room;  // what a trainer is made of: kernels, arrays, first values

struct Network : Sequential<Linear<20, 500>, ReLU, Linear<500, 500>, ReLU, Linear<500, 10>> {};
constexpr int rows = 128, replicas = 4, share = rows / replicas, steps = 10;
using Modern = Plan<Network, CrossEntropy, Adam, Batch<rows>, Grain<share>, DataParallel<replicas>>;

constexpr const Graph& graph = graph_of<Network>;
constexpr std::int64_t flat = Modern::training.arenas[0].flat_elements();  // parameters lie in one flat buffer, where the plan has them
const KernelTable compute = kernel_table<Network, CrossEntropy, Adam, EigenCompute>();

/// What one device holds and moves.
struct Replica {
  Floats parameters = Floats(flat), gradients = Floats(flat), workspace = Floats(compute.workspace_bytes / 4);
  std::vector<Floats> values, value_gradients;                   // layer n takes values[n] and gives values[n + 1]: (share, features)
  Floats states[2], inputs, outputs, output_gradients, arrived;  // device 0 only: Adam's; of the whole batch; gradients of the other replicas
  std::vector<const float*> weights;
  std::vector<float*> sums;
  std::size_t sent = 0, received = 0;  // [bytes]

  explicit Replica(bool main) {
    for (int v = 0; v <= graph.node_count; ++v) values.emplace_back(share * graph.spec(v).elements());
    value_gradients = values;
    value_gradients[0].clear();  // nobody needs it
    for (int p = 0; p < graph.parameter_count; ++p) {
      const auto& place = Modern::training.parameters[p];
      weights.push_back(parameters.data() + place.begin);
      sums.push_back(gradients.data() + place.begin);
      if (main) initialize(graph.leaf(place.node).parameters[place.index], Seed{1}, p, parameters.data() + place.begin);
    }
    if (!main) return;
    states[0] = states[1] = Floats(flat);
    inputs = Floats(rows * graph.input.elements());
    outputs = output_gradients = Floats(rows * graph.output().elements());
    arrived = Floats((replicas - 1) * flat);
  }
  [[nodiscard]] std::size_t bytes() const {
    std::size_t floats = parameters.size() + gradients.size() + 2 * states[0].size() + inputs.size() + 2 * outputs.size() + arrived.size();
    for (int v = 0; v <= graph.node_count; ++v) floats += values[v].size() + value_gradients[v].size();
    return 4 * floats;
  }
  void run(bool backward) {
    for (int i = 0; i < graph.node_count; ++i) {
      const int n = backward ? graph.node_count - 1 - i : i, p = graph.nodes[n].first_parameter;
      const LeafKernels& kernel = compute.leaves[graph.nodes[n].leaf];
      if (!backward)
        kernel.forward({&graph.leaf(n), share, values[n].data(), values[n + 1].data(), weights.data() + p, workspace.data()});
      else
        kernel.backward({&graph.leaf(n), share, values[n].data(), values[n + 1].data(), value_gradients[n + 1].data(),
                         n > 0 ? value_gradients[n].data() : nullptr, weights.data() + p, sums.data() + p, false, workspace.data()});
    }
  }
};

void copy(Replica& from, const float* source, Replica& to, float* target, std::size_t floats) {
  std::copy(source, source + floats, target);
  if (&from != &to) from.sent += 4 * floats, to.received += 4 * floats;
}

void step(std::vector<Replica>& devices, const Examples<std::int32_t>& batch, const Adam::Constants& constants) {
  Replica& main = devices.front();
  const auto move = [&](bool gather, Floats& whole, auto part) {  // rows r x share to (r + 1) x share belong to device r
    const std::size_t n = whole.size() / replicas;
    for (Replica& d : devices) {
      float* const here = whole.data() + (&d - &main) * n;
      gather ? copy(d, part(d), main, here, n) : copy(main, here, d, part(d), n);
    }
  };
  const auto apply_in_parallel = [&](bool backward) {
    std::vector<std::jthread> threads;
    for (Replica& d : devices) threads.emplace_back([&d, backward] { d.run(backward); });
  };
  std::copy_n(batch.inputs, main.inputs.size(), main.inputs.data());
  for (int r = 1; r < replicas; ++r) copy(main, main.parameters.data(), devices[r], devices[r].parameters.data(), flat);  // replicate
  move(false, main.inputs, [](Replica& d) { return d.values.front().data(); });                                           // scatter
  apply_in_parallel(false);
  move(true, main.outputs, [](Replica& d) { return d.values.back().data(); });  // gather
  compute.loss({rows, graph.output().elements(), rows, main.outputs.data(), batch.targets, main.output_gradients.data()});
  move(false, main.output_gradients, [](Replica& d) { return d.value_gradients.back().data(); });
  apply_in_parallel(true);
  std::vector<float*> g{main.gradients.data()};
  for (int r = 1; r < replicas; ++r) copy(devices[r], devices[r].gradients.data(), main, g.emplace_back(main.arrived.data() + (r - 1) * flat), flat);
  for (int apart = 1; apart < replicas; apart *= 2)  // the tree of the plan: pairs, then pairs of pairs
    for (int r = 0; r + apart < replicas; r += 2 * apart) compute.add(g[r], g[r], g[r + apart], flat);
  float* const states[] = {main.states[0].data(), main.states[1].data()};
  compute.step(&constants, flat, main.parameters.data(), g.front(), states);
}

int main() {
  std::vector<Replica> devices;
  for (int r = 0; r < replicas; ++r) devices.emplace_back(r == 0);
  Trainer<Modern, CpuThreads> modern{{.learning_rate = 1e-3}, Seed{1}};
  for (const auto data = datasets::synthetic(Seed{1}, steps * rows, 20, 10); const auto& batch : data.in_order().batches<rows>()) {
    modern.step(batch);
    step(devices, batch, Adam::constants(modern.optimizer(), modern.steps()));
  }
  std::printf("one step of %d rows        rows  rows of the loss  parameters updated  KiB sent  KiB received  KiB of memory\n", rows);
  constexpr int all = parameters<Network>;
  for (const Replica& d : devices)
    std::printf("classic form, device %d     %4d  %16d  %18d  %8zu  %12zu  %13zu\n", static_cast<int>(&d - devices.data()), share,
                d.outputs.empty() ? 0 : rows, d.outputs.empty() ? 0 : all, d.sent / steps / 1024, d.received / steps / 1024, d.bytes() / 1024);
  const auto moved = traffic<Modern>().sent_in_reductions(Rank{0}) / 1024, memory = peak_memory<Modern>() / 1024;
  std::printf("DataParallel<%d>, each      %4d  %16d  %18d  %8ld  %12ld  %13ld\n", replicas, share, share, all, moved.value, moved.value,
              memory.value);
  bool equal = true;
  for (int p = 0; p < graph.parameter_count; ++p) {
    const std::vector<float> values = modern.parameter(modern.parameter_names()[p]);
    equal = equal && std::equal(values.begin(), values.end(), devices[0].weights[p]);
  }
  std::printf("parameters equal after %d steps, to the last bit: %s\n", steps, equal ? "yes" : "no");
  return equal ? 0 : 1;
}
