// SPDX-License-Identifier: MIT
// Room: graph. TransformerEncoderLayer: attention and a feed-forward part with norms and skip connections, under the names of PyTorch.
// Sees: graph/layers, graph/{named, residual, sequential, unnumbered}.  Does not see: policies, devices, memory.
// In: sizes and options.  Out: TransformerEncoderLayer.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "heddle/core/type_name.hpp"
#include "heddle/graph/layer.hpp"
#include "heddle/graph/layers/attention.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/norm.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/named.hpp"
#include "heddle/graph/residual.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/unnumbered.hpp"

namespace heddle::graph_room {

/// A Linear that torch.nn.MultiheadAttention starts in its own way: a bias of zeros and, of the projection of queries, keys and values, a weight
/// within sqrt(6 / (In + Out)), under names without a dot. Kernels are those of Linear.
///
/// Shape   as Linear
/// Errors  as Linear
/// Source  sources.md#transformer
/// Tested  graph/transformer_test
template <std::int64_t In, std::int64_t Out, bool Packed> struct AttentionLinear : Linear<In, Out> {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf = Linear<In, Out>::describe(in);
    if (leaf.parameter_count < 2) return leaf;
    leaf.parameters[1].initial = Initial::zeros;
    if (!Packed) return leaf;
    leaf.parameters[0].name = "in_proj_weight";
    leaf.parameters[1].name = "in_proj_bias";
    leaf.parameters[0].initial = Initial::uniform_fan_in_and_out;
    leaf.parameters[0].fan_in = In + Out;
    return leaf;
  }
};

/// The norms of a TransformerEncoderLayer stand before attention and feed-forward part, as with norm_first=True.
struct NormFirst {};

/// What the options of a TransformerEncoderLayer say. Those of TransformerEncoderLayer<64, 8, 256, GELU, NormFirst> are GELU, before which norms
/// stand.
template <class... Options> struct TransformerOptions {
  static constexpr bool norm_first = (false || ... || std::same_as<Options, NormFirst>);
  static constexpr bool causal = (false || ... || std::same_as<Options, Causal>);
  /// The `n`-th of those that are layers; Otherwise, if there are fewer.
  template <class Otherwise, template <class> class Takes, class... All> struct First { using type = Otherwise; };
  template <class Otherwise, template <class> class Takes, class Option, class... More>
  struct First<Otherwise, Takes, Option, More...>
      : std::conditional_t<Takes<Option>::value, std::type_identity<Option>, First<Otherwise, Takes, More...>> {};
  /// Dropout, whatever its fraction.
  template <class Option> struct Drops : std::bool_constant < requires { Option::is_fraction; } > {};
  /// Any other layer.
  template <class Option> struct Activates : std::bool_constant<!Drops<Option>::value && (DescribesLeaf<Option> || Composite<Option>)> {};
  using Activation = typename First<ReLU, Activates, Options...>::type;
  using Drop = typename First<void, Drops, Options...>::type;
  using Mask = std::conditional_t<causal, Causal, void>;

  static constexpr int norms_named = (0 + ... + (std::same_as<Options, NormFirst> ? 1 : 0));
  static constexpr int masks_named = (0 + ... + (std::same_as<Options, Causal> ? 1 : 0));
  static constexpr int drops_named = (0 + ... + (Drops<Options>::value ? 1 : 0));
  static constexpr int activations_named = (0 + ... + (Activates<Options>::value ? 1 : 0));
  static constexpr bool known = norms_named + masks_named + drops_named + activations_named == static_cast<int>(sizeof...(Options));
  static constexpr bool once = norms_named <= 1 && masks_named <= 1 && drops_named <= 1 && activations_named <= 1;
};

/// Stands for a TransformerEncoderLayer with other options. Errors  G25
template <class... Options> struct RefusedTransformer {
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "TransformerEncoderLayer";
    leaf.spelled << "TransformerEncoderLayer<..., ";
    int position = 0;
    (..., (leaf.spelled << (position++ > 0 ? ", " : "") << type_name<Options>().view()));
    leaf.spelled << '>';
    leaf.in = leaf.out = in;
    leaf.fault = Diagnosis{Code{'G', 25}, leaf.spelled.view()}
                 << (TransformerOptions<Options...>::known ? " names an option twice" : " names what is no option of it")
                 << ". Fix: name NormFirst, Causal, Dropout<1, 10> and one activation such as GELU, some of them, once each.";
    return leaf;
  }
};

/// Layers behind one another, of which those that drop nothing are left out.
template <template <class...> class Of, class Kept, class... Rest> struct WithoutNone;
template <template <class...> class Of, class... Kept> struct WithoutNone<Of, Sequential<Kept...>> { using type = Of<Kept...>; };
template <template <class...> class Of, class... Kept, class... Rest>
struct WithoutNone<Of, Sequential<Kept...>, void, Rest...> : WithoutNone<Of, Sequential<Kept...>, Rest...> {};
template <template <class...> class Of, class... Kept, class Next, class... Rest>
requires(!std::same_as<Next, void>) struct WithoutNone<Of, Sequential<Kept...>, Next, Rest...> : WithoutNone<Of, Sequential<Kept..., Next>, Rest...> {
};
/// A layer under a name; nothing stays nothing.
template <Name Label, class Layer> struct NamedOrNone { using type = Named<Label, Layer>; };
template <Name Label> struct NamedOrNone<Label, void> { using type = void; };

/// The layers in their order: with NormFirst each sum begins with its norm, else the norm follows it.
template <std::int64_t Width, int HeadCount, std::int64_t Feed, class Options> struct TransformerParts {
  using Drop = typename Options::Drop;
  template <class... L> using Sum = Unnumbered<typename WithoutNone<Residual, Sequential<>, L...>::type>;
  using First = Named<"norm1", LayerNorm<Width>>;
  using Second = Named<"norm2", LayerNorm<Width>>;
  using Heeds = Named<"self_attn", Sequential<Unnumbered<AttentionLinear<Width, 3 * Width, true>>,
                                              typename WithoutNone<SelfAttention, Sequential<>, Heads<HeadCount>, typename Options::Mask, Drop>::type,
                                              Named<"out_proj", AttentionLinear<Width, Width, false>>>>;
  using Into = Named<"linear1", Linear<Width, Feed>>;
  using Activates = Named<"activation", typename Options::Activation>;
  using OutOf = Named<"linear2", Linear<Feed, Width>>;
  using Drop1 = typename NamedOrNone<"dropout1", Drop>::type;
  using Inner = typename NamedOrNone<"dropout", Drop>::type;
  using Drop2 = typename NamedOrNone<"dropout2", Drop>::type;
  using Before = Sequential<Sum<First, Heeds, Drop1>, Sum<Second, Into, Activates, Inner, OutOf, Drop2>>;
  using Behind = Sequential<Sum<Heeds, Drop1>, First, Sum<Into, Activates, Inner, OutOf, Drop2>, Second>;
  using type = std::conditional_t<Options::norm_first, Before, Behind>;
};

/// torch.nn.TransformerEncoderLayer(Width, HeadCount, Feed, batch_first=True): attention of all positions to each other, then two linear layers, each
/// added to what it reads. Norms stand behind the sums, or before the parts if NormFirst is named. With Causal no position attends to those behind
/// it, as with the mask of torch.nn.Transformer.generate_square_subsequent_mask. The activation is ReLU, or the one that is named; Dropout<1, 10>
/// drops where PyTorch does, the weights of the attention included; without it nothing is dropped. Names and initial values are those of PyTorch:
/// "self_attn.in_proj_weight", "linear1.weight", "norm2.bias".
///
/// Shape   (..., T, Width) stays as it is
/// Errors  those of Linear, SelfAttention and LayerNorm; G25 what is no option, or one twice
/// Source  sources.md#transformer
/// Tested  graph/transformer_test, golden/transformer_test, equivalence/transformer_test, fail/G25_encoder_with_two_activations
template <std::int64_t Width, int HeadCount, std::int64_t Feed, class... Options>
struct TransformerEncoderLayer : std::conditional_t<TransformerOptions<Options...>::known && TransformerOptions<Options...>::once,
                                                    typename TransformerParts<Width, HeadCount, Feed, TransformerOptions<Options...>>::type,
                                                    Sequential<RefusedTransformer<Options...>>> {};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::NormFirst, graph_room::TransformerEncoderLayer;
}  // namespace heddle
