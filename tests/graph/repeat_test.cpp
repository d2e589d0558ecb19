// SPDX-License-Identifier: MIT
#include "heddle/graph/repeat.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/model_facts.hpp"
#include "heddle/graph/named.hpp"
#include "heddle/graph/residual.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/trace.hpp"

using namespace heddle;

namespace {

using Block = Residual<Linear<4, 6>, ReLU, Linear<6, 4>>;
using WrittenOut = Sequential<Linear<8, 4>, Sequential<Block, Block, Block>, Linear<4, 2>>;
using Repeated = Sequential<Linear<8, 4>, Repeat<3, Block>, Linear<4, 2>>;

}  // namespace

TEST_CASE("a Repeat is its block written out, with the same names, operands and parameters") {
  constexpr const Graph& a = graph_of<WrittenOut>;
  constexpr const Graph& b = graph_of<Repeated>;
  static_assert(a.fault.ok() && b.fault.ok());
  static_assert(a.node_count == 14 && b.node_count == 14);
  static_assert(a.parameter_count == b.parameter_count && parameters<WrittenOut> == parameters<Repeated>);
  for (int n = 0; n < a.node_count; ++n) {
    CAPTURE(n);
    CHECK(a.name(n) == b.name(n));
    CHECK(a.leaf(n).spelled == b.leaf(n).spelled);
    CHECK(a.nodes[n].operand_count == b.nodes[n].operand_count);
    for (int k = 0; k < a.nodes[n].operand_count; ++k) CHECK(a.nodes[n].operands[k] == b.nodes[n].operands[k]);
    CHECK(a.nodes[n].first_parameter == b.nodes[n].first_parameter);
  }
}

TEST_CASE("a block is described once, however often it runs") {
  static_assert(graph_of<Repeated>.leaf_count == 6);
  static_assert(graph_of<Sequential<Linear<8, 4>, Repeat<100, Block>, Linear<4, 2>>>.leaf_count == 6);
  CHECK(graph_of<Sequential<Linear<8, 4>, Repeat<100, Block>, Linear<4, 2>>>.node_count == 402);
}

TEST_CASE("nested repeats number each level") {
  using Inner = Named<"inner", Repeat<3, Sequential<Linear<4, 4>, ReLU>>>;
  using Model = Sequential<Linear<8, 4>, Named<"outer", Repeat<2, Sequential<Inner, Linear<4, 4>>>>>;
  constexpr const Graph& graph = graph_of<Model>;
  static_assert(graph.fault.ok() && graph.node_count == 1 + 2 * (3 * 2 + 1));
  static_assert(graph.leaf_count == 4);
  CHECK(graph.parameter_name(1, 0).view() == "outer.0.inner.0.0.weight");
  CHECK(graph.parameter_name(5, 1).view() == "outer.0.inner.2.0.bias");
  CHECK(graph.parameter_name(7, 0).view() == "outer.0.1.weight");
  CHECK(graph.parameter_name(12, 0).view() == "outer.1.inner.2.0.weight");
  CHECK(graph.parameter_name(14, 0).view() == "outer.1.1.weight");
  for (int n = 0; n < graph.node_count; ++n) CHECK(graph.nodes[n].operands[0] == n);
}

TEST_CASE("each repetition of the outermost Repeat is a block of its own") {
  constexpr const Graph& graph =
      graph_of<Sequential<Repeat<2, Sequential<Linear<4, 4>, Repeat<2, Linear<4, 4>>>>, Linear<4, 4>, Repeat<1, Linear<4, 4>>>>;
  static_assert(graph.fault.ok() && graph.node_count == 8);
  const int blocks[] = {0, 0, 0, 1, 1, 1, -1, 2};
  for (int n = 0; n < 8; ++n) CHECK(graph.nodes[n].block == blocks[n]);
}

TEST_CASE("a block that gives another shape than it takes can only stand once") {
  constexpr Diagnosis found = graph_of<Sequential<Linear<8, 4>, Repeat<2, Linear<4, 6>>>>.fault;
  static_assert(found.code == Code{'G', 8});
  CHECK(found.words.view().find("Repeat<2, Linear<4, 6>> has a block that takes (4) and gives (6)") != std::string_view::npos);
  static_assert(graph_of<Sequential<Linear<8, 4>, Repeat<1, Linear<4, 6>>>>.fault.ok());
}

TEST_CASE("the first layer of a model may be a Repeat, with the same rule") {
  constexpr Diagnosis found = graph_of<Sequential<Repeat<2, Linear<10, 20>>, Linear<20, 5>>>.fault;
  static_assert(found.code == Code{'G', 8});
  static_assert(graph_of<Sequential<Repeat<2, Linear<10, 10>>, Linear<10, 5>>>.fault.ok());
  CHECK(found.words.view().find("takes (10) and gives (20)") != std::string_view::npos);
}

TEST_CASE("a Repeat without a block and a Repeat nested too deep are refused") {
  static_assert(graph_of<Sequential<Linear<8, 4>, Repeat<0, Linear<4, 4>>>>.fault.code == Code{'G', 6});
  static_assert(graph_of<Sequential<Linear<8, 4>, Repeat<-1, Linear<4, 4>>>>.fault.code == Code{'G', 6});
  using Three = Repeat<2, Repeat<2, Repeat<2, Linear<4, 4>>>>;
  static_assert(graph_of<Sequential<Linear<8, 4>, Three>>.fault.ok());
  constexpr Diagnosis found = graph_of<Sequential<Linear<8, 4>, Repeat<2, Three>>>.fault;
  static_assert(found.code == Code{'G', 6});
  CHECK(found.words.view().find("nested more than 3 deep") != std::string_view::npos);
}

TEST_CASE("a name directly inside a Repeat would be the name of every repetition") {
  constexpr Diagnosis found = graph_of<Sequential<Linear<8, 4>, Repeat<2, Named<"block", Linear<4, 4>>>>>.fault;
  static_assert(found.code == Code{'G', 4});
  CHECK(found.words.view().find("'block'") != std::string_view::npos);
  constexpr const Graph& repaired = graph_of<Sequential<Linear<8, 4>, Named<"block", Repeat<2, Linear<4, 4>>>>>;
  static_assert(repaired.fault.ok());
  CHECK(repaired.parameter_name(2, 0).view() == "block.1.weight");
}

TEST_CASE("a block that stands once may have a name") {
  static_assert(graph_of<Sequential<Linear<8, 4>, Repeat<1, Named<"only", Linear<4, 4>>>>>.fault.ok());
  static_assert(graph_of<Sequential<Linear<8, 4>, Repeat<2, Named<"both", Linear<4, 4>>>>>.fault.code == Code{'G', 4});
  constexpr const Graph& graph = graph_of<Sequential<Linear<8, 4>, Repeat<1, Named<"only", Repeat<3, Linear<4, 4>>>>>>;
  static_assert(graph.fault.ok());
  CHECK(graph.parameter_name(1, 0).view() == "1.only.0.weight");
  CHECK(graph.parameter_name(3, 0).view() == "1.only.2.weight");
}

TEST_CASE("a block that is repeated less than once is refused, and what follows it is still described") {
  CHECK(graph_of<Sequential<Linear<8, 4>, Repeat<-3, ReLU>, Linear<4, 2>>>.fault.sentence().view() ==
        "[heddle.G06] Repeat<-3, ReLU> repeats its block -3 times. Fix: repeat it at least once.");
  static_assert(graph_of<Sequential<Linear<8, 4>, Repeat<0, ReLU>, Linear<4, 2>>>.fault.code == Code{'G', 6});
}
