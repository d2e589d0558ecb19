// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/norm.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>

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

  void forward() {
    const float* const parameters[] = {w.data(), b.data()};
    Kernel<L, EigenCompute>::forward({&leaf, rows, x.data(), y.data(), parameters, nullptr, 0, statistics.data()});
  }
  void backward() {
    const float* const parameters[] = {w.data(), b.data()};
    float* const gradients[] = {dw.data(), db.data()};
    Kernel<L, EigenCompute>::backward(
        {&leaf, rows, x.data(), nullptr, dy.data(), dx.data(), parameters, gradients, false, nullptr, 0, statistics.data()});
  }
};

}  // namespace

TEST_CASE("a large mean costs no precision: the variance is that of the differences") {
  Bench<LayerNorm<64, NoBias>> t{Shape{64}, 3};
  for (std::int64_t i = 0; i < 3 * 64; ++i) t.x[i] = 4096 + static_cast<float>(i * 37 % 64) / 8;  // exact, and so is their mean
  t.forward();
  for (std::int64_t v = 0; v < 3; ++v) {
    double variance = 0;
    const auto off = [&](std::int64_t j) { return static_cast<double>(t.x[v * 64 + j]) - 4096 - 63.0 / 16; };
    for (std::int64_t j = 0; j < 64; ++j) variance += off(j) * off(j) / 64;
    for (std::int64_t j = 0; j < 64; ++j) {
      const double wanted = off(j) / std::sqrt(variance + 1e-5) * static_cast<double>(t.w[j]);
      CHECK(std::abs(static_cast<double>(t.y[v * 64 + j]) - wanted) <= 80 * arrays::unit_roundoff);  // sums of 64 differences of at most 4
    }
  }
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

TEST_CASE("a norm that makes its sum has the bits of a sum and a norm, also where it lies in the place of a term") {
  const auto tried = [](auto bench, auto layer) {
    using L = decltype(layer);
    bench.forward();
    const Array a(bench.x.elements(), 7), b(bench.x.elements(), 8), sum(bench.x.elements(), 0, arrays::nan);
    EigenCompute::add(bench.x.data(), a.data(), b.data(), bench.x.elements());
    bench.forward();
    const Array wanted = bench.y, left = bench.statistics;
    const float* const parameters[] = {bench.w.data(), bench.b.data()};
    for (float* const to : {bench.y.data(), a.data()}) {
      const ForwardCall call{&bench.leaf, bench.rows, sum.data(), to, parameters, nullptr, 0, bench.statistics.data()};
      Kernel<L, EigenCompute>::forward_of_sum(call, {a.data(), b.data(), sum.data()});
      CHECK(sum.same_bits(bench.x));
      CHECK(std::memcmp(to, wanted.data(), static_cast<std::size_t>(wanted.elements()) * sizeof(float)) == 0);
      CHECK(bench.statistics.same_bits(left));
    }
  };
  tried(Bench<LayerNorm<19>>{Shape{3, 19}, 5}, LayerNorm<19>{});
  tried(Bench<RMSNorm<64>>{Shape{64}, 3}, RMSNorm<64>{});
}
