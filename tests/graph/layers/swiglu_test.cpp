// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/swiglu.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/local_leaf.hpp"

using namespace heddle;

TEST_CASE("of two halves one comes out, and any dimension may be split, that of the features in two sections") {
  constexpr Leaf leaf = SwiGLU::describe(Spec{Shape{4, 12}});
  static_assert(leaf.fault.ok() && leaf.out.shape == Shape(4, 6) && leaf.saves == Saves::input && leaf.parameter_count == 0);
  static_assert(leaf.forward_flops == 24 * 5 && leaf.backward_flops == 24 * 11 && leaf.weight_flops == 0 && !leaf.elementwise);
  static_assert(leaf.signature_count == 2 && leaf.signatures[0].input == laid::shard(0));
  static_assert(leaf.signatures[1].input == laid::shard(1, 2) && leaf.signatures[1].output == laid::shard(1));
  for (int i = 0; i < leaf.signature_count; ++i) CHECK(check_signature(leaf, leaf.signatures[i]).ok());
  constexpr Leaf third = local_leaf(leaf, leaf.signatures[1], 3);
  static_assert(third.in.shape == Shape(4, 4) && third.out.shape == Shape(4, 2));
  static_assert(indivisible_size(leaf, leaf.signatures[1], 4) == 6);  // of a half
  static_assert(SwiGLU::describe(Spec{Shape{2, 2, 2, 8}}).signature_count == 4);
}

TEST_CASE("the value comes through as far as the gate is open, and both have their derivatives") {
  CHECK(SwiGLU::let_through(0, 7) == 0);
  CHECK(SwiGLU::let_through(100, 2) == 200);
  CHECK(SwiGLU::let_through(-200, 2) == 0);
  CHECK(SwiGLU::backward_of_gate(0, 4, 1) == 2);  // half of the value
  CHECK(SwiGLU::backward_of_gate(100, 4, 1) == 4);
  CHECK(SwiGLU::backward_of_gate(-200, 4, 1) == 0);
  CHECK(SwiGLU::backward_of_value(100, 3) == 300);
}

TEST_CASE("features that are no two halves are refused with those that would be") {
  CHECK(
      std::string{SwiGLU::describe(Spec{Shape{4, 7}}).fault.sentence().view()} ==
      "[heddle.G01] SwiGLU takes a gate and as many features that it lets through, behind one another, but the value before it has (4, 7). Fix: put "
      "a Linear before it that gives 8 features, of which 4 come out.");
  CHECK(std::string{SwiGLU::describe(Spec{Shape{8}, ElementType::int32}).fault.sentence().view()} ==
        "[heddle.G01] SwiGLU takes float32 but the value before it has int32. Fix: put a layer that gives float32 before it.");
}
