// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/values.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/input.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

constexpr Layout cut_at(const Graph& graph, std::initializer_list<int> begins) {
  Layout layout{graph};
  layout.chunk_count = 0;
  for (const int b : begins) {
    layout.device_of_chunk[layout.chunk_count] = layout.chunk_count;
    layout.first_node[layout.chunk_count++] = b;
  }
  layout.first_node[layout.chunk_count] = graph.node_count;
  return layout;
}

std::vector<std::vector<int>> edges_of(const Graph& graph, const Layout& layout) {
  std::vector<std::vector<int>> edges;
  each_cut_edge(graph, layout, [&](const CutEdge& e) { edges.push_back({e.value, e.from_chunk, e.to_chunk}); });
  return edges;
}

}  // namespace

// Chain: 0 input, 1 Linear, 2 ReLU, 3 Linear, 4 Tanh, 5 Linear.
TEST_CASE("an elementwise leaf writes in place where nobody reads its input again") {
  constexpr const Graph& graph = graph_of<Chain>;
  constexpr auto facts = study_values<graph.node_count>(graph, cut_at(graph, {0}), true);
  static_assert(facts.root[2] == 1 && facts.root[4] == 3);
  static_assert(facts.root[1] == 1 && facts.root[3] == 3 && facts.root[5] == 5);
  static_assert(facts.saved(0) && facts.saved(1) && facts.saved(2) && facts.saved(4));
  CHECK_FALSE(facts.saved(5));  // only the loss reads it, in the same pass
}

// Skips: 1 Linear, Residual of 2 Linear, 3 GELU, 4 Linear and 5 sum, 6 Tanh, Residual of 7, 8, 9 and 10, 11 Linear.
TEST_CASE("a leaf whose input is read again, by itself or by a skip edge, keeps it") {
  constexpr const Graph& graph = graph_of<Skips>;
  constexpr auto facts = study_values<graph.node_count>(graph, cut_at(graph, {0}), true);
  static_assert(facts.consumers[1] == 2 && facts.consumers[2] == 1);
  static_assert(facts.root[3] == 3);  // GELU saves its input
  static_assert(facts.root[6] == 5);  // Tanh saves its output: the sum may be overwritten
  static_assert(facts.saved(1) && facts.saved(2) && facts.saved(3));
  static_assert(!facts.saved(4));  // read by the sum alone
  static_assert(facts.saved(10));  // the input of the last Linear
  CHECK_FALSE(facts.saved(11));
}

TEST_CASE("a value with two readers is not overwritten by the first") {
  constexpr const Graph& graph = graph_of<Sequential<Linear<4, 4>, Residual<ReLU>>>;
  constexpr auto facts = study_values<graph.node_count>(graph, cut_at(graph, {0}), true);
  static_assert(facts.consumers[1] == 2);
  static_assert(facts.root[2] == 2);
  CHECK(facts.root[1] == 1);
}

TEST_CASE("reshapes share their input, but not the input of the model") {
  constexpr const Graph& graph = graph_of<Sequential<Input<2, 4>, Flatten, Linear<8, 4>, Flatten>>;
  constexpr auto facts = study_values<graph.node_count>(graph, cut_at(graph, {0}), true);
  CHECK(facts.root[2] == facts.root[1]);
  CHECK(facts.root[4] == facts.root[3]);
}

TEST_CASE("in evaluation nothing is kept but what leaves its chunk") {
  constexpr const Graph& graph = graph_of<Skips>;
  constexpr auto alone = study_values<graph.node_count>(graph, cut_at(graph, {0}), false);
  for (int v = 0; v <= graph.node_count; ++v) CHECK_FALSE(alone.saved(v));
  constexpr auto cut = study_values<graph.node_count>(graph, cut_at(graph, {0, 5}), false);
  static_assert(cut.saved(5));
  CHECK_FALSE(cut.saved(3));
}

TEST_CASE("one value crosses a clean cut, and is kept on the side that makes it") {
  constexpr const Graph& graph = graph_of<Chain>;
  constexpr Layout layout = cut_at(graph, {0, 2, 4});
  CHECK(edges_of(graph, layout) == std::vector<std::vector<int>>{{2, 0, 1}, {4, 1, 2}});
  constexpr auto facts = study_values<graph.node_count>(graph, layout, true);
  CHECK(facts.saved(2));
  CHECK(facts.saved(4));
}

TEST_CASE("an elementwise leaf at the begin of a chunk does not write over what was received") {
  constexpr const Graph& graph = graph_of<Chain>;
  constexpr auto facts = study_values<graph.node_count>(graph, cut_at(graph, {0, 1}), true);
  static_assert(facts.root[2] == 2);
  CHECK(facts.saved(1));  // it is sent
}

TEST_CASE("a cut through a skip connection has an edge for each value and each chunk that takes it") {
  constexpr const Graph& graph = graph_of<Skips>;
  CHECK(edges_of(graph, cut_at(graph, {0, 3})) == std::vector<std::vector<int>>{{3, 0, 1}, {1, 0, 1}});
  CHECK(edges_of(graph, cut_at(graph, {0, 2, 4})) == std::vector<std::vector<int>>{{2, 0, 1}, {4, 1, 2}, {1, 0, 2}});
  CHECK(edges_of(graph, cut_at(graph, {0})).empty());
}

namespace {

struct NestedSums : Sequential<Linear<8, 4>, Residual<Residual<Linear<4, 4>>, Tanh>, Linear<4, 2>> {};
// Nodes: 0 Linear, 1 Linear, 2 inner sum, 3 Tanh, 4 outer sum, 5 Linear; value 1 is read by 1, 2 and 4.
static_assert(graph_of<NestedSums>.node_count == 6);

}  // namespace

TEST_CASE("a stage that reads a value twice before a later stage reads it brackets its gradient anew") {
  const Graph& graph = graph_of<NestedSums>;
  CHECK(regroups_a_gradient(graph, cut_at(graph, {0, 1, 3, 5})));        // 1 and 2 are read in one stage, 4 in the next
  CHECK_FALSE(regroups_a_gradient(graph, cut_at(graph, {0, 1, 2, 3})));  // each stage reads it once
  CHECK_FALSE(regroups_a_gradient(graph, cut_at(graph, {0, 2, 5})));     // the last stage that reads it may add its own terms
  CHECK_FALSE(regroups_a_gradient(graph, cut_at(graph, {0, 3})));        // the producer adds its own terms one by one
}
