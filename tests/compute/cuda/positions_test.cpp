// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/positions.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "compute/cuda/on_card.hpp"
#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"
#include "heddle/compute/eigen/positions.hpp"

using namespace heddle;
using conformance::drawn;
using conformance::equal_bits;
using conformance::UploadedCuda;
using on_card::Card;

namespace {

/// Both directions of a layer of positions.
struct Placed {
  Floats y, dx, dw;

  template <class L, class C> static Placed by(const Leaf& leaf, std::int64_t rows, bool add = false) {
    const std::int64_t n = rows * leaf.in.elements(), of_table = leaf.parameter_count == 0 ? 0 : leaf.parameters[0].shape.elements();
    const Floats x = drawn(n, 1), w = drawn(of_table, 2), dy = drawn(n, 3);
    Placed made{Floats(x.size(), conformance::nan), Floats(x.size(), conformance::nan), drawn(of_table, 4)};
    const float* const parameters[] = {w.data()};
    float* const gradients[] = {made.dw.data()};
    run_room::KernelFor<L, C>::forward({&leaf, rows, x.data(), made.y.data(), parameters});
    run_room::KernelFor<L, C>::backward({&leaf, rows, nullptr, nullptr, dy.data(), made.dx.data(), parameters, gradients, add});
    return made;
  }
};

}  // namespace

TEST_CASE_TEMPLATE("what positions add and turn is on a card what loops in double compute", L, LearnedPositions<7, 5>, Rotary<8, Heads<2>>,
                   Rotary<6, Heads<4>, KeyValueHeads<2>, RotaryBase<100>>) {
  const Card card;
  CHECK(conformance::broken_law_of_layer<L, UploadedCuda>(20) == "");
}

TEST_CASE_TEMPLATE("sums over many sequences are those of loops in double, whatever lies before, and always the same", L, LearnedPositions<9, 8>,
                   LearnedPositions<9, 7>) {
  const Card card(2);
  const Leaf leaf = L::describe(Spec{Shape{2, 5, std::is_same_v<L, LearnedPositions<9, 8>> ? 8 : 7}});
  const std::int64_t width = leaf.in.shape.last(), n = 5 * width;
  for (const std::int64_t rows : {0, 3, 70}) {  // 0, 6 and 140 sequences
    const Placed over = Placed::by<L, UploadedCuda>(leaf, rows), added = Placed::by<L, UploadedCuda>(leaf, rows, true);
    const Placed with_eigen = Placed::by<L, EigenCompute>(leaf, rows);
    CHECK((equal_bits(over.y, with_eigen.y) && equal_bits(over.dx, with_eigen.dx)));
    CHECK(equal_bits(over.dw, Placed::by<L, UploadedCuda>(leaf, rows).dw));
    const Floats dy = drawn(rows * leaf.in.elements(), 3), before = drawn(9 * width, 4);
    for (std::int64_t i = 0; i < 9 * width; ++i) {
      double sum = 0;
      for (std::int64_t s = 0; s < 2 * rows && i < n; ++s) sum += static_cast<double>(dy[static_cast<std::size_t>(s * n + i)]);
      const auto at = static_cast<std::size_t>(i);
      CHECK(std::abs(static_cast<double>(over.dw[at]) - sum) <= 2e-5);
      CHECK(std::abs(static_cast<double>(added.dw[at]) - sum - static_cast<double>(before[at])) <= 2e-5);
      if (i >= n) CHECK((over.dw[at] == 0 && added.dw[at] == before[at]));
    }
  }
}

TEST_CASE_TEMPLATE("pairs of many positions are turned as with Eigen, whether halves of heads are whole packs or not", L, Rotary<8, Heads<3>>,
                   Rotary<10, Heads<4>, KeyValueHeads<2>>) {
  const Card card;
  const std::int64_t width = L::features == 8 ? 8 * 9 : 10 * 8;
  const Leaf leaf = L::describe(Spec{Shape{2, 130, width}});
  REQUIRE(leaf.fault.ok());
  const Placed here = Placed::by<L, UploadedCuda>(leaf, 2), there = Placed::by<L, EigenCompute>(leaf, 2);
  for (std::size_t i = 0; i < here.y.size(); ++i) {
    CHECK(std::abs(here.y[i] - there.y[i]) <= 4 * 0x1p-24F);
    CHECK(std::abs(here.dx[i] - there.dx[i]) <= 4 * 0x1p-24F);
  }
}
