// SPDX-License-Identifier: MIT
#include "heddle/graph/sequential.hpp"

#include <doctest/doctest.h>

#include <utility>

#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/trace.hpp"

using namespace heddle;

TEST_CASE("layers run one after another and are numbered as in torch.nn.Sequential") {
  constexpr const Graph& graph = graph_of<Sequential<Linear<8, 4>, ReLU, Linear<4, 2>>>;
  static_assert(graph.fault.ok());
  static_assert(graph.node_count == 3 && graph.leaf_count == 3);
  static_assert(graph.input == Spec{Shape{8}} && graph.output() == Spec{Shape{2}});
  for (int n = 0; n < 3; ++n) {
    CHECK(graph.nodes[n].operand_count == 1);
    CHECK(graph.nodes[n].operands[0] == n);
  }
  CHECK(graph.parameter_name(0, 0).view() == "0.weight");
  CHECK(graph.parameter_name(2, 1).view() == "2.bias");
}

TEST_CASE("a Sequential inside a Sequential numbers its own children, the outer one goes on counting") {
  constexpr const Graph& graph = graph_of<Sequential<Sequential<Linear<8, 4>, ReLU>, Sequential<ReLU, Sequential<Linear<4, 2>>>, Linear<2, 2>>>;
  static_assert(graph.fault.ok() && graph.node_count == 5);
  CHECK(graph.name(0).view() == "0.0");
  CHECK(graph.name(1).view() == "0.1");
  CHECK(graph.name(3).view() == "1.1.0");
  CHECK(graph.name(4).view() == "2");
}

TEST_CASE("nesting changes names but neither order nor arithmetic") {
  constexpr const Graph& flat = graph_of<Sequential<Linear<8, 4>, ReLU, Linear<4, 2>>>;
  constexpr const Graph& nested = graph_of<Sequential<Sequential<Linear<8, 4>>, Sequential<Sequential<>, ReLU, Linear<4, 2>>>>;
  REQUIRE(flat.node_count == nested.node_count);
  for (int n = 0; n < flat.node_count; ++n) {
    CHECK(flat.leaf(n).spelled == nested.leaf(n).spelled);
    CHECK(flat.nodes[n].operands[0] == nested.nodes[n].operands[0]);
    CHECK(flat.flops(n) == nested.flops(n));
  }
}

namespace {

template <int> using Same = Linear<8, 8>;
template <class Numbers> struct Long;
template <int... Numbers> struct Long<std::integer_sequence<int, Numbers...>> : Sequential<Same<Numbers>...> {};

}  // namespace

TEST_CASE("a Sequential may have more children than a compiler folds") {
  constexpr const Graph& graph = graph_of<Long<std::make_integer_sequence<int, 600>>>;
  static_assert(graph.fault.ok() && graph.node_count == 600);
  CHECK(graph.parameter_name(599, 1).view() == "599.bias");
}
