// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/attention.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/layers/dropout.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/local_leaf.hpp"
#include "heddle/graph/model_facts.hpp"
#include "heddle/graph/residual.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/trace.hpp"

using namespace heddle;

namespace {

struct Block : Residual<Linear<8, 24>, SelfAttention<Heads<4>, Causal>, Linear<8, 8>> {};
struct Net : Sequential<Input<5, 8>, Block, Linear<8, 16>, SelfAttention<Heads<4>, KeyValueHeads<2>>, Linear<8, 3>> {};

template <class L> std::string refusal_of(const Spec& in) { return std::string{L::describe(in).fault.sentence().view()}; }

}  // namespace

TEST_CASE("queries, keys and values of a position become its features, and a number of each head is left for the backward") {
  constexpr Leaf leaf = SelfAttention<Heads<4>>::describe(Spec{Shape{5, 24}});
  static_assert(leaf.fault.ok() && leaf.in.shape == Shape(5, 24) && leaf.out.shape == Shape(5, 8) && leaf.statistics == Shape(5, 4));
  static_assert(leaf.parameter_count == 0 && leaf.saves == Saves::both && leaf.input_part_reads_saved && !leaf.elementwise && !leaf.reshapes);
  CHECK(leaf.kind.view() == "SelfAttention");
  CHECK(leaf.spelled.view() == "SelfAttention<Heads<4>>");
  CHECK(graph_of<Net>.fault.ok());
  static_assert(parameters<Net> == 8 * 24 + 24 + 8 * 8 + 8 + 8 * 16 + 16 + 8 * 3 + 3);
}

TEST_CASE("heads that share keys and values have fewer of them in the input; options come in any order") {
  constexpr Leaf leaf = SelfAttention<Causal, KeyValueHeads<2>, Heads<4>>::describe(Spec{Shape{5, 16}});
  static_assert(leaf.fault.ok() && leaf.out.shape == Shape(5, 8) && leaf.statistics == Shape(5, 4));
  CHECK(leaf.spelled.view() == "SelfAttention<Causal, KeyValueHeads<2>, Heads<4>>");
  static_assert(SelfAttention<Causal, Heads<4>>::causal && !SelfAttention<Heads<4>>::causal);
  static_assert(SelfAttention<Heads<4>, KeyValueHeads<1>>::describe(Spec{Shape{5, 18}}).out.shape == Shape(5, 12));
  CHECK_FALSE(SelfAttention<Heads<128>, KeyValueHeads<128>, Causal>::describe(Spec{Shape{5, 384}}).spelled.cut);
}

TEST_CASE("operations are those of two products forward and five backward, of half the pairs if causal, and of the powers") {
  constexpr Leaf leaf = SelfAttention<Heads<4>>::describe(Spec{Shape{6, 24}});
  static_assert(leaf.forward_flops == 6 * 6 * (4 * 8 + 6 * 4) && leaf.backward_flops == 6 * 6 * (10 * 8 + 6 * 4) && leaf.weight_flops == 0);
  constexpr Leaf causal = SelfAttention<Heads<4>, Causal>::describe(Spec{Shape{5, 24}});
  static_assert(causal.forward_flops == 5 * 3 * (4 * 8 + 6 * 4));  // 15 pairs of a position and itself or one before it
}

TEST_CASE("weights are dropped by a threshold of 32 bits, and a weight takes two operations more") {
  using Drops = SelfAttention<Heads<4>, Causal, Dropout<1, 4>>;
  static_assert(Drops::Said::drop().threshold == std::uint64_t{1} << 30U && Drops::Said::drop().scale == 4.0F / 3);
  static_assert(SelfAttention<Heads<4>>::Said::drop().threshold == 0 && SelfAttention<Heads<4>, Dropout<0>>::Said::drop().threshold == 0);
  constexpr Leaf leaf = SelfAttention<Heads<4>, Dropout<1, 4>>::describe(Spec{Shape{6, 24}});
  static_assert(leaf.forward_flops == 6 * 6 * (4 * 8 + 8 * 4) && leaf.backward_flops == 6 * 6 * (10 * 8 + 8 * 4));
  CHECK(leaf.spelled.view() == "SelfAttention<Heads<4>, Dropout<1, 4>>");
}

TEST_CASE("sequences stand alone: what lies in front of the positions may be split") {
  constexpr Leaf leaf = SelfAttention<Heads<4>>::describe(Spec{Shape{6, 5, 24}});
  static_assert(leaf.fault.ok() && leaf.out.shape == Shape(6, 5, 8) && leaf.statistics == Shape(6, 5, 4) && leaf.signature_count == 2);
  CHECK(check_signature(leaf, leaf.signatures[0]).ok());
  constexpr Leaf half = local_leaf(leaf, leaf.signatures[0], 2);
  static_assert(half.in.shape == Shape(3, 5, 24) && half.out.shape == Shape(3, 5, 8) && half.statistics == Shape(3, 5, 4));
}

TEST_CASE("heads may be split: each rank has a part of the queries, of the keys and of the values, as many as divide those of keys and values") {
  constexpr Leaf leaf = SelfAttention<Heads<4>, KeyValueHeads<2>>::describe(Spec{Shape{5, 16}});
  static_assert(leaf.signature_count == 1);
  constexpr Signature heads = leaf.signatures[0];
  CHECK(check_signature(leaf, heads).ok());
  static_assert(heads.input == laid::shard(1, 3, 2) && heads.input_gradient == heads.input && heads.output == laid::shard(1));
  static_assert(heads.statistics == laid::shard(1) && heads.pieces == 2);
  constexpr Leaf half = local_leaf(leaf, heads, 2);
  static_assert(half.in.shape == Shape(5, 8) && half.out.shape == Shape(5, 4) && half.statistics == Shape(5, 2));
  static_assert(indivisible_size(leaf, heads, 2) == 0 && indivisible_size(leaf, heads, 4) == 2);                   // a head of keys is not cut
  static_assert(SelfAttention<Heads<512>, KeyValueHeads<1>>::describe(Spec{Shape{5, 514}}).signature_count == 0);  // more than sections count
}

TEST_CASE("a value that is no sequence of queries, keys and values is refused with the width that it should have") {
  CHECK(refusal_of<SelfAttention<Heads<4>>>(Spec{Shape{5, 32}}) ==
        "[heddle.G01] SelfAttention<Heads<4>> takes queries, keys and values behind one another, 4 + 2 x 4 heads, but the value before it has 32 "
        "features in the last dimension of (5, 32), which 12 does not divide. Fix: put a Linear before it that gives 96 features, of which 32 come "
        "out.");
  CHECK(refusal_of<SelfAttention<Heads<4>, KeyValueHeads<2>>>(Spec{Shape{5, 36}}) ==
        "[heddle.G01] SelfAttention<Heads<4>, KeyValueHeads<2>> takes queries, keys and values behind one another, 4 + 2 x 2 heads, but the value "
        "before it has 36 features in the last dimension of (5, 36), which 8 does not divide. Fix: put a Linear before it that gives 72 features, of "
        "which "
        "36 come out.");
  CHECK(refusal_of<SelfAttention<Heads<4>>>(Spec{Shape{24}}) ==
        "[heddle.G01] SelfAttention<Heads<4>> takes a sequence of positions, but the value before it has (24), a single vector. Fix: let the model "
        "begin with Input<positions, features>, or put Unflatten<positions, 24> before it.");
  CHECK(refusal_of<SelfAttention<Heads<4>>>(Spec{Shape{5, 24}, ElementType::int32}) ==
        "[heddle.G01] SelfAttention<Heads<4>> takes float32 but the value before it has int32. Fix: put a layer that gives float32 before it.");
}

TEST_CASE("options that contradict each other, or say nothing, are refused in one sentence") {
  const Spec in{Shape{5, 24}};
  CHECK(refusal_of<SelfAttention<>>(in) ==
        "[heddle.G25] SelfAttention<> does not say how many heads there are. Fix: write SelfAttention<Heads<8>> for 8.");
  CHECK(refusal_of<SelfAttention<Causal>>(in) ==
        "[heddle.G25] SelfAttention<Causal> does not say how many heads there are. Fix: write SelfAttention<Heads<8>> for 8.");
  CHECK(refusal_of<SelfAttention<Heads<4>, Heads<2>>>(in) ==
        "[heddle.G25] SelfAttention<Heads<4>, Heads<2>> names an option twice. Fix: keep one of them.");
  CHECK(refusal_of<SelfAttention<Heads<4>, Causal, Causal>>(in).find("names an option twice") != std::string::npos);
  CHECK(refusal_of<SelfAttention<Heads<4>, NoBias>>(in) ==
        "[heddle.G25] SelfAttention<Heads<4>, NoBias> names what is no option of SelfAttention. Fix: write Heads<8> for 8 heads, KeyValueHeads<2> "
        "for 2 of keys and values, Causal for a mask, and Dropout<1, 10> to drop weights.");
  CHECK(refusal_of<SelfAttention<Heads<4>, Dropout<1, 10>>>(in).empty());
  CHECK(refusal_of<SelfAttention<Dropout<1, 10>, Heads<4>, Dropout<1, 10>>>(in).find("names an option twice") != std::string::npos);
  CHECK(
      refusal_of<SelfAttention<Heads<4>, Dropout<2, 2>>>(in) ==
      "[heddle.G25] Dropout<2, 2> has a probability that is not from 0 to below 1. Fix: write a numerator below the denominator: Dropout<1, 10> for "
      "0.1.");
  CHECK(refusal_of<SelfAttention<Heads<6>, KeyValueHeads<4>>>(in) ==
        "[heddle.G25] SelfAttention<Heads<6>, KeyValueHeads<4>> has 6 heads, which 4 heads of keys and values cannot serve evenly. Fix: write "
        "KeyValueHeads<3>.");
  CHECK(refusal_of<SelfAttention<Heads<6>, KeyValueHeads<12>>>(in).find("Fix: write KeyValueHeads<6>.") != std::string::npos);
  CHECK(refusal_of<SelfAttention<Heads<0>>>(in) ==
        "[heddle.G06] SelfAttention<Heads<0>> has a number of heads that is not between 1 and 65,536. Fix: write as many heads as attend.");
  CHECK(refusal_of<SelfAttention<Heads<4>, KeyValueHeads<-2>>>(in).find("[heddle.G06]") == 0);
}
