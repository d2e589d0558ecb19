// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/positions.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "compute/eigen/arrays.hpp"

using namespace heddle;
using arrays::Array;

TEST_CASE("each position of each sequence has its row of the table, whose gradients are sums over the sequences; rows of no position have 0") {
  using L = LearnedPositions<3, 2>;
  const Leaf leaf = L::describe(Spec{Shape{2, 2, 2}});  // two sequences of two positions in a row
  Array x{8, 1}, table{6, 2}, y{8, 0, arrays::nan}, dx{8, 0, arrays::nan}, dt{6, 0, arrays::nan};
  const float* const parameters[] = {table.data()};
  float* const gradients[] = {dt.data()};
  Kernel<L, EigenCompute>::forward({&leaf, 1, x.data(), y.data(), parameters});
  for (std::int64_t i = 0; i < 8; ++i) CHECK(y[i] == x[i] + table[i % 4]);
  Kernel<L, EigenCompute>::backward({&leaf, 1, nullptr, nullptr, y.data(), dx.data(), parameters, gradients});
  CHECK(dx.same_bits(y));
  for (std::int64_t i = 0; i < 4; ++i) CHECK(dt[i] == (0 + y[i]) + y[i + 4]);
  CHECK((dt[4] == 0 && dt[5] == 0));
  Kernel<L, EigenCompute>::backward({&leaf, 1, nullptr, nullptr, y.data(), nullptr, parameters, gradients, true});
  CHECK(std::abs(dt[0] - 2 * (y[0] + y[4])) <= 1e-6F);
  for (const Array* array : {&y, &dx, &dt}) CHECK(array->guarded());
}

TEST_CASE("pairs are turned by the angle of their position, values are not, and a turn back undoes it") {
  using L = Rotary<4, Heads<2>, KeyValueHeads<1>, RotaryBase<100>>;
  const Leaf leaf = L::describe(Spec{Shape{3, 16}});
  const Array x{2 * 48, 1};
  Array y{2 * 48, 0, arrays::nan}, back{2 * 48, 0, arrays::nan};
  Kernel<L, EigenCompute>::forward({&leaf, 2, x.data(), y.data(), nullptr});
  Kernel<L, EigenCompute>::backward({&leaf, 2, nullptr, nullptr, y.data(), back.data(), nullptr});
  for (std::int64_t v = 0; v < 6; ++v)
    for (std::int64_t i = 0; i < 16; ++i) {
      const std::int64_t at = 16 * v + i, pair = i % 2;
      CHECK(std::abs(static_cast<double>(back[at] - x[at])) <= 1e-6);
      if (i >= 12) {
        CHECK(y[at] == x[at]);  // the value
        continue;
      }
      const double angle = static_cast<double>(v % 3) * (pair == 0 ? 1.0 : 0.1);
      const bool first = i % 4 < 2;
      const auto own = static_cast<double>(x[at]), other = static_cast<double>(x[first ? at + 2 : at - 2]);
      CHECK(std::abs(static_cast<double>(y[at]) - (own * std::cos(angle) + (first ? -1 : 1) * other * std::sin(angle))) <= 1e-6);
    }
  CHECK((y.guarded() && back.guarded()));
  Array in_place{x};
  Kernel<L, EigenCompute>::forward({&leaf, 2, in_place.data(), in_place.data(), nullptr});
  CHECK(in_place.same_bits(y));
}

TEST_CASE("products of queries and keys depend on how far apart they are alone") {
  using L = Rotary<8, Heads<1>>;
  const Leaf leaf = L::describe(Spec{Shape{9, 24}});
  Array x{9 * 24}, y{9 * 24};
  const Array one{24, 3};
  for (std::int64_t i = 0; i < 9 * 24; ++i) x[i] = one[i % 24];  // the same query and key everywhere
  Kernel<L, EigenCompute>::forward({&leaf, 1, x.data(), y.data(), nullptr});
  const auto product = [&](std::int64_t query, std::int64_t key) {
    double sum = 0;
    for (std::int64_t i = 0; i < 8; ++i) sum += static_cast<double>(y[24 * query + i]) * static_cast<double>(y[24 * key + 8 + i]);
    return sum;
  };
  CHECK(std::abs(product(2, 0) - product(8, 6)) <= 1e-5);
  CHECK(std::abs(product(5, 4) - product(1, 0)) <= 1e-5);
  CHECK(std::abs(product(5, 0) - product(5, 4)) > 1e-3);
}

TEST_CASE("heads with more pairs than lie on the stack are turned piece by piece, and no rows are none") {
  using L = Rotary<1026, Heads<1>>;
  const Leaf leaf = L::describe(Spec{Shape{2, 3 * 1026}});
  Array x{2 * 3 * 1026, 5}, y{2 * 3 * 1026, 0, arrays::nan};
  Kernel<L, EigenCompute>::forward({&leaf, 1, x.data(), y.data(), nullptr});
  const std::int64_t at = 3 * 1026 + 512;  // the last pair of the query of position 1
  const double angle = std::pow(10'000.0, -1024.0 / 1026);
  CHECK(std::abs(static_cast<double>(y[at]) - (static_cast<double>(x[at]) * std::cos(angle) - static_cast<double>(x[at + 513]) * std::sin(angle))) <=
        1e-6);
  CHECK(y.guarded());
  Kernel<L, EigenCompute>::forward({&leaf, 0, x.data(), y.data(), nullptr});
  Kernel<L, EigenCompute>::backward({&leaf, 1, nullptr, nullptr, y.data(), nullptr, nullptr});
}
