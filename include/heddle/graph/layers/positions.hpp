// SPDX-License-Identifier: MIT
// Room: graph. Layers that tell positions of a sequence apart: LearnedPositions adds a vector to each, Rotary turns queries and keys.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the Spec of the input.  Out: Leaf.
#pragma once

#include <cstdint>

#include "heddle/graph/layers/attention.hpp"
#include "heddle/graph/leaf.hpp"
#include "heddle/graph/spelled.hpp"

namespace heddle::graph_room {

/// What is wrong with a value that is no sequence of vectors.
[[nodiscard]] constexpr Diagnosis refused_sequence(const Leaf& leaf, const Spec& in) {
  const auto refuse = [&] { return Diagnosis{Code{'G', 1}, leaf.spelled.view()}; };
  if (in.type != ElementType::float32)
    return refuse() << " takes float32 but the value before it has " << name_of(in.type) << ". Fix: put a layer that gives float32 before it.";
  if (in.shape.dimensions < 2)
    return refuse() << " takes sequences, of positions and features, but the value before it has " << in.shape
                    << ". Fix: put Embedding before it, or Unflatten.";
  return {};
}

/// Positions of a sequence: the last dimension but one.
[[nodiscard]] constexpr std::int64_t positions_of(const Shape& shape) { return shape.dimensions < 2 ? 1 : shape.sizes[shape.dimensions - 2]; }

/// Adds to position t row t of a table, as the wpe of GPT-2 and the position_embeddings of BERT. Sequences may be shorter than the table. Rows start
/// as those of torch.nn.Embedding. Split by features; where a sequence has all positions of the table, by positions.
///
/// Shape   (..., T, Features) with T at most Length stays as it is; weight (Length, Features)
/// Errors  G01 if the value is no sequence of Features, or longer than Length; G06 a size out of range
/// Source  sources.md#attention
/// Tested  graph/layers/positions_test, compute/eigen/positions_test, compute/field/positions_test, equivalence/positions_test,
///         golden/positions_test
template <std::int64_t Length, std::int64_t Features> struct LearnedPositions {
  using KernelLayer = LearnedPositions;

  static constexpr Leaf describe(Spec in) {
    constexpr std::int64_t most = std::int64_t{1} << 30;
    Leaf leaf;
    leaf.kind << "LearnedPositions";
    leaf.spelled = graph_room::spelled("LearnedPositions", Length, Features);
    leaf.in = leaf.out = in;
    leaf.saves = Saves::nothing;
    leaf.weights_read = leaf.input_part_reads_saved = false;
    const auto refuse = [&](int code) { return Diagnosis{Code{'G', code}, leaf.spelled.view()}; };
    if (Length < 1 || Features < 1 || Length > most || Features > most) {
      leaf.fault = refuse(6) << " has a size that is not between 1 and " << most << ". Fix: write the most positions and the features of each.";
      return leaf;
    }
    leaf.fault = refused_sequence(leaf, in);
    if (!leaf.fault.ok()) return leaf;
    const int last = in.shape.dimensions - 1;
    const std::int64_t positions = positions_of(in.shape);
    if (in.shape.last() != Features || positions > Length) {
      leaf.fault = refuse(1) << " takes up to " << Length << " positions of " << Features << " features but the value before it has " << in.shape
                             << ". Fix: write "
                             << graph_room::spelled("LearnedPositions", positions > Length ? positions : Length, in.shape.last()).view() << '.';
      return leaf;
    }
    leaf.forward_flops = leaf.weight_flops = leaf.backward_flops = in.elements();
    leaf.with({"weight", Shape{Length, Features}, Initial::normal});
    const auto along = [](int dimension) {
      const Laid part = laid::shard(dimension);
      return Signature{part, part, part, part, {}, {}};
    };
    leaf.splits(along(last).with(0, laid::shard(1), laid::shard(1)));
    if (positions == Length) leaf.splits(along(last - 1).with(0, laid::shard(0), laid::shard(0)));
    return leaf;
  }
};

/// The base of the angles of Rotary: 10,000 if none is named, RotaryBase<500'000> in Llama 3.
template <std::int64_t Base> struct RotaryBase { static constexpr std::int64_t rotary_base = Base; };

/// What the options of Rotary say. Those of Rotary<64, Heads<8>, KeyValueHeads<2>> are 8 heads, 2 of keys and values, and the base 10,000.
template <class... Options> struct RotaryOptions {
  template <class Option> static constexpr bool is_base = requires { Option::rotary_base; };
  using Said = AttentionOptions<Options...>;
  static constexpr int bases_named = (0 + ... + (is_base<Options> ? 1 : 0));
  template <class Option> static constexpr std::int64_t base_or(std::int64_t otherwise) {
    if constexpr (is_base<Option>)
      return Option::rotary_base;
    else
      return otherwise;
  }
  static constexpr std::int64_t base() {
    std::int64_t found = 10'000;
    ((found = base_or<Options>(found)), ...);
    return found;
  }
};

/// Turns each query and each key by an angle that grows with its position: features i and i + Features / 2 of a head are one pair, and position t
/// turns it by t / Base^(2 i / Features), as the rotary embedding of Llama in Hugging Face's models and of GPT-NeoX. Products of queries and keys
/// then depend on how far apart they are. Values stay as they are. It stands between the projection and SelfAttention, and takes the same packed
/// value: Linear<64, 192>, Rotary<8, Heads<8>>, SelfAttention<Heads<8>, Causal>. Heads may be split over ranks.
///
/// Shape   (..., T, Features (Heads + 2 KeyValueHeads)) stays as it is
/// Errors  G01 if the value is no such sequence; G06 features that are odd or out of range, a base below 2; G25 options as those of SelfAttention
/// Source  sources.md#rotary
/// Tested  as LearnedPositions
template <std::int64_t Features, class... Options> struct Rotary {
  using KernelLayer = Rotary;
  using Said = AttentionOptions<Options...>;
  static constexpr std::int64_t features = Features;
  static constexpr std::int64_t base = RotaryOptions<Options...>::base();
  /// Heads of queries for one of keys.
  static constexpr std::int64_t sharing = Said::key_values() < 1 ? 1 : Said::heads() / Said::key_values();

  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Rotary";
    leaf.spelled << "Rotary<";
    write_digits(leaf.spelled, Features);
    (void(leaf.spelled << ", " << type_name<Options>().view()), ...);
    leaf.spelled << '>';
    leaf.in = leaf.out = in;
    leaf.saves = Saves::nothing;
    leaf.fault = refusal(leaf, in);
    if (!leaf.fault.ok()) return leaf;
    const int last = in.shape.dimensions - 1;
    const std::int64_t turned = in.elements() / (Said::heads() + 2 * Said::key_values()) * (Said::heads() + Said::key_values());
    leaf.forward_flops = leaf.backward_flops = counted_product(3, turned);
    for (int d = 0; d + 2 < in.shape.dimensions; ++d) leaf.splits({laid::shard(d), laid::shard(d), laid::shard(d), laid::shard(d), {}, {}});
    if constexpr (sharing >= 1 && sharing <= Laid::most_of_first && Said::key_values() < 32'768) {
      const Laid packed = laid::shard(last, 3, static_cast<int>(sharing));
      leaf.splits(Signature{packed, packed, packed, packed, {}, {}}.with_pieces(static_cast<std::int16_t>(Said::key_values())));
    }
    return leaf;
  }

 private:
  static constexpr std::int64_t most = std::int64_t{1} << 16;

  static constexpr Diagnosis refusal(const Leaf& leaf, const Spec& in) {
    constexpr std::int64_t heads = Said::heads(), shared = Said::key_values();
    const auto refuse = [&](int code) { return Diagnosis{Code{'G', code}, leaf.spelled.view()}; };
    if (Said::heads_named > 1 || Said::key_values_named > 1 || RotaryOptions<Options...>::bases_named > 1)
      return refuse(25) << " names an option twice. Fix: keep one of them.";
    if (Said::heads_named + Said::key_values_named + RotaryOptions<Options...>::bases_named < Said::count)
      return refuse(25)
             << " names what is no option of Rotary. Fix: write Heads<8>, KeyValueHeads<2> as SelfAttention has them, RotaryBase<500'000>.";
    if (Said::heads_named == 0)
      return refuse(25) << " does not say how many heads there are. Fix: write the Heads<8> of the SelfAttention behind it.";
    if (Features < 2 || Features % 2 != 0 || Features > most || heads < 1 || heads > most || shared < 1 || shared > most || base < 2)
      return refuse(6) << " has features of a head that are not even and from 2 to " << most << ", a number of heads out of range, or a base below 2."
                       << " Fix: write as many features as each head has.";
    if (heads % shared != 0)
      return refuse(25) << " has heads that share keys and values unevenly. Fix: write the KeyValueHeads of the SelfAttention.";
    if (const Diagnosis found = refused_sequence(leaf, in); !found.ok()) return found;
    if (in.shape.last() == Features * (heads + 2 * shared)) return {};
    Diagnosis found = refuse(1) << " takes " << Features * (heads + 2 * shared) << " features, of " << heads << " queries and twice " << shared
                                << " keys and values, but the value before it has " << in.shape << ". Fix: ";
    if (in.shape.last() % (heads + 2 * shared) == 0) return found << "write Rotary<" << in.shape.last() / (heads + 2 * shared) << ", ...>.";
    return found << "give the Linear before it so many.";
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::LearnedPositions, graph_room::Rotary, graph_room::RotaryBase;
}  // namespace heddle
