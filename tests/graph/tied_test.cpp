// SPDX-License-Identifier: MIT
#include "heddle/graph/tied.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/layers/embedding.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/tanh.hpp"
#include "heddle/graph/model_facts.hpp"
#include "heddle/graph/named.hpp"
#include "heddle/graph/repeat.hpp"
#include "heddle/graph/residual.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/trace.hpp"

using namespace heddle;

namespace {

using Square = Linear<8, 8>;
template <class... Layers> constexpr Diagnosis fault_of() { return graph_of<Sequential<Layers...>>.fault; }
template <class Owner> using After = Sequential<Named<"wte", Square>, Tanh, Repeat<2, Square>, Tied<"head", Square, Owner>>;

}  // namespace

TEST_CASE("a tied leaf uses the parameters of the leaf that is named, and these count once") {
  struct Model : After<To<"wte">> {};
  constexpr const Graph& graph = graph_of<Model>;
  static_assert(graph.fault.ok());
  static_assert(graph.tie_count == 1);
  static_assert(graph.nodes[4].tied_to == 0 && graph.owner(4) == 0 && graph.owner(3) == 3);
  static_assert(parameters<Model> == 3 * (8 * 8 + 8));
  static_assert(graph.parameter_count == 4 * 2);  // each use has gradients of its own
  CHECK(graph.parameter_name(4, 1).view() == "head.bias");
}

TEST_CASE("a head that shares the table of a language model saves its size: the parameters of GPT-2 124M are not those of 163M") {
  constexpr std::int64_t words = 50'257;
  constexpr std::int64_t width = 768;
  struct Apart : Sequential<Input<8>, Named<"wte", Embedding<words, width>>, Named<"head", Linear<width, words, NoBias>>> {};
  struct Together : Sequential<Input<8>, Named<"wte", Embedding<words, width>>, Tied<"head", Linear<width, words, NoBias>, To<"wte">>> {};
  static_assert(graph_of<Together>.fault.ok());
  CHECK(parameters<Apart> - parameters<Together> == 38'597'376);  // 50257 x 768
}

TEST_CASE("owners are found by their whole names, tied leaves stand wherever a name may stand") {
  struct Nested : Sequential<Named<"body", Sequential<Square, Named<"wte", Square>>>, Residual<Tied<"again", Square, To<"body.wte">>, Tanh>,
                             Tied<"first", Square, To<"body.0">>> {};
  constexpr const Graph& graph = graph_of<Nested>;
  static_assert(graph.fault.ok());
  static_assert(graph.nodes[2].tied_to == 1 && graph.nodes[5].tied_to == 0);
  CHECK(graph.parameter_name(2, 0).view() == "1.again.weight");
}

TEST_CASE("an owner that is not there, stands later or is a block is refused by its name") {
  constexpr Diagnosis unknown = fault_of<Named<"wte", Square>, Tied<"head", Square, To<"embedding">>>();
  static_assert(unknown.code == Code{'G', 15});
  CHECK(unknown.sentence().view() ==
        "[heddle.G15] 'head' cannot use the parameters of 'embedding': no layer of this name stands before it, outside of Repeat and OneUnit. Fix: "
        "write the "
        "whole name of an earlier layer.");
  static_assert(fault_of<Tied<"head", Square, To<"wte">>, Named<"wte", Square>>().code == Code{'G', 15});
  static_assert(graph_of<After<To<"2.0">>>.fault.code == Code{'G', 15});
  static_assert(graph_of<After<To<"2.*">>>.fault.code == Code{'G', 15});
  static_assert(fault_of<Named<"body", Sequential<Square>>, Tied<"head", Square, To<"body">>>().code == Code{'G', 15});
}

TEST_CASE("a tied leaf is one leaf, once, and its owner has parameters of its own") {
  constexpr Diagnosis repeated = fault_of<Named<"wte", Square>, Repeat<2, Sequential<Tied<"head", Square, To<"wte">>>>>();
  CHECK(repeated.words.view().find("'head' cannot use the parameters of 'wte': it is inside a Repeat") != std::string_view::npos);
  constexpr Diagnosis several = fault_of<Named<"wte", Square>, Tied<"head", Sequential<Square, Tanh>, To<"wte">>>();
  CHECK(several.words.view().find("it has 2 layers, but single layers are tied") != std::string_view::npos);
  constexpr Diagnosis chain = fault_of<Named<"wte", Square>, Tied<"a", Square, To<"wte">>, Tied<"b", Square, To<"a">>>();
  CHECK(chain.sentence().view() ==
        "[heddle.G15] 'b' cannot use the parameters of 'a': that layer uses those of 'wte' itself. Fix: tie both to 'wte'.");
  static_assert(repeated.code == Code{'G', 15} && several.code == Code{'G', 15} && chain.code == Code{'G', 15});
}

TEST_CASE("number and shapes of the parameters agree, and there is at least one") {
  constexpr Diagnosis bias = fault_of<Named<"wte", Square>, Tied<"head", Linear<8, 8, NoBias>, To<"wte">>>();
  CHECK(bias.sentence().view() ==
        "[heddle.G15] 'head' cannot use the parameters of 'wte': Linear<8, 8, NoBias> has weight (8, 8), but Linear<8, 8> has weight (8, 8) and bias "
        "(8). Fix: tie layers whose parameters have equal shapes.");
  constexpr Diagnosis shape = fault_of<Named<"wte", Linear<8, 4>>, Tied<"head", Linear<4, 8>, To<"wte">>>();
  static_assert(bias.code == Code{'G', 15} && shape.code == Code{'G', 15});
  CHECK(fault_of<Square, Named<"t", Tanh>, Tied<"head", Tanh, To<"t">>>().sentence().view() ==
        "[heddle.G15] 'head' cannot use the parameters of 't': Tanh has no parameters. Fix: tie a layer that has some, or write Tanh without Tied.");
  constexpr Diagnosis none = fault_of<Square, Named<"t", Tanh>, Tied<"head", Square, To<"t">>>();
  CHECK(none.words.view().find("Linear<8, 8> has weight (8, 8) and bias (8), but Tanh has no parameters. Fix: tie layers") != std::string_view::npos);
  CHECK(same_parameters(Square::describe(Spec{Shape{8}}), Square::describe(Spec{Shape{3, 8}})));
}

TEST_CASE("names of tied leaves follow the rules of names") {
  static_assert(fault_of<Named<"wte", Square>, Tied<"wte", Square, To<"wte">>>().code == Code{'G', 4});
  static_assert(fault_of<Named<"wte", Square>, Tied<"a.b", Square, To<"wte">>>().code == Code{'G', 4});
  CHECK(label_of<Tied<"head", Square, To<"wte">>>() == "head");
}
