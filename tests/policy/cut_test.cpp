// SPDX-License-Identifier: MIT
#include "heddle/policy/cut.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/gelu.hpp"
#include "heddle/graph/layers/input.hpp"
#include "policy/models.hpp"

using namespace heddle;

namespace {

/// True if some node at or after the boundary takes a value made before it, other than the last one; the input of the model counts.
bool crosses_a_skip_edge(const Graph& graph, int boundary) {
  for (int n = boundary; n < graph.node_count; ++n)
    for (int k = 0; k < graph.nodes[n].operand_count; ++k)
      if (graph.nodes[n].operands[k] < boundary) return true;
  return false;
}

/// What training runs of nodes first to end - 1 as one chunk.
std::int64_t flops_of_chunk(const Graph& graph, int first, int end) {
  std::int64_t flops = 0;
  for (int n = first; n < end; ++n) flops += graph.work(n, graph.last_untrained(), first).total();
  return flops;
}

/// Least possible flops of the slowest chunk over all ways to cut at clean boundaries; -1 if there is no way.
std::int64_t best_of_all(const Graph& graph, int first, int chunks) {
  if (chunks == 1) return first < graph.node_count ? flops_of_chunk(graph, first, graph.node_count) : -1;
  std::int64_t best = -1;
  for (int end = first + 1; end < graph.node_count; ++end) {
    const std::int64_t flops = flops_of_chunk(graph, first, end);
    if (crosses_a_skip_edge(graph, end)) continue;
    const std::int64_t rest = best_of_all(graph, end, chunks - 1);
    if (rest < 0) continue;
    const std::int64_t slowest = std::max(flops, rest);
    if (best < 0 || slowest < best) best = slowest;
  }
  return best;
}

template <class Model> int compare_with_all_cuts() {
  constexpr const Graph& graph = graph_of<Model>;
  static_assert(graph.fault.ok());
  int compared = 0;
  for (int chunks = 1; chunks <= graph.node_count + 1; ++chunks) {
    CAPTURE(chunks);
    Layout layout{graph};
    cut_balanced<64>(graph, layout, chunks);
    const std::int64_t best = best_of_all(graph, 0, chunks);
    CHECK(layout.fault.ok() == (best >= 0));
    if (!layout.fault.ok()) {
      CHECK(layout.fault.code == Code{'M', 3});
      continue;
    }
    CHECK(layout.first_node[0] == 0);
    CHECK(layout.first_node[chunks] == graph.node_count);
    std::int64_t slowest = 0;
    for (int c = 0; c < chunks; ++c) {
      CHECK(layout.first_node[c] < layout.first_node[c + 1]);
      if (c > 0) CHECK_FALSE(crosses_a_skip_edge(graph, layout.first_node[c]));
      slowest = std::max(slowest, flops_of_chunk(graph, layout.first_node[c], layout.first_node[c + 1]));
    }
    CHECK(slowest == best);
    ++compared;
  }
  return compared;
}

using Block = Residual<Linear<6, 9>, Tanh, Linear<9, 6>>;

}  // namespace

TEST_CASE("the balanced cut is the best of all cuts between which one value passes") {
  CHECK(compare_with_all_cuts<tests::Chain>() == 5);
  CHECK(compare_with_all_cuts<Sequential<Linear<64, 3>, Linear<3, 3>, Linear<3, 3>, Linear<3, 3>, Linear<3, 64>>>() == 5);
  CHECK(compare_with_all_cuts<Sequential<Linear<3, 3>, Linear<3, 3>, Linear<3, 3>, Linear<3, 64>, ReLU>>() == 5);
  CHECK(compare_with_all_cuts<Sequential<Linear<2, 90>, ReLU, Linear<90, 2>, Linear<2, 50>, Tanh, Linear<50, 2>, ReLU, Linear<2, 2>>>() == 8);
}

TEST_CASE("the cut counts no gradient of the input of the first layer with parameters, unless a chunk begins with it") {
  using Square = Linear<64, 64, NoBias>;
  CHECK(compare_with_all_cuts<Repeat<5, Square>>() == 5);
  constexpr std::int64_t product = 2 * 64 * 64;
  constexpr const Graph& graph = graph_of<Repeat<5, Square>>;
  static_assert(graph.flops(0) == 2 * product && graph.flops(1) == 3 * product);
  Layout layout{graph};
  cut_balanced<64>(graph, layout, 2);
  CHECK(layout.first_node[1] == 3);  // 2 + 3 + 3 before the cut, 3 + 3 behind it; with 3 for the first as well it could be either
  CHECK(compare_with_all_cuts<Sequential<Input<64>, Repeat<3, Square>>>() == 4);
  CHECK(compare_with_all_cuts<Sequential<Input<8, 8>, Flatten, Square, ReLU, Linear<64, 9>>>() == 5);
  // Layers before the first parameter have a forward alone; GELU over 4000 elements is as much as a product by 4.
  CHECK(compare_with_all_cuts<Sequential<Input<4000>, GELU, Linear<4000, 2>, GELU, Linear<2, 900>, Linear<900, 20>>>() == 6);
  CHECK(compare_with_all_cuts<Sequential<Input<4000>, GELU, GELU, Linear<4000, 3>, Linear<3, 4000>, GELU>>() == 6);
  CHECK(compare_with_all_cuts<Sequential<Input<6>, Tanh, Block, Linear<6, 3>>>() == 4);
}

TEST_CASE("a cut never crosses a skip edge") {
  CHECK(compare_with_all_cuts<Sequential<Linear<8, 6>, Block, Block, Linear<6, 3>>>() == 4);
  CHECK(compare_with_all_cuts<Sequential<Linear<8, 6>, Residual<Linear<6, 6>, Residual<Tanh>, Linear<6, 6>>, Tanh, Repeat<2, Block>>>() == 5);
  CHECK(compare_with_all_cuts<Residual<Linear<6, 6>, Tanh, Linear<6, 6>>>() == 1);  // the input itself skips
}

TEST_CASE("a boundary is clean where one value passes") {
  constexpr const Graph& graph = graph_of<Sequential<Linear<8, 6>, Block, Linear<6, 3>>>;
  const bool clean[] = {true, true, false, false, false, true};
  for (int b = 1; b <= 5; ++b) CHECK(clean_boundary(graph, b) == clean[b]);
}

TEST_CASE("a part is found in the model by the types of its leaves, names and nesting aside") {
  constexpr auto part = types_of<Sequential<Named<"x", Linear<8, 6>>, Repeat<2, Residual<ReLU>>>>();
  static_assert(part.count == 5);
  CHECK(part.types[0] == type_id<Linear<8, 6>>());
  CHECK(part.types[1] == type_id<ReLU>());
  CHECK(part.types[2] == type_id<Add>());
  CHECK(part.types[3] == type_id<ReLU>());
}

TEST_CASE("parts are placed one after another and the first that does not fit is refused") {
  constexpr const Graph& graph = graph_of<tests::Chain>;
  Layout layout{graph};
  CHECK(place_part<tests::Part1>(graph, layout, 0, 0) == 2);
  CHECK(place_part<tests::Part2>(graph, layout, 1, 2) == 3);
  CHECK(layout.fault.ok());
  CHECK(layout.first_node[2] == 3);
  place_part<tests::Part2>(graph, layout, 2, 3);
  CHECK(layout.fault.code == Code{'S', 1});
}

TEST_CASE("a model with more layers than the cut has room for is refused") {
  constexpr const Graph& graph = graph_of<Sequential<Linear<8, 8>, ReLU, Linear<8, 4>>>;
  Layout layout{graph};
  cut_balanced<2>(graph, layout, 2);
  CHECK(layout.fault.code == Code{'M', 3});
  CHECK(layout.fault.words.view().find("has 3 layers, but Balanced cuts at most 2") != std::string_view::npos);
}

TEST_CASE("as many stages as a layout has room for are cut, and one more is refused") {
  constexpr const Graph& graph = graph_of<Sequential<Repeat<70, Linear<8, 8>>>>;
  Layout most{graph}, more{graph};
  cut_balanced<128>(graph, most, Layout::most_chunks);
  CHECK(most.fault.ok());
  CHECK(most.first_node[Layout::most_chunks] == 70);
  cut_balanced<128>(graph, more, Layout::most_chunks + 1);
  CHECK(more.fault.words.view().find("a balanced cut into 65 needs 64 cuts") != std::string_view::npos);
  CHECK(more.fault.words.view().find("Fix: ask for at most 64 stages.") != std::string_view::npos);
}
