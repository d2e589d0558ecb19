// SPDX-License-Identifier: MIT
// Room: graph. Attention of the positions of a sequence to each other, on queries, keys and values that lie behind one another.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the Spec of the input.  Out: Leaf.
#pragma once

#include <concepts>
#include <cstdint>

#include "heddle/core/type_name.hpp"
#include "heddle/graph/leaf.hpp"
#include "heddle/graph/spelled.hpp"

namespace heddle::graph_room {

/// How many heads attend: each takes a part of the features. Heads<4> of 32 features have 8 each.
template <int Count> struct Heads { static constexpr int heads = Count; };
/// How many heads of keys and values there are; each serves as many heads of queries. With Heads<4> and KeyValueHeads<2> two share one.
template <int Count> struct KeyValueHeads { static constexpr int key_value_heads = Count; };
/// A position attends to itself and to those before it, not to those behind it.
struct Causal {};

/// What a Dropout among the options of SelfAttention says of its weights: those whose 32 random bits are below the threshold are 0, the others are
/// multiplied. Of Dropout<1, 4> the threshold is 2^30 and the scale 4/3; of none 0 and 1.
struct WeightDrop {
  std::uint64_t threshold = 0;
  float scale = 1;
  Diagnosis fault{};  ///< what is wrong with it, in its own words

  template <class Option> static constexpr bool is_one = requires { Option::is_fraction; };
  template <class Option> constexpr void take() {
    if constexpr (is_one<Option>) {
      if constexpr (constexpr Diagnosis found = Option::describe(Spec{Shape{1}}).fault; found.ok()) {
        threshold = Option::threshold();
        scale = Option::scale();
      } else {
        fault = found;
      }
    }
  }
};

/// What the options of SelfAttention say. Those of SelfAttention<Heads<4>, Causal> are 4 heads, as many of keys and values, and causal.
template <class... Options> struct AttentionOptions {
  template <class Option> static constexpr bool is_heads = requires { Option::heads; };
  template <class Option> static constexpr bool is_key_values = requires { Option::key_value_heads; };
  static constexpr int count = sizeof...(Options);
  static constexpr int heads_named = (0 + ... + (is_heads<Options> ? 1 : 0));
  static constexpr int key_values_named = (0 + ... + (is_key_values<Options> ? 1 : 0));
  static constexpr int causal_named = (0 + ... + (std::same_as<Options, Causal> ? 1 : 0));
  static constexpr int drops_named = (0 + ... + (WeightDrop::is_one<Options> ? 1 : 0));

  template <class Option> static constexpr int heads_or(int otherwise) {
    if constexpr (is_heads<Option>)
      return Option::heads;
    else
      return otherwise;
  }
  template <class Option> static constexpr int key_values_or(int otherwise) {
    if constexpr (is_key_values<Option>)
      return Option::key_value_heads;
    else
      return otherwise;
  }
  static constexpr int heads() {
    int found = 0;
    ((found = heads_or<Options>(found)), ...);
    return found;
  }
  static constexpr int key_values() {
    int found = heads();
    ((found = key_values_or<Options>(found)), ...);
    return found;
  }
  static constexpr WeightDrop drop() {
    WeightDrop found;
    (found.take<Options>(), ...);
    return found;
  }
  static constexpr void write(Text<64>& to) {
    const char* before = "SelfAttention<";
    ((to << before << type_name<Options>().view(), before = ", "), ...);
    if (count == 0) to << before;
    to << '>';
  }
};

/// Each head lets every position i of a sequence gather the values v_j of all positions j: o_i = sum over j of p_ij v_j with p_i = softmax over j of
/// q_i k_j / sqrt(features of a head), as torch.nn.functional.scaled_dot_product_attention. The input has the queries, keys and values of a position
/// behind one another, head by head, as the in_proj of torch.nn.MultiheadAttention and the c_attn of GPT-2 give them. So a block of 8 heads is
/// Linear<64, 192>, SelfAttention<Heads<8>, Causal>, Linear<64, 64>. KeyValueHeads<2> gives keys and values 2 heads, each for 4 heads of queries;
/// the projection is then Linear<64, 96>. With Dropout<1, 10> a tenth of the p_ij are 0 in training and the others are divided by 0.9, as dropout_p;
/// which ones follows from the seed, the step, the layer, the row, the head, i and j, so they are the same on any number of devices.
///
/// The forward leaves log of sum over j of exp(q_i k_j / sqrt(...)) of each position and head; the backward makes the p_ij from it again, tile by
/// tile, so nothing that grows with the square of the sequence is kept.
///
/// Heads may be split over ranks: each has some heads of queries with their keys and values, and TensorParallel lets the Linear before it give them.
///
/// Shape   (..., T, C + 2 C KeyValueHeads / Heads), that is (..., T, 3 C) without KeyValueHeads, becomes (..., T, C); statistics (..., T, Heads)
/// Errors  G01 if the value is no sequence, or its features do not divide by the heads; G06 a number of heads out of range;
///         G25 an option twice, none of Heads, no option, or heads that share unevenly
/// Source  sources.md#attention, sources.md#flash-attention, sources.md#grouped-query
/// Tested  graph/layers/attention_test, compute/eigen/attention_test, compute/field/attention_test, golden/attention_test,
///         equivalence/attention_test
template <class... OptionsSuchAsHeads8> struct SelfAttention {
  using KernelLayer = SelfAttention;
  using Said = AttentionOptions<OptionsSuchAsHeads8...>;
  static constexpr bool causal = Said::causal_named > 0;

  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "SelfAttention";
    Said::write(leaf.spelled);
    leaf.in = leaf.out = in;
    leaf.saves = Saves::both;  // the output, which the layer behind mostly saves as well, spares a pass over all tiles
    leaf.fault = refusal_of_options(leaf);
    if (leaf.fault.ok()) leaf.fault = refusal(leaf, in);
    if (!leaf.fault.ok()) return leaf;
    const int last = in.shape.dimensions - 1;
    const std::int64_t positions = in.shape.sizes[last - 1];
    leaf.out.shape.sizes[last] = in.shape.last() / all_heads * Said::heads();
    leaf.out.sequence = static_cast<std::int8_t>(last - 1);
    leaf.statistics = in.shape;
    leaf.statistics.sizes[last] = Said::heads();
    const std::int64_t seen = causal ? (positions + 1) / 2 : positions;  // by one position: half of them, rounded down
    const std::int64_t products = counted_product(seen, leaf.out.elements());
    const std::int64_t powers = counted_product(seen, leaf.statistics_elements());
    const std::int64_t for_a_weight = Said::drops_named > 0 ? 8 : 6;
    leaf.forward_flops = counted_sum(counted_product(4, products), counted_product(for_a_weight, powers));
    leaf.backward_flops = counted_sum(counted_product(10, products), counted_product(for_a_weight, powers));
    for (int d = 0; d + 2 < in.shape.dimensions; ++d)
      leaf.splits(Signature{laid::shard(d), laid::shard(d), laid::shard(d), laid::shard(d), {}, {}}.with_statistics(laid::shard(d)));
    if constexpr (constexpr int larger = Said::heads() / shared; larger <= Laid::most_of_first && shared < 32'768) {  // heads
      const Laid packed = laid::shard(last, 3, larger);
      leaf.splits(Signature{packed, laid::shard(last), packed, laid::shard(last), {}, {}}
                      .with_statistics(laid::shard(last))
                      .with_pieces(static_cast<std::int16_t>(shared)));
    }
    return leaf;
  }

 private:
  static constexpr int most_heads = 1 << 16;
  static constexpr bool in_range = Said::heads() >= 1 && Said::heads() <= most_heads && Said::key_values() >= 1 && Said::key_values() <= most_heads;
  static constexpr int shared = in_range ? Said::key_values() : 1;
  static constexpr std::int64_t all_heads = (in_range ? Said::heads() : 1) + 2 * std::int64_t{shared};  // of queries, keys and values

  static constexpr Diagnosis refusal_of_options(const Leaf& leaf) {
    const auto broken = [&](int number) { return Diagnosis{Code{'G', number}, leaf.spelled.view()}; };
    if (Said::heads_named > 1 || Said::key_values_named > 1 || Said::causal_named > 1 || Said::drops_named > 1)
      return broken(25) << " names an option twice. Fix: keep one of them.";
    if (Said::heads_named + Said::key_values_named + Said::causal_named + Said::drops_named < Said::count)
      return broken(25) << " names what is no option of SelfAttention. Fix: write Heads<8> for 8 heads, KeyValueHeads<2> for 2 of keys and values, "
                           "Causal for a mask, and Dropout<1, 10> to drop weights.";
    if (!Said::drop().fault.ok()) return Said::drop().fault;
    if (Said::heads_named == 0) return broken(25) << " does not say how many heads there are. Fix: write SelfAttention<Heads<8>> for 8.";
    if (!in_range) return broken(6) << " has a number of heads that is not between 1 and " << most_heads << ". Fix: write as many heads as attend.";
    if (Said::heads() % shared == 0) return {};
    int nearest = shared < Said::heads() ? shared : Said::heads();
    while (Said::heads() % nearest != 0) --nearest;
    return broken(25) << " has " << Said::heads() << " heads, which " << shared
                      << " heads of keys and values cannot serve evenly. Fix: write KeyValueHeads<" << nearest << ">.";
  }
  static constexpr Diagnosis refusal(const Leaf& leaf, const Spec& in) {
    const auto broken = [&] { return Diagnosis{Code{'G', 1}, leaf.spelled.view()}; };
    if (in.type != ElementType::float32)
      return broken() << " takes float32 but the value before it has " << name_of(in.type) << ". Fix: put a layer that gives float32 before it.";
    const std::int64_t features = in.shape.dimensions > 0 ? in.shape.last() : 0;
    // features that heads divide are those of a model before its projection; else the next number that fits
    constexpr std::int64_t heads = in_range ? Said::heads() : 1;
    const std::int64_t of_a_head = features % heads == 0 ? features / heads : features / all_heads + 1;
    const std::int64_t wanted = features % all_heads == 0 ? features : of_a_head * all_heads;
    if (in.shape.dimensions < 2)
      return broken() << " takes a sequence of positions, but the value before it has " << in.shape
                      << ", a single vector. Fix: let the model begin with Input<positions, features>, or put Unflatten<positions, " << wanted
                      << "> before it.";
    if (features == wanted) return {};
    return broken() << " takes queries, keys and values behind one another, " << Said::heads() << " + 2 x " << Said::key_values()
                    << " heads, but the value before it has " << features << " features in the last dimension of " << in.shape << ", which "
                    << all_heads << " does not divide. Fix: put a Linear before it that gives " << wanted << " features, of which "
                    << wanted / all_heads * Said::heads() << " come out.";
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Causal, graph_room::Heads, graph_room::KeyValueHeads, graph_room::SelfAttention;
}  // namespace heddle
