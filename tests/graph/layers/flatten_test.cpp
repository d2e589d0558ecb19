// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/flatten.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/local_leaf.hpp"

using namespace heddle;

TEST_CASE("Flatten makes one dimension of all and computes nothing") {
  constexpr Leaf leaf = Flatten::describe(Spec{Shape{1, 28, 28}});
  static_assert(leaf.fault.ok() && leaf.out == Spec{Shape{784}});
  static_assert(leaf.reshapes && !leaf.elementwise && leaf.saves == Saves::nothing);
  CHECK(leaf.forward_flops == 0);
  CHECK(leaf.backward_flops == 0);
  CHECK(leaf.parameter_count == 0);
  CHECK(leaf.spelled.view() == "Flatten");
}

TEST_CASE("what is flat stays, a scalar becomes one feature, the element type is kept") {
  static_assert(Flatten::describe(Spec{Shape{7}}).out == Spec{Shape{7}});
  static_assert(Flatten::describe(Spec{}).out == Spec{Shape{1}});
  CHECK(Flatten::describe(Spec{Shape{2, 3}, ElementType::int32}).out == Spec{Shape{6}, ElementType::int32});
}

TEST_CASE("parts of the first dimension are parts of what is flat; bytes and ids stay whole") {
  constexpr Leaf leaf = Flatten::describe(Spec{Shape{4, 3}});
  static_assert(leaf.signature_count == 1);
  static_assert(leaf.signatures[0].input == laid::shard(0) && leaf.signatures[0].output == laid::shard(0));
  static_assert(leaf.signatures[0].input_gradient == laid::shard(0) && leaf.signatures[0].output_gradient == laid::shard(0));
  static_assert(indivisible_size(leaf, leaf.signatures[0], 2) == 0);
  static_assert(indivisible_size(leaf, leaf.signatures[0], 3) == 4);  // 12 divides by 3, but a part would end inside of a row
  static_assert(Flatten::describe(Spec{Shape{2, 3}, ElementType::int32}).signature_count == 0);
}
