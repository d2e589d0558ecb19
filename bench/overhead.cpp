// SPDX-License-Identifier: MIT
// What the executor costs: the time of a step minus that of the same kernels with the same arguments called one after the other, divided by the
// instructions and entries that the step walks. A plan of many tiny layers for the cost of each, workload a for its share of a real step.
// usage: overhead [ROUNDS]
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <vector>

using namespace heddle;
using namespace heddle::extending;
using namespace heddle::run_room;

namespace {

struct Tiny : Sequential<Linear<16, 16>, Repeat<64, ReLU>, Linear<16, 16>> {};
struct Wide : Sequential<Linear<1000, 2000>, ReLU, Linear<2000, 1000>> {};

double seconds() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

template <class Work> double seconds_per_call(Work&& work, int calls) {
  const double start = seconds();
  for (int i = 0; i < calls; ++i) work();
  return (seconds() - start) / calls;
}

/// The kernels of one step of a chain of layers on one device, in the order of its Program, with every argument known beforehand.
template <class ThePlan> class DirectCalls {
  using Request = typename ThePlan::Request;
  static constexpr const Graph& graph = Request::graph;
  static constexpr std::int64_t rows = Request::batch.batch;

 public:
  DirectCalls(const float* inputs, const float* targets)
      : inputs_(inputs), targets_(targets), arena_(4 * (2 * rows * values() + 2 * graph.parameter_elements() + slack)),
        workspace_(EigenCompute::workspace.value) {
    for (int v = 0; v <= graph.node_count; ++v) {
      value_.push_back(take(rows * graph.spec(v).elements()));
      gradient_.push_back(take(rows * graph.spec(v).elements()));
    }
    flat_parameters_ = flat(parameters_);
    flat_gradients_ = flat(gradients_);
    target_ = take(rows * graph.output().elements());
  }
  void operator()() {
    EigenCompute::copy(value_[0], inputs_, rows * graph.input.elements());
    for (int n = 0; n < graph.node_count; ++n) {
      const Node& node = graph.nodes[n];
      const auto at = static_cast<std::size_t>(n);
      kernels_.leaves[node.leaf].forward(
          {&graph.leaf(n), rows, value_[at], value_[at + 1], parameters_.data() + node.first_parameter, workspace_.bytes(0)});
    }
    EigenCompute::copy(target_, targets_, rows * graph.output().elements());
    kernels_.loss({rows, graph.output().elements(), rows, value_.back(), target_, gradient_.back()});
    for (int n = graph.node_count - 1; n >= 0; --n) {
      const Node& node = graph.nodes[n];
      const auto at = static_cast<std::size_t>(n);
      kernels_.leaves[node.leaf].backward({&graph.leaf(n), rows, value_[at], value_[at + 1], gradient_[at + 1], n == 0 ? nullptr : gradient_[at],
                                           parameters_.data() + node.first_parameter, gradients_.data() + node.first_parameter, false,
                                           workspace_.bytes(0)});
    }
    const SGD::Constants constants = SGD::constants({}, 1);
    kernels_.step(&constants, flat_elements_, flat_parameters_, flat_gradients_, nullptr);
  }

 private:
  static constexpr std::int64_t slack = 64 * 1024;  // for the padding of each array
  static constexpr std::int64_t values() {
    std::int64_t sum = graph.output().elements();
    for (int v = 0; v <= graph.node_count; ++v) sum += graph.spec(v).elements();
    return sum;
  }
  float* take(std::int64_t elements) {
    float* const found = arena_.floats(taken_, elements);
    taken_ += (4 * elements + 63) / 64 * 64;
    return found;
  }
  float* flat(std::vector<float*>& tensors) {
    const std::int64_t begin = taken_;
    for (int n = 0; n < graph.node_count; ++n)
      for (int p = 0; p < graph.leaf(n).parameter_count; ++p) tensors.push_back(take(graph.leaf(n).parameters[p].shape.elements()));
    flat_elements_ = (taken_ - begin) / 4;
    return arena_.floats(begin, flat_elements_);
  }

  const float* inputs_;
  const float* targets_;
  KernelTable kernels_ = kernel_table<typename Request::Model, MeanSquaredError, SGD, EigenCompute>();
  Arena arena_;
  Arena workspace_;
  std::int64_t taken_ = 0;
  std::vector<float*> value_, gradient_, parameters_, gradients_;
  float* flat_parameters_ = nullptr;
  float* flat_gradients_ = nullptr;
  float* target_ = nullptr;
  std::int64_t flat_elements_ = 0;
};

/// Instructions and entries of a step that is not reported, on a plan of one device and one micro-batch.
template <class ThePlan> int lines_of_a_step() {
  const Program& p = ThePlan::training;
  int lines = 0;
  for (int i = p.lists[0].begin; i < p.lists[0].end; ++i) {
    const Instruction& line = p.instructions[i];
    if (line.when == When::reporting) continue;
    ++lines;
    if (!computes(line.op)) continue;
    const auto body = p.body(line);
    for (int e = body.begin; e < body.end; ++e) lines += p.entries[e].when == When::reporting ? 0 : 1;
  }
  return lines;
}

template <class ThePlan> void measure(const char* name, int rounds) {
  using Request = typename ThePlan::Request;
  constexpr std::int64_t rows = Request::batch.batch;
  const std::vector<float> inputs(static_cast<std::size_t>(rows * Request::graph.input.elements()), 0.5F);
  const std::vector<float> targets(static_cast<std::size_t>(rows * Request::graph.output().elements()), 0.25F);
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 1e-3}, Seed{1}};
  trainer.on_step({}, Every::never());
  const auto batch = examples(inputs, targets, Request::graph.input.elements());
  DirectCalls<ThePlan> direct{inputs.data(), targets.data()};
  const auto step = [&] { trainer.step(batch); };
  direct();
  const int calls = std::max(1, static_cast<int>(5e-3 / seconds_per_call(step, 3)));
  std::vector<double> steps, kernels, differences;
  for (int i = 0; i < rounds; ++i) {
    steps.push_back(seconds_per_call(step, calls));
    kernels.push_back(seconds_per_call(direct, calls));
    differences.push_back(steps.back() - kernels.back());
  }
  std::vector<double> shares;
  for (std::size_t i = 0; i < steps.size(); ++i) shares.push_back(100 * differences[i] / steps[i]);
  std::sort(differences.begin(), differences.end());
  std::sort(shares.begin(), shares.end());
  const int lines = lines_of_a_step<ThePlan>();
  std::printf("%-24s | %5d | %9.3f | %7.2f [%.2f - %.2f]\n", name, lines, differences[differences.size() / 2] / lines * 1e6,
              shares[shares.size() / 2], shares[shares.size() / 4], shares[shares.size() * 3 / 4]);
}

}  // namespace

int main(int count, char** arguments) {
  const int rounds = count > 1 ? std::max(1, std::atoi(arguments[1])) : 41;
  std::printf(
      "plan                     | lines | us a line | share of the step in %%, median [quartiles]; where the quartiles differ in sign it drowns in "
      "noise\n");
  measure<Plan<Tiny, MeanSquaredError, SGD, Batch<1>, Single>>("66 tiny layers, 1 row", rounds);
  measure<Plan<Wide, MeanSquaredError, SGD, Batch<64>, Single>>("workload a", rounds);
}
