// SPDX-License-Identifier: MIT
// What layers take: the curves and rates of a Machine, from the seconds of kernels in steps of small models on one device.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/cost/machine_figures.hpp>
#include <heddle/cost/work_time.hpp>
#include <heddle/heddle.hpp>
#include <initializer_list>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace this_machine {

using namespace heddle;
using namespace heddle::extending;

inline double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The middle one: as steps have it, whose moments are no better and no worse.
inline double median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2), values.end());
  return values[values.size() / 2];
}

/// Linear layers whose products have from 32 thousand to 134 million operations.
struct Growing : Sequential<Linear<64, 16>, Linear<16, 16>, Linear<16, 64>, Linear<64, 64>, Linear<64, 128>, Linear<128, 256>, Linear<256, 256>,
                            Linear<256, 512>, Linear<512, 512>, Linear<512, 1024>, Linear<1024, 1024>> {};
/// Layers of 1 MiB, and of 64 MiB together.
struct Square : Sequential<Linear<512, 512>, Linear<512, 512>> {};
struct Deep : Repeat<17, Linear<1024, 1024>> {};
struct Shallow : Repeat<2, Linear<1024, 1024>> {};
struct Words : Sequential<Input<128>, Embedding<64, 256>, LayerNorm<256>, RMSNorm<256>, GELU, GELUTanh, SiLU, Sigmoid, Tanh, ReLU, Linear<256, 768>,
                          SelfAttention<Heads<8>, Causal>, Linear<256, 1024>> {};
struct Pictures : Sequential<Input<16, 28, 28>, Conv2d<16, 32, KernelSize<3>, Padding<1>>, BatchNorm2d<32>, ReLU, MaxPool2d<KernelSize<2>>,
                             Conv2d<32, 64, KernelSize<3>, Padding<1>>, AvgPool2d<KernelSize<2>>, Flatten, Linear<3136, 10>> {};
template <class Model, int Rows> using OfFloats = Plan<Model, MeanSquaredError, SGD, Batch<Rows>, Single>;
using OfWords = Plan<Words, CrossEntropy, SGD, Batch<4>, Single>;
using OfPictures = Plan<Pictures, CrossEntropy, Adam, Batch<16>, Single>;

/// The seconds of each entry and of each step of parameters, of steps on one device.
class Watched : public Observer {
 public:
  template <class ThePlan, class Target, class Input>
  static Watched steps_of(std::type_identity<ThePlan>, double budget, const Examples<Target, Input>& batch) {
    Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 0}, Seed{1}};
    trainer.on_step({}, Every::never());
    trainer.step(batch);
    Watched seen{ThePlan::training};
    trainer.observe(&seen);
    const double end = now() + budget;
    do trainer.step(batch);
    while (now() < end);
    trainer.observe(nullptr);
    return seen;
  }
  template <class Model, int Rows> static Watched steps_of_floats(double budget) {
    using ThePlan = OfFloats<Model, Rows>;
    const std::vector<float> in(static_cast<std::size_t>(ThePlan::Request::graph.input.elements()) * Rows, 0.1F);
    const std::vector<float> out(static_cast<std::size_t>(ThePlan::Request::target_features) * Rows, 0.1F);
    return steps_of(std::type_identity<ThePlan>{}, budget, examples(in, out, ThePlan::Request::graph.input.elements()));
  }
  void finished(const Observation& seen) override {
    const double took = std::chrono::duration<double>(seen.end - seen.start).count();
    if (seen.entry >= 0)
      by_entry_[static_cast<std::size_t>(seen.entry)].push_back(took);
    else if (seen.instruction == first_step())
      steps_.push_back(took);
  }

  /// Calls of one layer, or of all layers of a kind, in some passes: 2 calls of 8 rows that took 3 ms, wrote and read 4 MB and did 1e8 operations.
  struct Calls {
    int count = 0;
    double seconds = 0, bytes = 0, operations = 0;

    /// Beyond what calls and memory take that does not pass meanwhile.
    [[nodiscard]] double computing(const Machine& m) const {
      return std::max(seconds - count * m.per_call - (1 - m.memory_aside) * bytes * m.per_memory_byte, seconds / 10);
    }
    Calls& operator+=(const Calls& other) {
      count += other.count, seconds += other.seconds, bytes += other.bytes, operations += other.operations;
      return *this;
    }
  };
  [[nodiscard]] Calls of_layer(int node, bool forward) const {
    Calls all;
    const double rows = p_.batch.micro_rows;
    for (std::size_t e = 0; e < by_entry_.size(); ++e) {
      const auto& entry = p_.entries[e];
      if (entry.node != node || by_entry_[e].empty() || (entry.what == plan_room::BodyOp::leaf_backward) == forward) continue;
      const bool loss = entry.what == plan_room::BodyOp::loss;
      const double of_a_row = loss ? static_cast<double>(entry.features) : static_cast<double>(plan_room::flops_of(p_, entry));
      all += {1, median(by_entry_[e]), static_cast<double>(cost_room::moved_bytes(p_, entry, p_.batch.micro_rows)), rows * of_a_row};
    }
    return all;
  }
  [[nodiscard]] Calls of_kind(std::string_view kind, bool forward) const {
    if (kind == "CrossEntropy") return of_layer(p_.graph->node_count, forward);
    Calls all;
    for (int n = 0; n < p_.graph->node_count; ++n)
      if (p_.graph->leaf(n).kind.view() == kind) all += of_layer(n, forward);
    return all;
  }
  /// An operation is that of an element that is stepped.
  [[nodiscard]] Calls of_step() const {
    const auto& line = p_.instructions[first_step()];
    return {1, median(steps_), static_cast<double>(cost_room::line_bytes_moved(p_, 0, line)),
            static_cast<double>(cost_room::stepped_elements(p_, line))};
  }
  [[nodiscard]] const plan_room::Program& program() const { return p_; }
  [[nodiscard]] Machine seen_by(const Machine& m) const { return with_working_set(m, Bytes{p_.arenas[0].total}); }

 private:
  explicit Watched(const plan_room::Program& p)
      : p_(p), by_entry_(static_cast<std::size_t>(std::max(p.forward_bodies[0].end, p.backward_bodies[0].end))) {}
  [[nodiscard]] int first_step() const {
    int line = p_.lists[0].begin;
    while (p_.instructions[line].op != plan_room::ListOp::step) ++line;
    return line;
  }

  const plan_room::Program& p_;
  std::vector<std::vector<double>> by_entry_;
  std::vector<double> steps_;
};

/// How much of the time of their memory passes while products compute: of the same products, those of weights beyond the caches take longer by what
/// does not.
inline Machine with_memory_aside(Machine m, double budget) {
  const Watched near = Watched::steps_of_floats<Shallow, 16>(budget / 4), far = Watched::steps_of_floats<Deep, 16>(budget * 3 / 4);
  Watched::Calls of_near, of_far;
  for (const bool forward : {true, false}) of_near += near.of_layer(1, forward), of_far += far.of_layer(9, forward);
  const double memory = of_far.bytes * far.seen_by(m).per_memory_byte - of_near.bytes * near.seen_by(m).per_memory_byte;
  m.memory_aside = 1 - std::clamp((of_far.seconds - of_near.seconds) / memory, 0.0, 1.0);
  return m;
}

/// A layer's forward is a product, its backward two of as many operations.
inline Watched::Calls three_products(const Watched& seen, int node) {
  Watched::Calls all = seen.of_layer(node, true);
  return all += seen.of_layer(node, false);
}

/// The share of the peak that products of 64 rows reach by their operations, and which part of that those of fewer rows do.
inline Machine with_products(Machine m, double budget) {
  m = with_memory_aside(m, budget / 3);
  const Watched seen = Watched::steps_of_floats<Growing, 64>(budget / 3);
  std::vector<std::pair<double, double>> products;  // operations of one, and how many a second
  double peak = 0;
  for (int node = 1; node < seen.program().graph->node_count; ++node) {
    const Watched::Calls calls = three_products(seen, node);
    products.emplace_back(calls.operations / 3, calls.operations / calls.computing(seen.seen_by(m)));
    peak = std::max(peak, products.back().second);
  }
  m.per_flop = each_of(peak);
  for (std::size_t i = 0; i < products.size(); ++i) m.efficiency.points[i] = {products[i].first, products[i].second / peak};
  std::size_t point = 0;
  const auto narrow = [&](double rows, const Watched& of) {
    const Watched::Calls calls = three_products(of, 1);
    const double expected = calls.operations * m.per_flop / m.efficiency.share(calls.operations / 3);
    m.narrow.points[point++] = {rows, std::min(1.0, expected / calls.computing(of.seen_by(m)))};
  };
  narrow(8, Watched::steps_of_floats<Square, 8>(budget / 12));
  narrow(16, Watched::steps_of_floats<Square, 16>(budget / 12));
  narrow(32, Watched::steps_of_floats<Square, 32>(budget / 12));
  narrow(64, Watched::steps_of_floats<Square, 64>(budget / 12));
  return m;
}

/// Adds the rates of these kinds of layers.
inline Machine with_rates(Machine m, const Watched& seen, std::initializer_list<const char*> kinds) {
  const Machine here = seen.seen_by(m);
  const auto rate = [&](const Watched::Calls& calls) { return calls.operations > 0 ? calls.computing(here) / calls.operations : 0; };
  std::size_t at = cost_room::entries_of(m.layers);
  for (const std::string_view kind : kinds) {
    const bool steps = kind == "Adam";
    m.layers[at++] = LayerRate::of(kind, rate(steps ? seen.of_step() : seen.of_kind(kind, true)), steps ? 0 : rate(seen.of_kind(kind, false)));
  }
  return m;
}

/// What is no product of matrices, or not alone.
inline Machine with_layers(Machine m, double budget) {
  const std::vector<std::int32_t> tokens(4 * 128, 1), labels(16, 1);
  std::vector<float> pictures(16 * 16 * 28 * 28);
  for (std::size_t i = 0; i < pictures.size(); ++i) pictures[i] = static_cast<float>(i % 17) / 17;
  m = with_rates(m, Watched::steps_of(std::type_identity<OfWords>{}, budget / 2, examples(tokens, tokens, 128, 128)),
                 {"LayerNorm", "RMSNorm", "GELU", "GELUTanh", "SiLU", "Sigmoid", "Tanh", "ReLU", "SelfAttention", "CrossEntropy"});
  return with_rates(m, Watched::steps_of(std::type_identity<OfPictures>{}, budget / 2, examples(pictures, labels, 16 * 28 * 28)),
                    {"Conv2d", "BatchNorm2d", "MaxPool2d", "AvgPool2d", "Adam"});
}

}  // namespace this_machine
