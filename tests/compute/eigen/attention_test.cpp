// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/attention.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "compute/eigen/arrays.hpp"
#include "conformance/compute.hpp"
#include "heddle/backend/cpu.hpp"
using namespace heddle;
using arrays::Array;

namespace {

/// One attention with random operands, all results poisoned.
template <class L> struct Bench {
  Leaf leaf;
  std::int64_t rows, sequences, positions, width, out, heads, features, key_values;
  Array workspace{static_cast<std::int64_t>(EigenCompute::workspace.value / sizeof(float))};
  Array x, y, dy, dx, statistics;

  Bench(const Shape& shape, std::int64_t samples)
      : leaf(L::describe(Spec{shape})), rows(samples), sequences(samples * shape.elements() / (shape.last() * shape.sizes[shape.dimensions - 2])),
        positions(shape.sizes[shape.dimensions - 2]), width(shape.last()), out(leaf.out.shape.last()), heads(leaf.statistics.last()),
        features(out / heads), key_values((width - out) / (2 * features)), x(sequences * positions * width, 1),
        y(sequences * positions * out, 0, arrays::nan), dy(y.elements(), 2), dx(x.elements(), 0, arrays::nan),
        statistics(sequences * positions * heads, 0, arrays::nan) {}

  void forward(bool keeps = true) {
    Kernel<L, EigenCompute>::forward({&leaf, rows, x.data(), y.data(), nullptr, workspace.data(), 0, keeps ? statistics.data() : nullptr});
  }
  void backward() {
    Kernel<L, EigenCompute>::backward(
        {&leaf, rows, x.data(), y.data(), dy.data(), dx.data(), nullptr, nullptr, false, workspace.data(), 0, statistics.data()});
  }
  [[nodiscard]] bool guarded() const { return y.guarded() && dx.guarded() && statistics.guarded() && workspace.guarded(); }
};

/// Outputs, log-sums and gradients of a shape that the suite of all backends does not draw.
template <class L> void follows_the_definition(const Shape& shape, std::int64_t rows) {
  CAPTURE(shape.sizes[0]);
  CAPTURE(shape.last());
  const Leaf leaf = L::describe(Spec{shape});
  LeafUnderTest<L, EigenCompute> test{leaf, rows, Seed{1}};
  test.forward(0, rows);
  test.backward(0, rows, false);
  const std::vector<Floats> none;
  const conformance::Results wanted =
      conformance::Slow<L>::run({leaf, rows, test.input, test.output_gradient, test.parameters, none, test.context, test.second}, {});
  CHECK(conformance::off("the output", test.output, wanted.output) == "");
  CHECK(conformance::off("the statistics", test.statistics, wanted.statistics) == "");
  CHECK(conformance::off("the gradient of the input", test.input_gradient, wanted.input_gradient) == "");
}

}  // namespace

TEST_CASE("outputs, log-sums and gradients are those of the definition in double, for positions and features below, at and beyond a tile") {
  follows_the_definition<SelfAttention<Heads<1>>>(Shape{1, 3}, 3);
  follows_the_definition<SelfAttention<Heads<2>>>(Shape{5, 18}, 2);
  follows_the_definition<SelfAttention<Heads<3>, Causal>>(Shape{7, 45}, 2);
  follows_the_definition<SelfAttention<Heads<2>, Causal>>(Shape{64, 48}, 1);
  follows_the_definition<SelfAttention<Heads<1>>>(Shape{65, 30}, 1);
  follows_the_definition<SelfAttention<Heads<2>, Causal>>(Shape{150, 24}, 1);
  follows_the_definition<SelfAttention<Heads<1>, Causal>>(Shape{9, 3 * 64}, 1);
  follows_the_definition<SelfAttention<Heads<2>>>(Shape{70, 2 * 3 * 131}, 1);
  follows_the_definition<SelfAttention<Heads<2>, Causal>>(Shape{3, 2, 18}, 2);
}

TEST_CASE("heads that share keys and values add what each gives to their gradients") {
  follows_the_definition<SelfAttention<Heads<4>, KeyValueHeads<2>>>(Shape{6, 8 * 5}, 2);
  follows_the_definition<SelfAttention<Heads<6>, KeyValueHeads<1>, Causal>>(Shape{67, 8 * 3}, 1);
  follows_the_definition<SelfAttention<Heads<6>, KeyValueHeads<3>>>(Shape{4, 12 * 2}, 3);
}

TEST_CASE("the comparison can fail: attention that sees what is behind it is another") {
  using Seeing = SelfAttention<Heads<2>>;
  const Leaf leaf = Seeing::describe(Spec{Shape{5, 18}});
  LeafUnderTest<Seeing, EigenCompute> test{leaf, 2, Seed{1}};
  test.forward(0, 2);
  const std::vector<Floats> none;
  const conformance::Results wanted = conformance::Slow<SelfAttention<Heads<2>, Causal>>::run(
      {leaf, 2, test.input, test.output_gradient, test.parameters, none, test.context, test.second}, {});
  CHECK(conformance::off("the output", test.output, wanted.output) != "");
}

TEST_CASE("scores that are too large for exp, and tiles in which they rise, give weights that are numbers") {
  Bench<SelfAttention<Heads<1>>> t{Shape{130, 3}, 1};
  for (std::int64_t j = 0; j < 130; ++j) {
    t.x[3 * j] = 40;
    t.x[3 * j + 1] = static_cast<float>(j) / 2;  // scores up to 2580, 20 apart: the last position has all the weight
  }
  t.forward();
  t.backward();
  for (std::int64_t i = 0; i < 130; ++i) CHECK(std::abs(t.y[i] - t.x[3 * 129 + 2]) < 1e-6F);
  for (std::int64_t i = 0; i < t.dx.elements(); ++i) CHECK(std::isfinite(t.dx[i]));
  for (std::int64_t i = 0; i < 130; ++i) CHECK(std::isfinite(t.statistics[i]));
}

TEST_CASE("a NaN of a position is seen by all that attend to it, and by no other") {
  Bench<SelfAttention<Heads<1>, Causal>> t{Shape{70, 6}, 1};
  t.x[66 * 6 + 2] = arrays::nan;  // in a key
  t.forward();
  for (std::int64_t i = 0; i < 70; ++i) CHECK(std::isnan(t.y[2 * i]) == (i >= 66));
}

TEST_CASE("no rows are legal, nothing is written without a gradient of the input, and without statistics the output is the same") {
  using Layer = SelfAttention<Heads<2>, Causal>;
  Bench<Layer> none{Shape{5, 18}, 0};
  none.forward();
  none.backward();
  CHECK(none.guarded());
  Bench<Layer> t{Shape{5, 18}, 2};
  t.forward();
  const Array y = t.y;
  Bench<Layer> plain{Shape{5, 18}, 2};
  plain.forward(false);
  CHECK(plain.y.same_bits(y));
  CHECK(std::isnan(plain.statistics[0]));
  Kernel<Layer, EigenCompute>::backward(
      {&t.leaf, 2, t.x.data(), t.y.data(), t.dy.data(), nullptr, nullptr, nullptr, false, t.workspace.data(), 0, t.statistics.data()});
  CHECK(std::isnan(t.dx[0]));
}

TEST_CASE("the bits of a sequence are the same in every row, and those of a head in every place") {
  using Layer = SelfAttention<Heads<4>, KeyValueHeads<2>, Causal>;
  Bench<Layer> all{Shape{67, 8 * 3}, 2};
  all.forward();
  all.backward();
  Bench<SelfAttention<Heads<2>, KeyValueHeads<1>, Causal>> part{Shape{67, 4 * 3}, 1};  // the second half of the heads, in the second row
  const auto there = [](std::int64_t i, std::int64_t c) { return (67 + i) * 24 + (c < 6 ? 6 + c : c < 9 ? 15 + c - 6 : 21 + c - 9); };
  for (std::int64_t i = 0; i < 67; ++i) {
    for (std::int64_t c = 0; c < 12; ++c) part.x[i * 12 + c] = all.x[there(i, c)];
    for (std::int64_t c = 0; c < 6; ++c) part.dy[i * 6 + c] = all.dy[(67 + i) * 12 + 6 + c];
  }
  part.forward();
  part.backward();
  for (std::int64_t i = 0; i < 67; ++i) {
    for (std::int64_t c = 0; c < 6; ++c) CHECK(part.y[i * 6 + c] == all.y[(67 + i) * 12 + 6 + c]);
    for (std::int64_t c = 0; c < 12; ++c) CHECK(part.dx[i * 12 + c] == all.dx[there(i, c)]);
  }
}
