// SPDX-License-Identifier: MIT
#include "heddle/graph/branches.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/frozen.hpp"
#include "heddle/graph/layers/embedding.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/repeat.hpp"
#include "heddle/graph/residual.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/tied.hpp"
#include "heddle/graph/trace.hpp"

using namespace heddle;

namespace {

template <class Model> Diagnosis fault = graph_of<Model>.fault;
bool says(const Diagnosis& found, Code code, std::string_view words) { return found.code == code && found.words.view() == words; }

}  // namespace

TEST_CASE("each branch reads the same value, and sums are taken from left to right") {
  constexpr const Graph& graph = graph_of<Sequential<Linear<8, 4>, Branches<Add, Linear<4, 4>, Sequential<ReLU, Linear<4, 4>>, ReLU>>>;
  static_assert(graph.fault.ok() && graph.node_count == 7);
  // Linear, Linear | ReLU, Linear | Add | ReLU | Add
  const int reads[] = {0, 1, 1, 3, 2, 1, 5};
  for (int n = 0; n < 7; ++n) {
    CAPTURE(n);
    CHECK(graph.nodes[n].operands[0] == reads[n]);
    CHECK(graph.adds(n) == (n == 4 || n == 6));
  }
  CHECK(graph.nodes[4].operands[1] == 4);
  CHECK(graph.nodes[6].operands[1] == 6);
  CHECK(graph.output() == Spec{Shape{4}});
}

TEST_CASE("branches are children: their parameters have the number of the branch, or its name") {
  using Inner = Branches<Add, Linear<4, 4>, Named<"gate", Linear<4, 4>>, Sequential<ReLU, Linear<4, 4>>, Sequential<>, Repeat<2, Linear<4, 4>>>;
  constexpr const Graph& graph = graph_of<Sequential<Input<4>, Named<"mix", Inner>>>;
  static_assert(graph.fault.ok());
  CHECK(graph.parameter_name(1, 0).view() == "mix.0.weight");
  CHECK(graph.parameter_name(2, 0).view() == "mix.gate.weight");
  CHECK(graph.parameter_name(5, 0).view() == "mix.2.1.weight");
  CHECK(graph.parameter_name(8, 1).view() == "mix.4.0.bias");
  CHECK(graph.parameter_name(9, 1).view() == "mix.4.1.bias");
}

TEST_CASE("Residual<F> is Branches<Add, F, Sequential<>>") {
  constexpr const Graph& one = graph_of<Sequential<Linear<8, 4>, Residual<Linear<4, 4>>>>;
  constexpr const Graph& other = graph_of<Sequential<Linear<8, 4>, Branches<Add, Linear<4, 4>, Sequential<>>>>;
  static_assert(other.fault.ok() && one.node_count == other.node_count);
  for (int n = 0; n < one.node_count; ++n) {
    CHECK(one.leaves[n].type == other.leaves[n].type);
    for (int k = 0; k < one.nodes[n].operand_count; ++k) CHECK(one.nodes[n].operands[k] == other.nodes[n].operands[k]);
  }
}

TEST_CASE("a branch may be branches, frozen, tied, repeated or the input itself, and a Repeat may hold branches") {
  using Nested = Branches<Add, Branches<Add, Sequential<>, Sequential<>>, Residual<Linear<4, 4>>, Frozen<Linear<4, 4>>>;
  constexpr const Graph& graph = graph_of<Sequential<Input<4>, Repeat<3, Nested>, Linear<4, 2>>>;
  static_assert(graph.fault.ok() && graph.leaf_count == 8 && graph.node_count == 20);
  CHECK(graph.nodes[1].operands[0] == 1);
  CHECK(graph.nodes[1].operands[1] == 1);  // x + x
  CHECK(graph.nodes[7].operands[0] == 7);  // the second block reads what the first one gives, everywhere
  CHECK(graph.nodes[8].operands[0] == 7);
  CHECK(graph.nodes[11].operands[0] == 7);
  CHECK(graph.frozen(5));
  using Shared = Sequential<Named<"a", Linear<4, 4>>, Branches<Add, ReLU, Tied<"b", Linear<4, 4>, To<"a">>>>;
  static_assert(graph_of<Shared>.fault.ok() && graph_of<Shared>.tie_count == 1);
}

TEST_CASE("branches may begin a model: the first one says what it takes") {
  constexpr const Graph& graph = graph_of<Branches<Add, Linear<6, 4>, Sequential<Linear<6, 2>, Linear<2, 4>>>>;
  static_assert(graph.fault.ok() && graph.input == Spec{Shape{6}});
  constexpr const Graph& ids = graph_of<Sequential<Input<3>, Branches<Add, Embedding<9, 4>, Embedding<9, 4>>>>;
  static_assert(ids.fault.ok() && ids.input.type == ElementType::int32);
}

TEST_CASE("what cannot be joined is refused, and its repaired twin is not") {
  CHECK(says(fault<Sequential<Input<4>, Branches<Add, Linear<4, 6>, ReLU>>>, Code{'G', 2},
             "branches '0' and '1' in '1' give (6) and (4), which cannot be added. Fix: let branch '1' give (6)."));
  CHECK(fault<Sequential<Input<4>, Branches<Add, Linear<4, 4>, ReLU>>>.ok());
  CHECK(says(fault<Branches<Add, Named<"up", Linear<4, 6>>, Linear<4, 6>, Named<"down", Linear<4, 5>>>>, Code{'G', 2},
             "branches 'up' and 'down' in the model give (6) and (5), which cannot be added. Fix: let branch 'down' give (6)."));
}

TEST_CASE("fewer than two branches join nothing, and the first argument says how to join") {
  CHECK(says(fault<Sequential<Input<4>, Branches<Add, ReLU>>>, Code{'G', 2},
             "Branches in '1' has 1 branch, so nothing can be joined. Fix: name at least two; Sequential<> hands on what it takes."));
  CHECK(fault<Sequential<Input<4>, Branches<Add>>>.words.view().find("has 0 branches") != std::string_view::npos);
  CHECK(
      says(fault<Sequential<Input<4>, Branches<ReLU, Linear<4, 4>, ReLU>>>, Code{'G', 25},
           "Branches in '1' begins with ReLU, which does not say how branches are joined. Fix: write Branches<Add, ...> or Branches<Concat, ...>."));
  CHECK(fault<Sequential<Input<4>, Branches<Add, Linear<4, 4>, ReLU>>>.ok());
}

TEST_CASE("names among branches stand once, and none is the number of another branch") {
  CHECK(fault<Branches<Add, Named<"a", Linear<4, 4>>, Named<"a", Linear<4, 4>>>>.code == Code{'G', 4});
  CHECK(fault<Branches<Add, Linear<4, 4>, Named<"0", Linear<4, 4>>>>.code == Code{'G', 4});
  CHECK(fault<Branches<Add, Named<"a", Linear<4, 4>>, Named<"b", Linear<4, 4>>>>.ok());
}

TEST_CASE("what one branch looks up another one does not read as numbers, whichever comes first") {
  CHECK(fault<Sequential<Input<4>, Branches<Add, Embedding<9, 4>, Linear<4, 4>>>>.code == Code{'G', 1});
  CHECK(says(fault<Sequential<Input<2, 4>, Branches<Add, Sequential<Linear<4, 8>, Flatten>, Sequential<Flatten, Embedding<9, 2>, Flatten>>>>,
             Code{'G', 18},
             "layer 1 '1.0.0' Linear<4, 8> reads numbers, but what it reads are token ids, which another layer looks up. Fix: let it stand behind a "
             "layer that looks them up."));
  CHECK(fault<Sequential<Input<2, 4>, Branches<Add, Sequential<Flatten, Embedding<9, 2>>, Sequential<Flatten, Embedding<9, 2>>>>>.ok());
}
