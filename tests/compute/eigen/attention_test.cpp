// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/attention.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "compute/eigen/arrays.hpp"
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

/// The definition in double: every score of every pair.
template <class L> struct Reference {
  std::vector<double> y, dx, statistics;

  explicit Reference(const Bench<L>& t) : y(size(t.y.elements())), dx(size(t.x.elements())), statistics(size(t.statistics.elements())) {
    for (std::int64_t s = 0; s < t.sequences; ++s)
      for (std::int64_t h = 0; h < t.heads; ++h)
        for (std::int64_t i = 0; i < t.positions; ++i) one_query(t, s, h, i);
  }

 private:
  static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }
  void one_query(const Bench<L>& t, std::int64_t s, std::int64_t h, std::int64_t i) {
    const std::int64_t group = h / (t.heads / t.key_values);
    const auto in = [&](std::int64_t j, std::int64_t head, std::int64_t c) { return (s * t.positions + j) * t.width + head * t.features + c; };
    const auto key = [&](std::int64_t j, std::int64_t c) { return in(j, t.heads + group, c); };
    const auto value = [&](std::int64_t j, std::int64_t c) { return in(j, t.heads + t.key_values + group, c); };
    const auto x = [&](std::int64_t at) { return static_cast<double>(t.x[at]); };
    const auto gradient = [&](std::int64_t c) { return static_cast<double>(t.dy[(s * t.positions + i) * t.out + h * t.features + c]); };
    const std::int64_t end = L::causal ? i + 1 : t.positions;
    const double scale = 1 / std::sqrt(static_cast<double>(t.features));
    std::vector<double> p, dp;
    double most = -std::numeric_limits<double>::infinity(), sum = 0, along = 0;
    for (std::int64_t j = 0; j < end; ++j) {
      p.push_back(0);
      for (std::int64_t c = 0; c < t.features; ++c) p.back() += x(in(i, h, c)) * x(key(j, c)) * scale;
      most = std::max(most, p.back());
    }
    for (double& score : p) sum += score = std::exp(score - most);
    for (double& score : p) score /= sum;
    statistics[size((s * t.positions + i) * t.heads + h)] = most + std::log(sum);
    for (std::int64_t j = 0; j < end; ++j) {
      dp.push_back(0);
      for (std::int64_t c = 0; c < t.features; ++c) {
        y[size((s * t.positions + i) * t.out + h * t.features + c)] += p[size(j)] * x(value(j, c));
        dx[size(value(j, c))] += p[size(j)] * gradient(c);
        dp.back() += gradient(c) * x(value(j, c));
      }
      along += p[size(j)] * dp.back();
    }
    for (std::int64_t j = 0; j < end; ++j)
      for (std::int64_t c = 0; c < t.features; ++c) {
        const double slope = p[size(j)] * (dp[size(j)] - along) * scale;
        dx[size(in(i, h, c))] += slope * x(key(j, c));
        dx[size(key(j, c))] += slope * x(in(i, h, c));
      }
  }
};

/// Elements that are further from the reference than sums of `terms` products of sizes up to 1 may be rounded, times a few operations each.
std::int64_t wrong(const Array& got, const std::vector<double>& wanted, std::int64_t terms) {
  double largest = 1;
  for (const double value : wanted) largest = std::max(largest, std::abs(value));
  std::int64_t count = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double off = std::abs(static_cast<double>(got[static_cast<std::int64_t>(i)]) - wanted[i]);
    count += off <= 4 * largest * static_cast<double>(terms + 8) * arrays::unit_roundoff ? 0 : 1;
  }
  return count;
}

template <class L> void follows_the_definition(const Shape& shape, std::int64_t rows) {
  CAPTURE(shape.sizes[0]);
  CAPTURE(shape.last());
  Bench<L> t{shape, rows};
  t.forward();
  t.backward();
  const Reference<L> reference{t};
  CHECK(wrong(t.statistics, reference.statistics, t.features + t.positions) == 0);
  CHECK(wrong(t.y, reference.y, t.features + t.positions) == 0);
  CHECK(wrong(t.dx, reference.dx, t.features + t.positions) == 0);
  CHECK(t.guarded());
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
  Bench<SelfAttention<Heads<2>>> seeing{Shape{5, 18}, 2};
  seeing.forward();
  Bench<SelfAttention<Heads<2>, Causal>> causal{Shape{5, 18}, 2};
  CHECK(wrong(seeing.y, Reference<SelfAttention<Heads<2>, Causal>>{causal}.y, 8) > 0);
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
