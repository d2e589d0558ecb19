// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/concat.hpp"

#include <doctest/doctest.h>

#include <cstdint>

#include "compute/cuda/on_card.hpp"
#include "compute/cuda/one_pass.hpp"
#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"
#include "heddle/compute/eigen/concat.hpp"

using namespace heddle;
using conformance::UploadedCuda;
using on_card::Card;
using one_pass::close;
using one_pass::Pass;

TEST_CASE_TEMPLATE("two values of any extents and rows are joined on a card as loops in double join them, and their gradients are parted", L, Concat,
                   ConcatAlong<0>, ConcatAlong<1>) {
  const Card card;
  CHECK(conformance::broken_law_of_layer<L, UploadedCuda>(20) == "");
}

TEST_CASE("values of many blocks are joined as with Eigen") {
  const Card card;
  const auto agree = []<class L>(const Leaf& leaf, std::int64_t rows) {
    const Pass here = Pass::of<L, UploadedCuda>(leaf, rows), there = Pass::of<L, EigenCompute>(leaf, rows);
    CHECK((close(here.y, there.y) && close(here.dx, there.dx) && close(here.dsecond, there.dsecond)));
  };
  for (const std::int64_t width : {64, 70, 75}) {  // whole packs in each value, in none, and odd ones
    const Spec in{Shape{3, width}};
    agree.operator()<ConcatAlong<0>>(ConcatAlong<0>::describe(in, Spec{Shape{5, width}}), 11);
    agree.operator()<Concat>(Concat::describe(in, Spec{Shape{3, 12}}), 11);
    agree.operator()<Concat>(Concat::describe(in, Spec{Shape{3, 9}}), 11);
  }
}
