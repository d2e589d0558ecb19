// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/dropout.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/layer.hpp"
#include "heddle/graph/local_leaf.hpp"

using namespace heddle;

namespace {

template <class L> std::string refusal() { return std::string{L::describe(Spec{Shape{6}}).fault.sentence().view()}; }

}  // namespace

TEST_CASE("Dropout has no parameters, saves nothing, may run in place and is split as its input is") {
  static_assert(Layer<Dropout<1, 10>>);
  constexpr Leaf leaf = Dropout<1, 10>::describe(Spec{Shape{4, 6}});
  static_assert(leaf.fault.ok() && leaf.out == leaf.in && leaf.parameter_count == 0 && leaf.saves == Saves::nothing && leaf.elementwise);
  static_assert(!leaf.input_part_reads_saved && leaf.statistics_elements() == 0 && leaf.signature_count == 2);
  for (int i = 0; i < leaf.signature_count; ++i) CHECK(check_signature(leaf, leaf.signatures[i]).ok());
  CHECK(leaf.spelled.view() == "Dropout<1, 10>");
}

TEST_CASE("a probability is a share of 2^32, and what stays is divided by that of the others") {
  static_assert(Dropout<1, 2>::threshold() == std::uint64_t{1} << 31 && Dropout<1, 2>::scale() == 2.0F);
  static_assert(Dropout<0>::threshold() == 0 && Dropout<0>::scale() == 1.0F);
  static_assert(Dropout<1, 10>::threshold() == 429'496'729 && Dropout<1, 5>::scale() == 1.25F);
  static_assert(Dropout<9, 10>::scale() == 10.0F);
}

TEST_CASE("what is no probability below 1 is refused in one sentence") {
  const std::string range = " has a probability that is not from 0 to below 1. Fix: write a numerator below the denominator: Dropout<1, 10> for 0.1.";
  CHECK(refusal<Dropout<1>>() == "[heddle.G25] Dropout<1, 1>" + range);
  CHECK(refusal<Dropout<3, 2>>() == "[heddle.G25] Dropout<3, 2>" + range);
  CHECK(refusal<Dropout<-1, 2>>() == "[heddle.G25] Dropout<-1, 2>" + range);
  CHECK(refusal<Dropout<1, 0>>() == "[heddle.G25] Dropout<1, 0>" + range);
  static_assert(Dropout<1, (std::int64_t{1} << 31) + 1>::describe(Spec{Shape{6}}).fault.code == Code{'G', 25});
}
