// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/unflatten.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/local_leaf.hpp"

using namespace heddle;

TEST_CASE("Unflatten splits the last dimension") {
  constexpr Leaf leaf = Unflatten<8, 64>::describe(Spec{Shape{128, 512}});
  static_assert(leaf.fault.ok() && leaf.out == Spec{Shape{128, 8, 64}});
  static_assert(leaf.reshapes && leaf.saves == Saves::nothing);
  static_assert(Unflatten<784>::describe(Spec{Shape{784}}).out == Spec{Shape{784}});
  CHECK(leaf.spelled.view() == "Unflatten<8, 64>");
  CHECK(leaf.forward_flops == 0);
}

TEST_CASE("GPT-3 XL's printed 24 heads of 128 do not make 2048 features") {
  constexpr Leaf leaf = Unflatten<24, 128>::describe(Spec{Shape{2048}});
  static_assert(leaf.fault.code == Code{'G', 7});
  CHECK(leaf.fault.sentence().view() ==
        "[heddle.G07] Unflatten<24, 128> makes 3072 features of a value that has 2048. Fix: give sizes whose product is 2048.");
  CHECK(leaf.fault.numbers[0] == 3072);
  CHECK(leaf.fault.numbers[1] == 2048);
  static_assert(Unflatten<16, 128>::describe(Spec{Shape{2048}}).fault.ok());
}

TEST_CASE("a value has at most four dimensions") {
  constexpr Leaf leaf = Unflatten<2, 3, 4, 5>::describe(Spec{Shape{7, 120}});
  static_assert(leaf.fault.code == Code{'G', 7});
  CHECK(leaf.fault.sentence().view() ==
        "[heddle.G07] Unflatten<2, 3, 4, 5> makes 5 dimensions of (7, 120) but a value has at most 4. "
        "Fix: put Flatten before it or give fewer sizes.");
  static_assert(Unflatten<2, 3, 4, 5>::describe(Spec{Shape{120}}).fault.ok());
}

TEST_CASE("sizes below 1 are refused, also where their product would be right") {
  constexpr Leaf leaf = Unflatten<-2, -60>::describe(Spec{Shape{120}});
  static_assert(leaf.fault.code == Code{'G', 6});
  CHECK(leaf.fault.sentence().view() == "[heddle.G06] Unflatten<-2, -60> has a size below 1. Fix: give sizes whose product is 120.");
}

TEST_CASE("a size of 1 is a size, and one size of 0 among others is none") {
  static_assert(Unflatten<1, 120>::describe(Spec{Shape{120}}).fault.ok());
  static_assert(Unflatten<120, 0>::describe(Spec{Shape{120}}).fault.code == Code{'G', 6});
  static_assert(Unflatten<0, 120>::describe(Spec{Shape{120}}).fault.code == Code{'G', 6});
}

TEST_CASE("parts of the features are parts of the first of the sizes that they become; bytes and ids stay whole") {
  constexpr Leaf leaf = Unflatten<4, 6>::describe(Spec{Shape{7, 24}});
  static_assert(leaf.signature_count == 1);
  static_assert(leaf.signatures[0].input == laid::shard(1) && leaf.signatures[0].output == laid::shard(1));
  static_assert(leaf.signatures[0].input_gradient == laid::shard(1) && leaf.signatures[0].output_gradient == laid::shard(1));
  static_assert(indivisible_size(leaf, leaf.signatures[0], 2) == 0);
  static_assert(indivisible_size(leaf, leaf.signatures[0], 3) == 4);  // 24 divides by 3, but a part would end inside of a row
  static_assert(Unflatten<4, 6>::describe(Spec{Shape{24}, ElementType::uint8}).signature_count == 0);
}
