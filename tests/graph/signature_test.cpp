// SPDX-License-Identifier: MIT
#include "heddle/graph/signature.hpp"

#include <doctest/doctest.h>

using namespace heddle;

static_assert(sizeof(Signature) == 34);  // leaves are copied a lot in constant expressions

TEST_CASE("a tensor is whole, a part or a term, and says so") {
  constexpr auto spelled = [](Laid how) {
    Text<48> words;
    words << how;
    return words;
  };
  static_assert(Laid{} == laid::replicate);
  static_assert(laid::shard(2).sharded() && laid::shard(2).dimension() == 2);
  static_assert(laid::partial.partial() && !laid::partial.sharded() && !laid::partial.replicated());
  CHECK(spelled(laid::replicate).view() == "Replicate");
  CHECK(spelled(laid::partial).view() == "Partial");
  CHECK(spelled(laid::shard(1)).view() == "Shard<1>");
  static_assert(laid::shard(1).sections() == 1 && laid::shard(1).first() == 1 && laid::shard(1).shares() == 1 && !laid::shard(1).in_sections());
  static_assert(laid::replicate.sections() == 1 && laid::partial.shares() == 1 && laid::partial.dimension() == -2);
  static_assert(laid::shard(-1) == laid::replicate && laid::shard(40).dimension() == 15 && !laid::shard(40).in_sections());
}

TEST_CASE("of a value that several read the gradient may be terms, which lie otherwise than the value") {
  constexpr Laid once = laid::terms_back;
  static_assert(once.there().replicated() && once.back().partial() && !once.replicated() && !once.partial() && !once.sharded());
  static_assert(laid::partial.there() == laid::partial && laid::replicate.back().replicated() && laid::shard(1, 2).back() == laid::shard(1, 2));
  Text<48> words;
  words << once;
  CHECK(words.view() == "Replicate with terms of its gradient");
}

TEST_CASE("a second operand lies as the first unless it is stated, and so does its gradient") {
  Signature s{laid::shard(0), laid::shard(0), laid::shard(0), laid::shard(0), {}, {}};
  CHECK((s.operand(0) == laid::shard(0) && s.operand(1) == laid::shard(0) && s.operand_gradient(1) == laid::shard(0)));
  s.with_second(laid::shard(0, 2));
  CHECK((s.operand(0) == laid::shard(0) && s.operand_gradient(0) == laid::shard(0)));
  CHECK((s.operand(1) == laid::shard(0, 2) && s.operand_gradient(1) == laid::shard(0, 2)));
}

TEST_CASE("a part may be one of each section, of which the first may be larger") {
  constexpr Laid packed = laid::shard(2, 3, 4);
  static_assert(packed.sharded() && packed.in_sections() && packed.dimension() == 2 && packed.sections() == 3 && packed.first() == 4);
  static_assert(packed.shares() == 6 && packed != laid::shard(2) && packed != laid::shard(2, 3) && packed == laid::shard(2, 3, 4));
  constexpr Laid most = laid::shard(3, Laid::most_sections, Laid::most_of_first);
  static_assert(most.sharded() && most.dimension() == 3 && most.sections() == 8 && most.first() == 256);
  Text<64> words;
  words << packed << ", " << laid::shard(0, 2);
  CHECK(words.view() == "Shard<2> in sections 4:1:1, Shard<0> in sections 1:1");
  constexpr Signature columns = Signature{laid::replicate, laid::shard(1), laid::partial, laid::shard(1), {}, {}}
                                    .with(0, laid::shard(0), laid::shard(0))
                                    .with(1, laid::replicate, laid::partial);
  constexpr Signature cut = columns.in_sections_of(packed);
  static_assert(cut.input.replicated() && cut.input_gradient.partial() && cut.output == laid::shard(1, 3, 4) && cut.output_gradient == cut.output);
  static_assert(cut.parameters[0] == laid::shard(0, 3, 4) && cut.parameter_gradients[0] == cut.parameters[0]);
  static_assert(cut.parameters[1].replicated() && cut.parameter_gradients[1].partial());
}

TEST_CASE("a signature that states nothing runs the whole leaf on every rank") {
  constexpr Signature whole;
  static_assert(whole.input.replicated() && whole.output.replicated() && whole.input_gradient.replicated() && whole.output_gradient.replicated());
  constexpr Signature split =
      Signature{laid::replicate, laid::shard(0), laid::partial, laid::shard(0), {}, {}}.with(1, laid::shard(0), laid::shard(0));
  static_assert(split.parameters[1] == laid::shard(0) && split.parameters[0].replicated());
  CHECK(!(split == whole));
}
