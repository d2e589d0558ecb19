// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/positions.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/leaf_rules.hpp"
#include "heddle/graph/local_leaf.hpp"

using namespace heddle;

namespace {

template <class L> std::string refused(const Spec& in) { return std::string{L::describe(in).fault.sentence().view()}; }

}  // namespace

TEST_CASE("a table of positions is added to sequences that are no longer, and split by features, or by positions where a sequence has all") {
  constexpr Leaf leaf = LearnedPositions<1024, 768>::describe(Spec{Shape{1024, 768}});  // of GPT-2
  static_assert(leaf.fault.ok() && leaf.out.shape == Shape(1024, 768) && leaf.parameters[0].shape == Shape(1024, 768));
  static_assert(leaf.saves == Saves::nothing && leaf.forward_flops == 1024 * 768 && leaf.weight_flops == leaf.backward_flops);
  static_assert(leaf.signature_count == 2 && local_leaf(leaf, leaf.signatures[0], 4).parameters[0].shape == Shape(1024, 192));
  static_assert(local_leaf(leaf, leaf.signatures[1], 4).parameters[0].shape == Shape(256, 768));
  for (int s = 0; s < 2; ++s) CHECK(check_signature(leaf, leaf.signatures[s]).ok());
  CHECK(check_leaf(leaf, leaf.in).ok());
  constexpr Leaf shorter = LearnedPositions<8, 6>::describe(Spec{Shape{2, 5, 6}});
  static_assert(shorter.fault.ok() && shorter.signature_count == 1);
  CHECK(refused<LearnedPositions<4, 6>>(Spec{Shape{5, 6}}) ==
        "[heddle.G01] LearnedPositions<4, 6> takes up to 4 positions of 6 features but the value before it has (5, 6). Fix: write "
        "LearnedPositions<5, 6>.");
  CHECK(refused<LearnedPositions<8, 6>>(Spec{Shape{5, 7}}).find("Fix: write LearnedPositions<8, 7>.") != std::string::npos);
  CHECK(refused<LearnedPositions<8, 6>>(Spec{Shape{6}}) ==
        "[heddle.G01] LearnedPositions<8, 6> takes sequences, of positions and features, but the value before it has (6). Fix: put Embedding before "
        "it, or Unflatten.");
  CHECK(refused<LearnedPositions<8, 6>>(Spec{Shape{5, 6}, ElementType::int32}).find(" takes float32 but the value before it has int32.") !=
        std::string::npos);
  CHECK(refused<LearnedPositions<0, 6>>(Spec{Shape{5, 6}}).find("[heddle.G06] LearnedPositions<0, 6> has a size that is not between 1 and ") == 0);
}

TEST_CASE("queries and keys are turned, and split by whole heads") {
  using L = Rotary<64, Heads<32>, KeyValueHeads<8>, RotaryBase<500'000>>;  // of Llama 3
  constexpr Leaf leaf = L::describe(Spec{Shape{16, 64 * 48}});
  static_assert(leaf.fault.ok() && leaf.out == leaf.in && leaf.parameter_count == 0 && leaf.forward_flops == 3 * 16 * 64 * 40);
  static_assert(L::base == 500'000 && Rotary<4, Heads<2>>::base == 10'000 && L::sharing == 4);
  static_assert(leaf.signature_count == 1 && leaf.signatures[0].pieces == 8 && indivisible_size(leaf, leaf.signatures[0], 16) == 8);
  static_assert(local_leaf(leaf, leaf.signatures[0], 4).in.shape == Shape(16, 64 * 12));
  CHECK(check_signature(leaf, leaf.signatures[0]).ok());
  CHECK(check_leaf(leaf, leaf.in).ok());
}

TEST_CASE("features, heads and options that do not fit are refused") {
  const Spec packed{Shape{5, 24}};  // 2 heads of 4
  const std::string other = refused<Rotary<6, Heads<2>>>(packed);
  CHECK(other.find(" takes 36 features, of 2 queries and twice 2 keys and values, but the value before it has (5, 24). Fix: write Rotary<4, ...>.") !=
        std::string::npos);
  CHECK(refused<Rotary<6, Heads<2>>>(Spec{Shape{5, 25}}).find("Fix: give the Linear before it so many.") != std::string::npos);
  CHECK(refused<Rotary<3, Heads<2>>>(packed).find("has features of a head that are not even and from 2 to ") != std::string::npos);
  CHECK(refused<Rotary<4, Heads<2>, RotaryBase<1>>>(packed).find("a base below 2") != std::string::npos);
  CHECK(refused<Rotary<4>>(packed).find(" does not say how many heads there are. Fix: write the Heads<8> of the SelfAttention behind it.") !=
        std::string::npos);
  CHECK(refused<Rotary<4, Heads<2>, Heads<2>>>(packed).find(" names an option twice.") != std::string::npos);
  CHECK(refused<Rotary<4, Heads<2>, RotaryBase<9>, RotaryBase<9>>>(packed).find(" names an option twice.") != std::string::npos);
  CHECK(refused<Rotary<4, Heads<2>, int>>(packed).find(" names what is no option of Rotary. Fix: write Heads<8>, ") != std::string::npos);
  CHECK(refused<Rotary<4, Heads<2>, Causal>>(packed).find("[heddle.G25] ") == 0);
  CHECK(refused<Rotary<4, Heads<3>, KeyValueHeads<2>>>(packed).find("share keys and values unevenly") != std::string::npos);
  CHECK(refused<Rotary<4, Heads<2>>>(Spec{Shape{24}}).find(" takes sequences, of positions and features, ") != std::string::npos);
}
