// SPDX-License-Identifier: MIT
// Writes every dumped plan: what its Programs say, and the bits that its ranks hold after three steps on threads.
// usage: dump FILE
#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "dump/plans.hpp"
#include "dump/write.hpp"
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/run/runner.hpp"

namespace {

using namespace heddle;
using Ranks = LocalRanks<CpuThreads::Session>;

/// A plan without its type.
struct Dumped {
  std::string name;
  const Program* training = nullptr;
  const Program* evaluation = nullptr;
  const Graph* whole = nullptr;
  std::int64_t target_features = 0;
  KernelTable kernels;
  const void* constants = nullptr;
  bool trains = true;
  bool same_on_all_machines = true;  // its bits
};

struct Hex {
  std::uint64_t value;
  int digits = 16;
  friend std::ostream& operator<<(std::ostream& out, Hex hex) {
    return out << std::hex << std::setw(hex.digits) << std::setfill('0') << hex.value << std::dec;
  }
};
Hex bits(float value) { return {std::bit_cast<std::uint32_t>(value), 8}; }
Hex hash(const std::vector<float>& values) {
  BitHash all;
  all.add(values);
  return {all.value};
}

/// Multiples of 1/64, drawn by no function of the standard library: the same on every machine.
float drawn(std::int64_t a, std::int64_t b, int most) {
  const std::uint64_t bits = bits64(Seed{7}, static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b));
  return static_cast<float>(static_cast<int>(bits % static_cast<std::uint64_t>(2 * most + 1)) - most) / 64;
}

/// Rows of inputs, or of token ids where the model begins with a table, and targets.
struct Rows {
  std::vector<float> inputs;
  std::vector<std::int32_t> ids;
  std::vector<float> targets;

  Rows(const Dumped& plan, std::int64_t rows) {
    const std::int64_t features = plan.whole->input.elements();
    const std::int64_t vocabulary = vocabulary_of(*plan.whole);
    for (std::int64_t i = 0; i < rows * features; ++i) {
      if (vocabulary > 0)
        ids.push_back(static_cast<std::int32_t>((5 * i + i / 4) % vocabulary));
      else
        inputs.push_back(drawn(1, i, 64));
    }
    for (std::int64_t i = 0; i < rows * plan.target_features; ++i) targets.push_back(drawn(2, i, 64));
  }
  [[nodiscard]] StepInput some(const Dumped& plan, Ranks& ranks, std::int64_t begin, std::int64_t rows) const {
    const std::int64_t features = plan.whole->input.elements();
    if (!ids.empty()) return ranks.input_of(examples(ids, targets, features).slice(begin, rows), *plan.training);
    return ranks.input_of(examples(inputs, targets, features).slice(begin, rows), *plan.training);
  }
};

void write_sent(std::ostream& out, const Dumped& plan, Ranks& ranks) {
  for (int r = 0; r < plan.training->mesh.ranks(); ++r)
    for (const Movement kind : {Movement::point_to_point, Movement::all_reduce, Movement::reduce_scatter, Movement::all_gather}) {
      const Sent sent = ranks.session().transport().sent(Rank{r}, kind);
      if (sent.messages == 0) continue;
      out << "rank " << r << " has sent " << sent.bytes.value << " bytes in " << sent.messages << ' '
          << (kind == Movement::point_to_point ? "transfer" : name_of(kind)) << (sent.messages > 1 ? "s" : "") << '\n';
    }
}

/// Three steps: a whole batch, the rows that are there of a smaller one if the plan takes it, a whole one again.
void train(std::ostream& out, const Dumped& plan, Ranks& ranks) {
  const Program& p = *plan.training;
  const std::int64_t batch = p.batch.batch;
  const Rows rows{plan, 2 * batch};
  const bool takes_fewer = p.batch.remedy == Remedy::keep || p.batch.remedy == Remedy::pad;
  for (int step = 1; step <= 3; ++step) {
    const auto turn = ranks.begin("step()");
    ranks.session().transport().clear_traffic();
    StepInput input = rows.some(plan, ranks, 3 * step, step == 2 && takes_fewer ? batch - 3 : batch);
    if (p.batch.remedy == Remedy::pad) input.rows = batch;
    input.rows = std::min<std::int64_t>(input.rows, p.batch.capacity());
    input.constants = plan.constants;
    input.step = step;
    input.max_norm = 0.25;
    input.loss_scale = p.scales_loss ? 1024.0F : 1.0F;
    input.reporting = true;
    ranks.run(input);
    ranks.count(step);
    if (step == 1) write_sent(out, plan, ranks);
    if (!plan.same_on_all_machines) continue;
    out << "bits of step " << step << ": loss " << bits(ranks.shared_loss_sum());
    if (p.clips) out << ", norm " << bits(ranks.any_local().norm());
    out << ", parameters";
    for (int replica = 0; replica < p.batch.ranks; ++replica) out << ' ' << Hex{ranks.resting("hash")->hash(replica)};
    out << '\n';
  }
}

void run(std::ostream& out, const Dumped& plan) {
  Ranks ranks{*plan.training,          *plan.evaluation, *plan.whole,
              plan.target_features,    plan.kernels,     transport_needs(*plan.training, *plan.evaluation),
              std::chrono::seconds{60}};
  ranks.make(Seed{1});
  auto& tensors = ranks.resting("names").tensors;
  for (const std::string& name : tensors.names()) {
    const int number = tensors.find(name);
    std::vector<float> values;
    for (std::int64_t i = 0; i < tensors.shape(number).elements(); ++i) values.push_back(drawn(10 + number, i, 24));
    if (name.ends_with("running_var"))
      for (float& value : values) value = std::abs(value);
    ranks.write("set_parameter()", name, values);
  }
  out << "-- run on threads\n";
  if (plan.trains) train(out, plan, ranks);
  if (!plan.same_on_all_machines) return;
  for (const std::string& name : tensors.names()) {
    const int number = tensors.find(name);
    out << "bits of " << name << ": " << hash(tensors.parameter(number, 0));
    if (plan.trains && !plan.training->graph->frozen(plan.training->parameters[number].node))
      out << ", gradient " << hash(tensors.gradient(number, 0));
    out << '\n';
  }
  const Rows rows{plan, 40};
  out << "bits of an application: " << hash(rows.ids.empty() ? ranks.predict<float>(rows.inputs) : ranks.predict<float, std::int32_t>(rows.ids))
      << '\n';
}

void write(std::ostream& out, const Dumped& plan) {
  out << "== " << plan.name << '\n';
  const TransportNeeds needs = transport_needs(*plan.training, *plan.evaluation);
  tests::ProgramWriter{out, *plan.training}.write_shared();
  if (plan.trains) {
    out << "-- training\n";
    tests::ProgramWriter{out, *plan.training}.write_mode(needs);
  }
  out << "-- evaluation\n";
  tests::ProgramWriter{out, *plan.evaluation}.write_mode(needs);
  if (plan.kernels.targets.labels()) return;
  run(out, plan);
}

/// Has a compiler make each plan once, and nothing else of it.
struct Writer {
  std::ostream& out;
  template <class P> void plan(const char* name) {
    using Request = typename P::Request;
    using Optimizer = typename Request::Optimizer;
    static typename Optimizer::Options options;
    options.learning_rate = 0.0625;
    static const typename Optimizer::Constants constants = Optimizer::constants(options, 2);
    Dumped plan;
    plan.name = name;
    plan.training = &P::training;
    plan.evaluation = &P::evaluation;
    plan.whole = &Request::graph;
    plan.target_features = Request::target_features;
    plan.kernels = kernel_table<typename Request::Model, typename Request::Loss, Optimizer, CpuThreads::Compute>();
    plan.constants = &constants;
    plan.trains = Request::trains;
    plan.same_on_all_machines = std::is_same_v<typename Request::Loss, MeanSquaredError> || !Request::trains;
    write(out, plan);
    ++plans;
  }
  int plans = 0;
};

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) return std::cerr << "usage: dump FILE\n", 2;
  std::ofstream file{arguments[1]};
  file << "SPDX-License-Identifier: MIT\n";
  Writer writer{file};
  tests::dumped::each_dumped_plan(writer);
  file.flush();
  std::cout << writer.plans << " plans\n";
  return file ? 0 : 1;
}
