// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/input.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/layer.hpp"

using namespace heddle;

static_assert(Layer<Input<28, 28>>);
static_assert(explain_layer<Input<28, 28>>());

TEST_CASE("Input tells the shape of a sample and does no arithmetic") {
  constexpr Spec image = Input<28, 28>::takes();
  static_assert(image == Spec{Shape{28, 28}});
  constexpr Leaf leaf = Input<28, 28>::describe(image);
  static_assert(leaf.fault.ok());
  static_assert(leaf.out == image && leaf.in == image);
  static_assert(leaf.reshapes && !leaf.elementwise);
  static_assert(leaf.saves == Saves::nothing);
  CHECK(leaf.forward_flops == 0);
  CHECK(leaf.backward_flops == 0);
  CHECK(leaf.parameter_count == 0);
}

TEST_CASE("an Input that is given another shape is refused with both") {
  constexpr Leaf leaf = Input<28, 28>::describe(Spec{Shape{50}});
  static_assert(leaf.fault.code == Code{'G', 1});
  CHECK(leaf.fault.sentence().view() == "[heddle.G01] Input<28, 28> is given (50). Fix: let Input be the first layer only.");
}
