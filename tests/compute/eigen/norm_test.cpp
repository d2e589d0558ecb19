// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/norm.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "compute/eigen/arrays.hpp"
using namespace heddle;
using arrays::Array;

namespace {

/// One norm with random operands, all results poisoned.
template <class L> struct Bench {
  Leaf leaf;
  std::int64_t rows, d, vectors, kept;
  Array x, w, b, y, dy, dx, dw, db, statistics;

  Bench(const Shape& shape, std::int64_t samples)
      : leaf(L::describe(Spec{shape})), rows(samples), d(shape.last()), vectors(samples * shape.elements() / d), kept(leaf.statistics.last()),
        x(vectors * d, 1), w(d, 2), b(d, 3), y(vectors * d, 0, arrays::nan), dy(vectors * d, 4), dx(vectors * d, 0, arrays::nan),
        dw(d, 0, arrays::nan), db(d, 0, arrays::nan), statistics(vectors * kept, 0, arrays::nan) {}

  void forward(bool keeps = true) {
    const float* const parameters[] = {w.data(), b.data()};
    Kernel<L, EigenCompute>::forward({&leaf, rows, x.data(), y.data(), parameters, nullptr, 0, keeps ? statistics.data() : nullptr});
  }
  void backward(bool add = false, bool of_input = true, bool of_parameters = true) {
    const float* const parameters[] = {w.data(), b.data()};
    float* const gradients[] = {dw.data(), db.data()};
    Kernel<L, EigenCompute>::backward({&leaf, rows, x.data(), nullptr, dy.data(), of_input ? dx.data() : nullptr, parameters,
                                       of_parameters ? gradients : nullptr, add, nullptr, 0, statistics.data()});
  }
  [[nodiscard]] bool centred() const { return kept == 2; }
  [[nodiscard]] bool has_bias() const { return leaf.parameter_count == 2; }
  [[nodiscard]] bool guarded() const { return y.guarded() && dx.guarded() && dw.guarded() && db.guarded() && statistics.guarded(); }
};

/// The definition in double, one loop a line of it.
struct Reference {
  std::vector<double> y, dx, dw, db, statistics;
  template <class L> explicit Reference(const Bench<L>& t) : y(size(t.vectors * t.d)), dx(y.size()), dw(size(t.d)), db(size(t.d)) {
    const auto n = static_cast<double>(t.d);
    for (std::int64_t v = 0; v < t.vectors; ++v) {
      const auto x = [&](std::int64_t j) { return static_cast<double>(t.x[v * t.d + j]); };
      double mean = 0, variance = 0;
      for (std::int64_t j = 0; j < t.d && t.centred(); ++j) mean += x(j) / n;
      for (std::int64_t j = 0; j < t.d; ++j) variance += (x(j) - mean) * (x(j) - mean) / n;
      const double inverse = 1 / std::sqrt(variance + static_cast<double>(L::epsilon));
      if (t.centred()) statistics.push_back(mean);
      statistics.push_back(inverse);
      std::vector<double> g, hat;
      double level = 0, along = 0;
      for (std::int64_t j = 0; j < t.d; ++j) {
        hat.push_back((x(j) - mean) * inverse);
        y[size(v * t.d + j)] = hat.back() * static_cast<double>(t.w[j]) + (t.has_bias() ? static_cast<double>(t.b[j]) : 0);
        const auto dy = static_cast<double>(t.dy[v * t.d + j]);
        dw[size(j)] += dy * hat.back();
        db[size(j)] += dy;
        g.push_back(dy * static_cast<double>(t.w[j]));
        level += t.centred() ? g.back() / n : 0;
        along += g.back() * hat.back() / n;
      }
      for (std::int64_t j = 0; j < t.d; ++j) dx[size(v * t.d + j)] = inverse * (g[size(j)] - level - hat[size(j)] * along);
    }
  }
  static std::size_t size(std::int64_t n) { return static_cast<std::size_t>(n); }
};

/// Elements that are further from the reference than the sums of `terms` numbers of size 1 may be rounded, times the size of what is summed.
std::int64_t wrong(const Array& got, const std::vector<double>& wanted, double scale, std::int64_t terms) {
  double largest = 1;
  for (const double value : wanted) largest = std::max(largest, std::abs(value));
  std::int64_t count = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    const double off = std::abs(static_cast<double>(got[static_cast<std::int64_t>(i)]) - wanted[i]);
    count += off <= scale * largest * static_cast<double>(terms + 8) * arrays::unit_roundoff ? 0 : 1;
  }
  return count;
}

template <class L> void follows_the_definition(const Shape& shape, std::int64_t rows) {
  CAPTURE(shape.last());
  Bench<L> t{shape, rows};
  t.forward();
  t.backward();
  const Reference reference{t};
  CHECK(wrong(t.statistics, reference.statistics, 4, t.d) == 0);
  CHECK(wrong(t.y, reference.y, 4, t.d) == 0);
  CHECK(wrong(t.dx, reference.dx, 8, t.d) == 0);
  CHECK(wrong(t.dw, reference.dw, 8, t.d + t.vectors) == 0);
  if (t.has_bias()) CHECK(wrong(t.db, reference.db, 4, t.vectors) == 0);
  CHECK(t.guarded());
}

template <class L> void every_form() {
  follows_the_definition<L>(L::takes().shape, 5);
  const std::int64_t d = L::takes().shape.last();
  follows_the_definition<L>(Shape{3, d}, 2);
  follows_the_definition<L>(Shape{2, 2, d}, 1);
}

}  // namespace

TEST_CASE("outputs, statistics and gradients are those of the definition in double, for sizes below, at and beyond a block") {
  every_form<LayerNorm<1>>();
  every_form<LayerNorm<7>>();
  every_form<LayerNorm<16>>();
  every_form<LayerNorm<37>>();
  every_form<LayerNorm<64, NoBias>>();
  every_form<LayerNorm<129, Epsilon<2>>>();
  every_form<RMSNorm<1>>();
  every_form<RMSNorm<15>>();
  every_form<RMSNorm<48>>();
  every_form<RMSNorm<131, Epsilon<3>>>();
}

TEST_CASE("the comparison can fail: another epsilon is another output") {
  Bench<LayerNorm<7>> t{Shape{7}, 5};
  t.forward();
  Bench<LayerNorm<7, Epsilon<2>>> other{Shape{7}, 5};
  other.forward();
  CHECK(wrong(other.y, Reference{t}.y, 4, 7) > 0);
}

TEST_CASE("a large mean costs no precision: the variance is that of the differences") {
  Bench<LayerNorm<64, NoBias>> t{Shape{64}, 3};
  for (std::int64_t i = 0; i < 3 * 64; ++i) t.x[i] = 4096 + static_cast<float>(i * 37 % 64) / 8;  // exact, and so is their mean
  t.forward();
  CHECK(wrong(t.y, Reference{t}.y, 4, 64) == 0);
}

TEST_CASE("no rows are legal: nothing is read, and gradients that are not added to become 0") {
  Bench<LayerNorm<20>> t{Shape{20}, 0};
  t.forward();
  t.backward();
  for (int j = 0; j < 20; ++j) CHECK((t.dw[j] == 0 && t.db[j] == 0));
  CHECK(t.guarded());
}

TEST_CASE("gradients are added where they must be, either half is that of the whole, and without statistics the output is the same") {
  Bench<LayerNorm<21>> t{Shape{2, 21}, 3};
  t.forward();
  t.backward();
  const Array y = t.y, dx = t.dx, dw = t.dw, db = t.db;
  Bench<LayerNorm<21>> halves{Shape{2, 21}, 3};
  halves.forward(false);
  CHECK(halves.y.same_bits(y));
  CHECK(std::isnan(halves.statistics[0]));
  halves.forward();
  halves.backward(false, true, false);
  CHECK(halves.dx.same_bits(dx));
  CHECK(std::isnan(halves.dw[0]));
  halves.backward(false, false, true);
  CHECK(halves.dw.same_bits(dw));
  halves.backward(true, false, true);
  for (int j = 0; j < 21; ++j) CHECK((halves.dw[j] == 2 * dw[j] && halves.db[j] == 2 * db[j]));
}

TEST_CASE("the bits of a vector are the same in every position") {
  Bench<RMSNorm<19>> many{Shape{19}, 9};
  many.forward();
  many.backward();
  for (std::int64_t v = 0; v < 9; ++v) {
    Bench<RMSNorm<19>> one{Shape{19}, 1};
    for (int j = 0; j < 19; ++j) {
      one.x[j] = many.x[v * 19 + j];
      one.dy[j] = many.dy[v * 19 + j];
    }
    one.forward();
    one.backward();
    for (int j = 0; j < 19; ++j) CHECK((one.y[j] == many.y[v * 19 + j] && one.dx[j] == many.dx[v * 19 + j]));
  }
}
