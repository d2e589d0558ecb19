// SPDX-License-Identifier: MIT
#include "heddle/graph/trace.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/model_facts.hpp"
#include "heddle/graph/named.hpp"
#include "heddle/graph/repeat.hpp"
#include "heddle/graph/residual.hpp"
#include "heddle/graph/sequential.hpp"

using namespace heddle;

namespace {

struct Mnist : Sequential<Named<"linear1", Linear<28 * 28, 50>>, ReLU, Named<"linear2", Linear<50, 10>>> {};
struct NoLayer {};

}  // namespace

static_assert(parameters<Mnist> == 39'760);
static_assert(graph_of<Mnist>.fault.ok());
static_assert(graph_of<Mnist>.output() == Spec{Shape{10}});

TEST_CASE("a traced model knows its name, its input, its parameters and its work") {
  constexpr const Graph& graph = graph_of<Mnist>;
  CHECK(graph.model.view() == "Mnist");
  CHECK(graph.input == Spec{Shape{784}});
  CHECK(graph.parameter_count == 4);
  CHECK(graph.nodes[2].first_parameter == 2);
  CHECK(graph.parameter_elements() == 784 * 50 + 50 + 50 * 10 + 10);
  CHECK(graph.flops(0) == 4 * 784 * 50 + 2 * 50);  // no gradient of the images
  CHECK(graph.flops(2) == 6 * 50 * 10 + 2 * 10);
  CHECK(graph.work(0, 0, 0).input_gradient == 0);
  CHECK(graph.work(2).input_gradient == 2 * 50 * 10);
}

TEST_CASE("every node takes values that were made before it") {
  constexpr const Graph& graph = graph_of<Sequential<Linear<8, 4>, Repeat<3, Residual<Linear<4, 4>, Residual<ReLU>>>, Linear<4, 2>>>;
  static_assert(graph.fault.ok());
  for (int n = 0; n < graph.node_count; ++n)
    for (int k = 0; k < graph.nodes[n].operand_count; ++k) CHECK(graph.nodes[n].operands[k] <= n);
}

TEST_CASE("no two parameters of a model have one name") {
  constexpr const Graph& graph = graph_of<
      Sequential<Linear<8, 4>, Named<"h", Repeat<3, Residual<Linear<4, 4>, Named<"up", Linear<4, 4>>>>>, Sequential<Linear<4, 4>>, Linear<4, 2>>>;
  static_assert(graph.fault.ok());
  int compared = 0;
  for (int a = 0; a < graph.node_count; ++a)
    for (int b = 0; b < a; ++b)
      for (int p = 0; p < graph.nodes[a].parameter_count; ++p)
        for (int q = 0; q < graph.nodes[b].parameter_count; ++q, ++compared) CHECK_FALSE(graph.parameter_name(a, p) == graph.parameter_name(b, q));
  CHECK(compared > 100);
}

TEST_CASE("features that do not chain are blamed on the layer, by number and name") {
  constexpr Diagnosis found = graph_of<Sequential<Linear<784, 50>, ReLU, Named<"linear2", Linear<500, 10>>>>.fault;
  static_assert(found.code == Code{'G', 1});
  static_assert(found.numbers[0] == 500 && found.numbers[1] == 50);
  CHECK(found.sentence().view() ==
        "[heddle.G01] layer 2 'linear2': Linear<500, 10> takes 500 features but the value before it has 50. Fix: write Linear<50, 10>.");
}

TEST_CASE("of several faults the first is told") {
  constexpr Diagnosis found = graph_of<Sequential<Linear<8, 4>, Linear<5, 3>, Linear<9, 0>>>.fault;
  static_assert(found.code == Code{'G', 1});
  CHECK(found.words.view().find("layer 1 '1'") != std::string_view::npos);
}

TEST_CASE("sizes of nothing are refused") {
  static_assert(graph_of<Sequential<Linear<0, 4>>>.fault.code == Code{'G', 6});
  CHECK(graph_of<Sequential<Linear<8, 0>>>.fault.code == Code{'G', 6});
}

TEST_CASE("a model that begins with a layer of any shape needs an Input") {
  constexpr Diagnosis found = graph_of<Sequential<ReLU, Linear<8, 4>>>.fault;
  static_assert(found.code == Code{'G', 10});
  CHECK(found.words.view().find("its first layer ReLU takes any shape. Fix: begin the model with Input<sizes...>.") != std::string_view::npos);
  constexpr const Graph& repaired = graph_of<Sequential<Input<2, 4>, Flatten, ReLU, Linear<8, 4>>>;
  static_assert(repaired.fault.ok() && repaired.input == Spec{Shape{2, 4}} && repaired.spec(2) == Spec{Shape{8}});
}

TEST_CASE("a model without layers takes nothing that is known") {
  constexpr Diagnosis found = graph_of<Sequential<>>.fault;
  CHECK(found.sentence().view() ==
        "[heddle.G10] the input shape of the model is not known: Sequential<> has no layer that takes one. Fix: begin the model with "
        "Input<sizes...>, and write its layers.");
  static_assert(graph_of<Sequential<Residual<>, Sequential<>>>.fault.code == Code{'G', 10});
  static_assert(graph_of<Sequential<Input<4>>>.fault.ok());
}

TEST_CASE("a type that is no layer is found however deep it stands") {
  static_assert(graph_of<Sequential<Linear<8, 4>, NoLayer>>.fault.code == Code{'G', 5});
  static_assert(graph_of<Sequential<Linear<8, 4>, Repeat<2, Residual<Named<"x", NoLayer>>>>>.fault.code == Code{'G', 5});
  static_assert(graph_of<NoLayer>.fault.code == Code{'G', 5});
  CHECK(graph_of<Sequential<Linear<8, 4>, NoLayer>>.fault.words.view().find("NoLayer is no layer") != std::string_view::npos);
}

TEST_CASE("leaves of one type are the same type wherever they stand") {
  constexpr const Graph& graph = graph_of<Sequential<Linear<8, 8>, ReLU, Named<"again", Linear<8, 8>>, Residual<ReLU>>>;
  CHECK(graph.leaves[0].type == graph.leaves[2].type);
  CHECK(graph.leaves[0].type != graph.leaves[1].type);
  CHECK(graph.leaves[4].type == type_id<Add>());
}
