// SPDX-License-Identifier: MIT
#include "heddle/cost/work_time.hpp"

#include <doctest/doctest.h>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

struct Two : Sequential<Linear<4, 3>, ReLU> {};
template <class... Options> using Of = Plan<Two, MeanSquaredError, Adam, Batch<8>, Single, Options...>;

template <class P> const Entry& entry_of(BodyOp what, int node) {
  const Program& p = P::training;
  for (const IndexRange* bodies : {p.forward_bodies, p.backward_bodies})
    for (int e = bodies[0].begin; e < bodies[0].end; ++e)
      if (p.entries[e].what == what && p.entries[e].node == node) return p.entries[e];
  FAIL("there is no such entry");
  return p.entries[0];
}
template <class P> double line_of(const Machine& m, ListOp op) {
  const Program& p = P::training;
  double sum = 0;
  for (int i = p.lists[0].begin; i < p.lists[0].end; ++i)
    if (p.instructions[i].op == op) sum += line_seconds(m, p, 0, p.instructions[i]);
  return sum;
}

}  // namespace

TEST_CASE("a forward reads its input and parameters and writes its output; a backward reads what it needs and writes both gradients") {
  const Program& p = Of<>::training;
  CHECK(moved_bytes(p, entry_of<Of<>>(BodyOp::leaf_forward, 0), 1) == 16 + 60 + 12);
  CHECK(moved_bytes(p, entry_of<Of<>>(BodyOp::leaf_forward, 0), 8) == 8 * 16 + 60 + 8 * 12);
  CHECK(moved_bytes(p, entry_of<Of<>>(BodyOp::leaf_forward, 1), 8) == 8 * 2 * 12);
  // The first layer makes no gradient of its input: it reads that input and the gradient of its output, and writes those of 15 parameters.
  CHECK(moved_bytes(p, entry_of<Of<>>(BodyOp::leaf_backward, 0), 8) == 8 * (16 + 12) + 60);
}

TEST_CASE("gradients that are added to those of earlier grains are read as well") {
  using Added = Of<Grain<4>>;
  CHECK(moved_bytes(Added::training, entry_of<Added>(BodyOp::leaf_backward, 0), 4) == 4 * (16 + 12) + 2 * 60);
}

TEST_CASE("a table costs the rows that are looked up") {
  struct Words : Sequential<Input<2>, Embedding<1000, 8>, Linear<8, 4>> {};
  using P = Plan<Words, CrossEntropy, SGD, Batch<4>, Single>;
  const Leaf& table = P::training.graph->leaf(1);
  CHECK(parameter_bytes(table, 4) == 4 * 2 * 8 * 4);
  CHECK(parameter_bytes(table, 4000) == 1000 * 8 * 4);
}

TEST_CASE("a sum and a loss move what values are kept in: 2 bytes an element under Mixed<BFloat16>, 4 without it") {
  struct Skips : Sequential<Linear<4, 3>, Residual<Linear<3, 3>>> {};
  const auto bytes = []<class P>(P*, BodyOp what, int node) { return moved_bytes(P::training, entry_of<P>(what, node), 8); };
  using Whole = Plan<Skips, CrossEntropy, SGD, Batch<8>, Single>;
  using Half = Plan<Skips, CrossEntropy, SGD, Batch<8>, Mixed<BFloat16>, Single>;
  for (const auto& [what, node] : {std::pair{BodyOp::add, 2}, std::pair{BodyOp::loss, 3}}) {
    CHECK(bytes(static_cast<Whole*>(nullptr), what, node) == 3 * 8 * 3 * 4);
    CHECK(bytes(static_cast<Half*>(nullptr), what, node) == 3 * 8 * 3 * 2);
  }
}

TEST_CASE("a call takes as long as it computes or as its memory, whichever is longer, and each call its overhead") {
  constexpr Machine m{.per_flop = 2, .per_memory_byte = 3, .per_call = 100};
  static_assert(call_seconds(m, 60, 10) == 160 && call_seconds(m, 60, 30) == 190 && call_seconds(m, 0, 0) == 0);
  Machine slow = m;
  slow.efficiency.points[0] = {0, 0.25};
  slow.per_bfloat16_flop = 1;
  CHECK(computing_seconds(slow, false, slow.efficiency, 30) == 240);
  CHECK(computing_seconds(slow, true, slow.efficiency, 30) == 120);
  CHECK(computing_seconds(slow, true, slow.efficiency, 0) == 0);
}

TEST_CASE("of the shorter of both a call takes what does not pass meanwhile") {
  constexpr Machine apart{.per_flop = 2, .per_memory_byte = 3, .per_call = 100, .memory_aside = 0.25};
  static_assert(call_seconds(apart, 60, 10) == 160 + 0.75 * 30 && call_seconds(apart, 60, 30) == 190 + 0.75 * 60 && call_seconds(apart, 0, 0) == 0);
  constexpr Machine one_after_another{.per_memory_byte = 3, .memory_aside = 0};
  static_assert(call_seconds(one_after_another, 60, 10) == 90 && call_seconds(one_after_another, 0, 10) == 30);
}

TEST_CASE("a kind of layer with a rate takes its seconds an operation, forward and backward, and no curve") {
  struct Bent : Sequential<Linear<4, 3>, GELU> {};
  using P = Plan<Bent, MeanSquaredError, SGD, Batch<8>, Single>;
  Machine m{.per_flop = 1000, .layers = {{"ReLU", 7, 7}, {"GELU", 2, 3}}};
  m.efficiency.points[0] = {0, 0.5};
  m.attention.points[0] = {0, 0.5};
  const Leaf& gelu = P::training.graph->leaf(1);
  CHECK(m.rate_of("GELU") == &m.layers[1]);
  CHECK(m.rate_of("Linear") == nullptr);
  CHECK(rated_seconds(m, P::training, entry_of<P>(BodyOp::leaf_forward, 1)) == 2.0 * static_cast<double>(gelu.forward_flops));
  CHECK(entry_seconds(m, P::training, entry_of<P>(BodyOp::leaf_forward, 1), 8) == 8 * 2.0 * static_cast<double>(gelu.forward_flops));
  CHECK(entry_seconds(m, P::training, entry_of<P>(BodyOp::leaf_backward, 1), 8) == 8 * 3.0 * static_cast<double>(gelu.backward_flops));
  CHECK(entry_seconds(m, P::training, entry_of<P>(BodyOp::leaf_forward, 0), 8) ==
        8.0 * static_cast<double>(P::training.graph->leaf(0).forward_flops) * 1000 / 0.5);
}

TEST_CASE("a sum of branches has the rate of its forward, and a layer that adds a table is no product") {
  struct Joined : Sequential<Residual<Linear<4, 4>>> {};
  using P = Plan<Joined, MeanSquaredError, SGD, Batch<8>, Single>;
  const Machine m{.layers = {{"Add", 3, 5}}};
  const Program& p = P::training;
  int sums = 0;
  for (int e = p.forward_bodies[0].begin; e < p.forward_bodies[0].end; ++e)
    if (p.entries[e].what == BodyOp::add) {
      ++sums;
      CHECK(rated_seconds(m, p, p.entries[e]) == 3 * 4);
    }
  CHECK(sums == 1);
  struct Placed : Sequential<Input<8, 16>, LearnedPositions<8, 16>, Linear<16, 4>> {};
  using Positions = Plan<Placed, MeanSquaredError, SGD, Batch<4>, Single>;
  CHECK(smallest_extent(Positions::training.graph->leaf(1), 4) == 0);
  CHECK(smallest_extent(Positions::training.graph->leaf(2), 4) == 4);
}

TEST_CASE("a loss of class numbers and an optimizer of two states have rates as well") {
  using Classes = Plan<Two, CrossEntropy, Adam, Batch<8>, Single>;
  const Machine m{.per_flop = 0, .layers = {{"CrossEntropy", 5, 0}, {"Adam", 11, 0}}};
  CHECK(entry_seconds(m, Classes::training, entry_of<Classes>(BodyOp::loss, 2), 8) == 8 * 3 * 5);
  CHECK(entry_seconds(m, Of<>::training, entry_of<Of<>>(BodyOp::loss, 2), 8) == 0);  // of real numbers
  const Program& p = Classes::training;
  double stepped = 0;
  for (int b = 0; b < p.bucket_count; ++b) stepped += static_cast<double>(p.buckets[b].elements);
  CHECK(line_of<Classes>(m, ListOp::step) == 11 * stepped);
  using Plain = Plan<Two, CrossEntropy, SGD, Batch<8>, Single>;
  CHECK(line_of<Plain>(m, ListOp::step) == 0);
}

TEST_CASE("a narrow product reaches less of the peak, by the smallest of its extents") {
  const Leaf& first = Of<>::training.graph->leaf(0);  // Linear<4, 3>
  CHECK(smallest_extent(first, 8) == 3);
  CHECK(smallest_extent(first, 2) == 2);
  CHECK(smallest_extent(Of<>::training.graph->leaf(1), 8) == 0);
  struct Words : Sequential<Input<5>, Embedding<1000, 8>, Linear<8, 64>> {};
  using P = Plan<Words, CrossEntropy, SGD, Batch<4>, Single>;
  CHECK(smallest_extent(P::training.graph->leaf(1), 4) == 0);  // looks rows up
  CHECK(smallest_extent(P::training.graph->leaf(2), 1) == 5);  // of the 5 positions of a row
  CHECK(smallest_extent(P::training.graph->leaf(2), 4) == 8);
  Machine m{.per_flop = 1};
  m.narrow = {{{2, 0.25}, {8, 1}}};
  const auto seconds = [&](std::int64_t rows) { return entry_seconds(m, Of<>::training, entry_of<Of<>>(BodyOp::leaf_forward, 0), rows); };
  CHECK(seconds(2) == 2.0 * static_cast<double>(first.forward_flops) / 0.25);
  CHECK(seconds(8) == doctest::Approx(8.0 * static_cast<double>(first.forward_flops) / (0.25 + 0.75 * 0.25)));  // 3: straight_log2(1.5) is 0.5 of 2
}

TEST_CASE("a backward of both gradients is two products, each as efficient as its own operations") {
  struct Inner : Sequential<Linear<4, 3>, Linear<3, 3>> {};
  using P = Plan<Inner, MeanSquaredError, SGD, Batch<8>, Single>;
  const Entry& both = entry_of<P>(BodyOp::leaf_backward, 1);
  const EntryProducts products = EntryProducts::of(P::training, both);
  CHECK(products.second == P::training.graph->leaf(1).weight_flops);
  CHECK(products.first == P::training.graph->leaf(1).input_flops());
  Machine steep;
  steep.efficiency = {{{100, 0.25}, {400, 1}}};
  const auto alone = [&](std::int64_t flops) { return computing_seconds(steep, false, steep.efficiency, 8.0 * static_cast<double>(flops)); };
  CHECK(entry_seconds(steep, P::training, both, 8) == alone(products.first) + alone(products.second));
  CHECK(entry_seconds(steep, P::training, both, 8) > alone(products.first + products.second));
}

TEST_CASE("the gradients of weight and bias of Linear<4, 3> are 27 operations, that of its input 24") {
  struct Inner : Sequential<Linear<4, 4>, Linear<4, 3>> {};
  struct Bare : Sequential<Linear<4, 4>, Linear<4, 3, NoBias>> {};
  const auto products = []<class Model>(Model) {
    using P = Plan<Model, MeanSquaredError, SGD, Batch<8>, Single>;
    return EntryProducts::of(P::training, entry_of<P>(BodyOp::leaf_backward, 1));
  };
  CHECK(products(Inner{}).first == 24);
  CHECK(products(Inner{}).second == 27);
  CHECK(products(Bare{}).first == 24);
  CHECK(products(Bare{}).second == 24);
}

TEST_CASE("with a rate of 3 and 5 a GELU of 10 elements computes for 240 and 400") {
  struct Ten : Sequential<Linear<4, 10>, GELU> {};
  using P = Plan<Ten, MeanSquaredError, SGD, Batch<8>, Single>;
  constexpr Machine m{.layers = {{"GELU", 3, 5}}};
  CHECK(rated_seconds(m, P::training, entry_of<P>(BodyOp::leaf_forward, 1)) == 240);
  CHECK(rated_seconds(m, P::training, entry_of<P>(BodyOp::leaf_backward, 1)) == 400);
}

TEST_CASE("layers without parameters have an efficiency of their own where the machine has one") {
  struct Attends : Sequential<Input<4, 4>, Linear<4, 12>, SelfAttention<Heads<2>>> {};
  using P = Plan<Attends, MeanSquaredError, SGD, Batch<8>, Single>;
  const auto seconds = [](const Machine& m, BodyOp what, int node) { return entry_seconds(m, P::training, entry_of<P>(what, node), 8); };
  Machine m;
  m.efficiency.points[0] = {0, 0.5};
  Machine apart = m;
  apart.attention.points[0] = {0, 0.25};
  for (const BodyOp what : {BodyOp::leaf_forward, BodyOp::leaf_backward}) {
    CHECK(seconds(apart, what, 1) == seconds(m, what, 1));
    CHECK(seconds(apart, what, 2) == 2 * seconds(m, what, 2));
  }
}

TEST_CASE("a micro-batch is as many calls as it has grains") {
  using Whole = Of<>;
  using Cut = Of<Grain<2>>;
  constexpr Machine calls{.per_flop = 0, .per_call = 1};
  CHECK(entry_seconds(calls, Whole::training, entry_of<Whole>(BodyOp::leaf_forward, 0), 8) == 1);
  CHECK(entry_seconds(calls, Cut::training, entry_of<Cut>(BodyOp::leaf_forward, 0), 8) == 4);
  CHECK(entry_seconds(calls, Cut::training, entry_of<Cut>(BodyOp::leaf_forward, 0), 7) == 4);
  constexpr Machine flops;
  CHECK(entry_seconds(flops, Cut::training, entry_of<Cut>(BodyOp::leaf_forward, 0), 8) ==
        entry_seconds(flops, Whole::training, entry_of<Whole>(BodyOp::leaf_forward, 0), 8));
}

TEST_CASE("an update reads and writes parameters and states, a norm reads the gradients: padding as well") {
  constexpr Machine m{.per_flop = 0, .per_memory_byte = 1};
  constexpr double elements = 1024;  // 15 of parameters in one unit
  CHECK(line_of<Of<>>(m, ListOp::step) == 7 * 4 * elements);
  CHECK(line_of<Plan<Two, MeanSquaredError, SGD, Batch<8>, Single>>(m, ListOp::step) == 3 * 4 * elements);
  CHECK(line_of<Of<Clip<GlobalNorm>>>(m, ListOp::norm) == 4 * elements);
  CHECK(line_of<Of<Clip<GlobalNorm>, LossScaling>>(m, ListOp::unscale) == 2 * 4 * elements);
  CHECK(line_of<Of<Clip<GlobalNorm>>>(m, ListOp::clip) == 0);
  using Sliced = Plan<Two, MeanSquaredError, Adam, Batch<8>, Sharded<4>, Clip<GlobalNorm>>;
  CHECK(line_of<Sliced>(m, ListOp::step) == 7 * 4 * elements / 4);
  CHECK(line_of<Sliced>(m, ListOp::norm) == 4 * elements / 4);
  CHECK(line_of<Of<>>(Machine{}, ListOp::step) == 0);
}
