// SPDX-License-Identifier: MIT
#include "heddle/graph/leaf.hpp"

#include <doctest/doctest.h>

using namespace heddle;

namespace {

struct Swish {
  static constexpr Leaf describe(Spec in) { return elementwise("Swish", in, 5); }
  static float forward(float x) { return x; }
  static float backward(float, float gradient) { return gradient; }
};

struct OnlyDescribed {
  static constexpr Leaf describe(Spec in) { return elementwise("OnlyDescribed", in, 1, Saves::output); }
};

struct DescribesSomethingElse {
  static constexpr int describe(Spec) { return 1; }
};

struct BackwardInDouble {
  static constexpr Leaf describe(Spec in) { return elementwise("BackwardInDouble", in, 1); }
  static float forward(float x) { return x; }
  static double backward(float, float gradient) { return gradient; }
};

}  // namespace

static_assert(DescribesLeaf<Swish> && ElementwiseLayer<Swish>);
static_assert(DescribesLeaf<OnlyDescribed> && !ElementwiseLayer<OnlyDescribed>);
static_assert(!DescribesLeaf<DescribesSomethingElse>);
static_assert(!ElementwiseLayer<BackwardInDouble>);
static_assert(!DescribesLeaf<int>);
static_assert(Swish::describe(Spec{Shape{50}}).forward_flops == 250);

TEST_CASE("an elementwise leaf keeps the shape and counts flops for each element") {
  const Spec in{Shape{4, 8}};
  const Leaf leaf = Swish::describe(in);
  CHECK(leaf.kind.view() == "Swish");
  CHECK(leaf.spelled.view() == "Swish");
  CHECK(leaf.in == in);
  CHECK(leaf.out == in);
  CHECK(leaf.elementwise);
  CHECK_FALSE(leaf.reshapes);
  CHECK(leaf.forward_flops == 5 * 32);
  CHECK(leaf.backward_flops == 5 * 32);
  CHECK(leaf.parameter_count == 0);
  CHECK(leaf.saves == Saves::input);
  CHECK(OnlyDescribed::describe(in).saves == Saves::output);
  CHECK(leaf.fault.ok());
}

TEST_CASE("parameters are kept in the order they are named") {
  Leaf leaf;
  leaf.with({Text<16>{"weight"}, Shape{10, 50}, Initial::uniform_fan_in, 50}).with({Text<16>{"bias"}, Shape{10}, Initial::zeros, 50});
  REQUIRE(leaf.parameter_count == 2);
  CHECK(leaf.parameters[0].name.view() == "weight");
  CHECK(leaf.parameters[0].shape == Shape{10, 50});
  CHECK(leaf.parameters[0].initial == Initial::uniform_fan_in);
  CHECK(leaf.parameters[1].name.view() == "bias");
  CHECK(leaf.parameters[1].fan_in == 50);
}
