// SPDX-License-Identifier: MIT
#include "heddle/graph/residual.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/named.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/trace.hpp"

using namespace heddle;

TEST_CASE("a Residual ends with the sum of its input and what its layers give") {
  constexpr const Graph& graph = graph_of<Sequential<Linear<8, 4>, Residual<Linear<4, 6>, ReLU, Linear<6, 4>>>>;
  static_assert(graph.fault.ok() && graph.node_count == 5);
  static_assert(graph.adds(4) && !graph.adds(3));
  static_assert(graph.nodes[4].operand_count == 2);
  CHECK(graph.nodes[4].operands[0] == 4);  // what the layers inside give
  CHECK(graph.nodes[4].operands[1] == 1);  // the input: what Linear<8, 4> gives
  CHECK(graph.spec(5) == Spec{Shape{4}});
  CHECK(graph.leaf(4).forward_flops == 4);
  CHECK(graph.nodes[4].parameter_count == 0);
}

TEST_CASE("children of a Residual are numbered as in a Sequential and may be named") {
  constexpr const Graph& graph = graph_of<Sequential<Linear<8, 4>, Named<"block", Residual<Named<"up", Linear<4, 6>>, ReLU, Linear<6, 4>>>>>;
  static_assert(graph.fault.ok());
  CHECK(graph.parameter_name(1, 0).view() == "block.up.weight");
  CHECK(graph.parameter_name(3, 0).view() == "block.2.weight");
}

TEST_CASE("a Residual may begin the model and may stand in another") {
  constexpr const Graph& graph = graph_of<Residual<Linear<4, 4>, Residual<ReLU>>>;
  static_assert(graph.fault.ok() && graph.node_count == 4);
  CHECK(graph.nodes[2].operands[0] == 2);
  CHECK(graph.nodes[2].operands[1] == 1);
  CHECK(graph.nodes[3].operands[0] == 3);
  CHECK(graph.nodes[3].operands[1] == 0);  // the input of the model
}

TEST_CASE("a Residual whose layers give another shape is refused with both, and its repaired twin is not") {
  constexpr Diagnosis found = graph_of<Sequential<Linear<8, 4>, Residual<Linear<4, 6>>>>.fault;
  static_assert(found.code == Code{'G', 2});
  CHECK(found.words.view().find("the Residual in '1' takes (4) but its layers give (6)") != std::string_view::npos);
  constexpr Diagnosis repaired = graph_of<Sequential<Linear<8, 4>, Residual<Linear<4, 4>>>>.fault;
  static_assert(repaired.ok());
}
