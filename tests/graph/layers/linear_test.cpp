// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/linear.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("Linear maps the last dimension and names its parameters as PyTorch") {
  constexpr Leaf leaf = Linear<784, 50>::describe(Spec{Shape{784}});
  static_assert(leaf.fault.ok());
  static_assert(leaf.out == Spec{Shape{50}});
  static_assert(leaf.spelled.view() == "Linear<784, 50>");
  static_assert(leaf.saves == Saves::input);
  static_assert(!leaf.elementwise && !leaf.reshapes);
  REQUIRE(leaf.parameter_count == 2);
  CHECK(leaf.parameters[0].name.view() == "weight");
  CHECK(leaf.parameters[0].shape == Shape{50, 784});
  CHECK(leaf.parameters[1].name.view() == "bias");
  CHECK(leaf.parameters[1].shape == Shape{50});
  for (int i = 0; i < 2; ++i) {
    CHECK(leaf.parameters[i].initial == Initial::uniform_fan_in);
    CHECK(leaf.parameters[i].fan_in == 784);
  }
}

TEST_CASE("a product of a row costs 2 In Out flops forward and 4 backward, the bias Out each") {
  constexpr Leaf with = Linear<784, 50>::describe(Spec{Shape{784}});
  static_assert(with.forward_flops == 2 * 784 * 50 + 50);
  static_assert(with.backward_flops == 4 * 784 * 50 + 50);
  constexpr Leaf without = Linear<784, 50, NoBias>::describe(Spec{Shape{784}});
  static_assert(without.forward_flops == 2 * 784 * 50);
  static_assert(without.backward_flops == 4 * 784 * 50);
  CHECK(without.parameter_count == 1);
  CHECK(without.spelled.view() == "Linear<784, 50, NoBias>");
}

TEST_CASE("leading dimensions stay and multiply the work") {
  constexpr Leaf leaf = Linear<256, 1024>::describe(Spec{Shape{8, 128, 256}});
  static_assert(leaf.out == Spec{Shape{8, 128, 1024}});
  CHECK(leaf.forward_flops == 8 * 128 * (2LL * 256 * 1024 + 1024));
}

TEST_CASE("features that do not chain are refused with both numbers and the repaired type") {
  constexpr Leaf leaf = Linear<500, 10>::describe(Spec{Shape{50}});
  static_assert(leaf.fault.code == Code{'G', 1});
  CHECK(leaf.fault.sentence().view() == "[heddle.G01] Linear<500, 10> takes 500 features but the value before it has 50. Fix: write Linear<50, 10>.");
  REQUIRE(leaf.fault.number_count == 2);
  CHECK(leaf.fault.numbers[0] == 500);
  CHECK(leaf.fault.numbers[1] == 50);
  constexpr Leaf repaired = Linear<50, 10>::describe(Spec{Shape{50}});
  static_assert(repaired.fault.ok());
}

TEST_CASE("an image where features are wanted is told to be flattened") {
  constexpr Leaf leaf = Linear<784, 50, NoBias>::describe(Spec{Shape{28, 28}});
  CHECK(leaf.fault.sentence().view() ==
        "[heddle.G01] Linear<784, 50, NoBias> takes 784 features but the value before it has 28 in the last dimension of (28, 28). "
        "Fix: put Flatten before it.");
  constexpr Leaf other = Linear<512, 50>::describe(Spec{Shape{1, 28, 28}});
  CHECK(other.fault.sentence().view() ==
        "[heddle.G01] Linear<512, 50> takes 512 features but the value before it has 28 in the last dimension of (1, 28, 28). "
        "Fix: put Flatten before it and write Linear<784, 50> for all of them, or Linear<28, 50> for the last dimension alone.");
}

TEST_CASE("class numbers are no features") {
  constexpr Leaf leaf = Linear<10, 5>::describe(Spec{Shape{10}, ElementType::int32});
  CHECK(leaf.fault.sentence().view() ==
        "[heddle.G01] Linear<10, 5> takes float32 but the value before it has int32. Fix: put a layer that gives float32 before it.");
}

TEST_CASE("sizes below 1 or beyond 2^30 are refused before anything is computed with them") {
  constexpr Leaf none = Linear<0, 10>::describe(Spec{Shape{784}});
  static_assert(none.fault.code == Code{'G', 6});
  constexpr Leaf negative = Linear<784, -10>::describe(Spec{Shape{784}});
  CHECK(negative.fault.sentence().view() ==
        "[heddle.G06] Linear<784, -10> has a size that is not between 1 and 1,073,741,824. "
        "Fix: write the numbers of features that go in and come out.");
  constexpr Leaf huge = Linear<784, (std::int64_t{1} << 62)>::describe(Spec{Shape{784}});
  static_assert(huge.fault.code == Code{'G', 6});
  CHECK(huge.parameter_count == 0);
}

TEST_CASE("one feature and 2^30 features are the least and the most, on either side") {
  constexpr std::int64_t most = std::int64_t{1} << 30;
  static_assert(Linear<1, 1>::describe(Spec{Shape{1}}).fault.ok());
  static_assert(Linear<most, 1>::describe(Spec{Shape{most}}).fault.ok() && Linear<1, most>::describe(Spec{Shape{1}}).fault.ok());
  static_assert(Linear<most + 1, 1>::describe(Spec{Shape{most + 1}}).fault.code == Code{'G', 6});
  static_assert(Linear<1, most + 1>::describe(Spec{Shape{1}}).fault.code == Code{'G', 6});
}

TEST_CASE("a value of no dimension has no features to take") { static_assert(Linear<1, 4>::describe(Spec{Shape{}}).fault.code == Code{'G', 1}); }
