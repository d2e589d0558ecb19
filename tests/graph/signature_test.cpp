// SPDX-License-Identifier: MIT
#include "heddle/graph/signature.hpp"

#include <doctest/doctest.h>

using namespace heddle;

static_assert(sizeof(Signature) == 14);  // leaves are copied a lot in constant expressions

TEST_CASE("a tensor is whole, a part or a term, and says so") {
  constexpr auto spelled = [](Laid how) {
    Text<16> words;
    words << how;
    return words;
  };
  static_assert(Laid{} == laid::replicate);
  static_assert(laid::shard(2).sharded() && laid::shard(2).dimension() == 2);
  static_assert(laid::partial.partial() && !laid::partial.sharded() && !laid::partial.replicated());
  CHECK(spelled(laid::replicate).view() == "Replicate");
  CHECK(spelled(laid::partial).view() == "Partial");
  CHECK(spelled(laid::shard(1)).view() == "Shard<1>");
}

TEST_CASE("a signature that states nothing runs the whole leaf on every rank") {
  constexpr Signature whole;
  static_assert(whole.input.replicated() && whole.output.replicated() && whole.input_gradient.replicated() && whole.output_gradient.replicated());
  constexpr Signature split =
      Signature{laid::replicate, laid::shard(0), laid::partial, laid::shard(0), {}, {}}.with(1, laid::shard(0), laid::shard(0));
  static_assert(split.parameters[1] == laid::shard(0) && split.parameters[0].replicated());
  CHECK(!(split == whole));
}
