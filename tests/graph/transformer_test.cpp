// SPDX-License-Identifier: MIT
#include "heddle/graph/transformer.hpp"

#include <doctest/doctest.h>

#include <string>
#include <tuple>
#include <type_traits>

#include "heddle/graph/layers/dropout.hpp"
#include "heddle/graph/layers/gelu.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/layers/tanh.hpp"
#include "heddle/graph/model_facts.hpp"
#include "heddle/graph/repeat.hpp"
#include "heddle/graph/trace.hpp"

using namespace heddle;
using graph_room::graph_of;

namespace {

using Encoder = TransformerEncoderLayer<64, 8, 256>;
template <class Layer> struct Model : Sequential<Input<6, 64>, Named<"layer", Layer>> {};

template <class Layer> std::string leaves() {
  constexpr const Graph& graph = graph_of<Model<Layer>>;
  std::string all;
  for (int n = 1; n < graph.node_count; ++n) {
    const std::string name{graph.name(n).view()};
    all += name.substr(name.find('.') + 1) + ' ' + std::string{graph.leaf(n).kind.view()} + ", ";
  }
  return all;
}

}  // namespace

TEST_CASE("parameters have the names, the shapes and the number of torch.nn.TransformerEncoderLayer") {
  static_assert(parameters<Model<Encoder>> == 3 * 64 * 64 + 3 * 64 + 64 * 64 + 64 + 64 * 256 + 256 + 256 * 64 + 64 + 4 * 64);
  static_assert(parameter_shape<Model<Encoder>, "layer.self_attn.in_proj_weight"> == Shape(192, 64));
  static_assert(parameter_shape<Model<Encoder>, "layer.self_attn.in_proj_bias"> == Shape(192));
  static_assert(parameter_shape<Model<Encoder>, "layer.self_attn.out_proj.weight"> == Shape(64, 64));
  static_assert(parameter_shape<Model<Encoder>, "layer.linear1.weight"> == Shape(256, 64));
  static_assert(parameter_shape<Model<Encoder>, "layer.linear2.bias"> == Shape(64));
  static_assert(parameter_shape<Model<Encoder>, "layer.norm1.weight"> == Shape(64) &&
                parameter_shape<Model<Encoder>, "layer.norm2.bias"> == Shape(64));
}

TEST_CASE("the layers stand in the order of PyTorch, with norms behind the sums or before the parts, and with dropout if it is named") {
  CHECK(leaves<Encoder>() ==
        "self_attn Linear, self_attn.1 SelfAttention, self_attn.out_proj Linear, layer Add, norm1 LayerNorm, linear1 Linear, activation ReLU, "
        "linear2 Linear, layer Add, norm2 LayerNorm, ");
  CHECK(leaves<TransformerEncoderLayer<64, 8, 256, NormFirst, Dropout<1, 10>, GELU>>() ==
        "norm1 LayerNorm, self_attn Linear, self_attn.1 SelfAttention, self_attn.out_proj Linear, dropout1 Dropout, layer Add, norm2 LayerNorm, "
        "linear1 Linear, activation GELU, dropout Dropout, linear2 Linear, dropout2 Dropout, layer Add, ");
}

TEST_CASE("projections start as those of MultiheadAttention") {
  constexpr const Graph& graph = graph_of<Model<Encoder>>;
  constexpr Leaf packed = graph.leaf(1), out = graph.leaf(3), feed = graph.leaf(6);
  static_assert(packed.parameters[0].initial == graph_room::Initial::uniform_fan_in_and_out && packed.parameters[0].fan_in == 64 + 192);
  static_assert(packed.parameters[1].initial == graph_room::Initial::zeros && out.parameters[1].initial == graph_room::Initial::zeros);
  static_assert(out.parameters[0].initial == graph_room::Initial::uniform_fan_in && out.parameters[0].name.view() == "weight");
  static_assert(feed.parameters[1].initial == graph_room::Initial::uniform_fan_in);
}

TEST_CASE("many of them are a Repeat, and a width that heads do not divide is refused where it stands") {
  struct Many : Sequential<Input<6, 64>, Named<"layers", Repeat<12, Encoder>>> {};
  static_assert(parameters<Many> == 12 * parameters<Model<Encoder>>);
  static_assert(parameter_shape<Many, "layers.11.norm2.weight"> == Shape(64));
  constexpr Diagnosis fault = graph_of<Model<TransformerEncoderLayer<64, 7, 256>>>.fault;
  static_assert(!fault.ok());
  CHECK(fault.sentence().view().find("SelfAttention<Heads<7>>") != std::string_view::npos);
}

TEST_CASE("Causal is an option of the attention, and what is no option, or one twice, is refused: nothing is dropped silently") {
  CHECK(leaves<TransformerEncoderLayer<64, 8, 256, Causal>>() == leaves<Encoder>());
  constexpr Leaf causal = graph_of<Model<TransformerEncoderLayer<64, 8, 256, GELU, Causal, Dropout<1, 10>>>>.leaf(2);
  CHECK(causal.spelled.view() == "SelfAttention<Heads<8>, Causal, Dropout<1, 10>>");
  const auto fault = []<class... Options>(std::type_identity<std::tuple<Options...>>) {
    return std::string{graph_of<Model<TransformerEncoderLayer<64, 8, 256, Options...>>>.fault.sentence().view()};
  };
  const std::string remedy = ". Fix: name NormFirst, Causal, Dropout<1, 10> and one activation such as GELU, some of them, once each.";
  CHECK(fault(std::type_identity<std::tuple<GELU, Tanh>>{}) ==
        "[heddle.G25] layer 1 'layer.0': TransformerEncoderLayer<..., GELU, Tanh> names an option twice" + remedy);
  CHECK(fault(std::type_identity<std::tuple<Dropout<1, 10>, Dropout<1, 2>>>{}).find(" names an option twice") != std::string::npos);
  CHECK(fault(std::type_identity<std::tuple<NormFirst, NormFirst>>{}).find(" names an option twice") != std::string::npos);
  CHECK(fault(std::type_identity<std::tuple<GELU, int>>{}) ==
        "[heddle.G25] layer 1 'layer.0': TransformerEncoderLayer<..., GELU, int> names what is no option of it" + remedy);
  CHECK(fault(std::type_identity<std::tuple<Heads<4>>>{}).find(" names what is no option of it") != std::string::npos);
  CHECK(fault(std::type_identity<std::tuple<GELU, NoBias>>{}).find(" names what is no option of it") != std::string::npos);
}
