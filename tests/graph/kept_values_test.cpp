// SPDX-License-Identifier: MIT
#include "heddle/graph/kept_values.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/graph_check.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using extending::ElementType;

namespace {
struct Pictures : Sequential<Input<4, 4>, Rescaling<>, Flatten, Linear<16, 8>, LayerNorm<8>, Residual<Linear<8, 8>>> {};
constexpr const Graph& kept = graph_room::KeptValues<Pictures, ElementType::bfloat16>::graph;
constexpr const Graph& plain = graph_room::KeptValues<Pictures, ElementType::float32>::graph;
}  // namespace

TEST_CASE("floats that layers take and give become bfloat16; bytes, shapes, statistics and parameters stay") {
  CHECK(&plain == &graph_room::graph_of<Pictures>);
  CHECK(plain.values == ElementType::float32);
  CHECK(kept.values == ElementType::bfloat16);
  CHECK(kept.input.type == ElementType::uint8);
  for (int n = 0; n < kept.node_count; ++n) {
    const auto& is = kept.leaf(n);
    const auto& was = plain.leaf(n);
    CHECK(is.in.type == (was.in.type == ElementType::float32 ? ElementType::bfloat16 : was.in.type));
    CHECK(is.out.type == (was.out.type == ElementType::float32 ? ElementType::bfloat16 : was.out.type));
    CHECK(is.in.shape == was.in.shape);
    CHECK(is.statistics == was.statistics);
    CHECK(is.parameter_count == was.parameter_count);
    CHECK(kept.spec(n + 1).type == is.out.type);
  }
}

TEST_CASE("a graph of bfloat16 is sound, one that mixes it with float32 is refused") {
  CHECK(graph_room::check_graph(kept).ok());
  Graph mixed = kept;
  mixed.values = ElementType::float32;
  CHECK(std::string{graph_room::check_graph(mixed).sentence().view()}.find("[heddle.G27]") != std::string::npos);
}
