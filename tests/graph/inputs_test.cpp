// SPDX-License-Identifier: MIT
#include "heddle/graph/inputs.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "heddle/graph/branches.hpp"
#include "heddle/graph/graph_check.hpp"
#include "heddle/graph/layers/concat.hpp"
#include "heddle/graph/layers/embedding.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/layers/rescaling.hpp"
#include "heddle/graph/repeat.hpp"
#include "heddle/graph/residual.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/trace.hpp"

using namespace heddle;

namespace {

template <class Model> [[nodiscard]] std::string fault() { return std::string{graph_of<Model>.fault.sentence().view()}; }

/// Ids, positions and a picture: Embedding, input 1, Embedding, Add, Flatten, Linear, input 2, Flatten, Rescaling, Linear, Concat, Linear.
struct Net : Sequential<Inputs<Input<5>, Input<5>, Input<2, 3>>, Branches<Add, Embedding<9, 4>, Sequential<FromInput<1>, Embedding<5, 4>>>, Flatten,
                        Linear<20, 8>, Branches<Concat, Sequential<FromInput<2>, Flatten, Rescaling<>, Linear<6, 8>>, Sequential<>>, Linear<16, 3>> {
};

}  // namespace

TEST_CASE("an input is a value of its own where a path begins from it, and its elements are those that are read") {
  constexpr const Graph& g = graph_of<Net>;
  static_assert(g.fault.ok() && g.input_count == 3 && g.node_count == 12);
  static_assert(g.input.type == ElementType::int32 && g.input_of(1).type == ElementType::int32 && g.input_of(2).type == ElementType::uint8);
  CHECK(g.input_of(2).shape == Shape(2, 3));
  CHECK(g.input_of(2).sequence == 0);
  CHECK(g.nodes[0].operands[0] == 0);
  CHECK(g.input_number(0) == 0);
  CHECK(g.input_number(1) == -1);
  CHECK(g.input_number(2) == 1);
  CHECK(g.input_number(7) == 2);
  CHECK((g.nodes[1].operand_count == 0 && g.leaf(1).source == 2 && g.leaf(1).reshapes));
  CHECK(std::string{g.describe(6).view()} == "layer 6 '4.0.0' FromInput<2>");
  CHECK(g.spec(8).type == ElementType::uint8);
  CHECK(g.spec(9).type == ElementType::float32);
  CHECK(check_graph(g).ok());
}

TEST_CASE("an input has no gradient, and no layer that reads nothing else runs a backward") {
  constexpr const Graph& g = graph_of<Net>;
  for (const int source : {1, 6, 7, 8}) {
    CAPTURE(source);
    CHECK_FALSE(g.nodes[source].needs_gradient);
    CHECK_FALSE(g.runs_backward(source));
  }
  CHECK((g.nodes[2].needs_gradient && g.nodes[9].needs_gradient));
  CHECK(g.work(9).input_gradient == 0);
}

TEST_CASE("an input may be read several times, in blocks too, and the first also by name") {
  struct Block : Residual<Branches<Concat, Linear<4, 3>, Sequential<FromInput<1>, ReLU>>, Linear<5, 4>> {};
  struct Often : Sequential<Inputs<Input<4>, Input<2>>, Repeat<3, Block>, Branches<Add, Linear<4, 4>, FromInput<0>>> {};
  constexpr const Graph& g = graph_of<Often>;
  static_assert(g.fault.ok() && g.node_count == 3 * 6 + 3);
  for (int t = 0; t < 3; ++t) {
    CHECK(g.input_number(6 * t + 2) == 1);
    CHECK(g.nodes[6 * t + 2].operands[0] == 6 * t + 2);
    CHECK(g.nodes[6 * t + 3].operands[1] == 6 * t + 3);
  }
  CHECK(g.input_number(g.node_count - 1) == 0);
  CHECK(check_graph(g).ok());
  struct One : Sequential<Inputs<Input<4>>, Linear<4, 3>> {};
  static_assert(graph_of<One>.fault.ok() && graph_of<One>.input_count == 1 && graph_of<One>.node_count == 1);
}

TEST_CASE("what is looked up for one layer is no number for another") {
  struct Mixed
      : Sequential<Inputs<Input<4>, Input<4>>,
                   Branches<Concat, Linear<4, 4>, Sequential<FromInput<1>, Linear<4, 4>>, Sequential<FromInput<1>, Embedding<5, 1>, Flatten>>> {};
  CHECK(fault<Mixed>() ==
        "[heddle.G18] layer 2 '1.1.1' Linear<4, 4> reads numbers, but what it reads are token ids, which another layer looks up. Fix: let it stand "
        "behind a layer that looks them up.");
  struct Bytes
      : Sequential<Inputs<Input<4>, Input<4>>, Branches<Concat, Linear<4, 4>, FromInput<1>, Sequential<FromInput<1>, Rescaling<>>>, Linear<12, 2>> {};
  CHECK(fault<Bytes>() ==
        "[heddle.G18] layer 2 '1' Concat reads numbers, but what it reads are bytes, which another layer rescales. Fix: let it stand behind a "
        "Rescaling.");
}

TEST_CASE("inputs that are stated wrongly are refused in one sentence") {
  struct Late : Sequential<Linear<4, 4>, Inputs<Input<4>, Input<4>>, Linear<4, 4>> {};
  CHECK(fault<Late>() == "[heddle.G28] Inputs in '1' stands behind the beginning of the model. Fix: let it be the first of its layers.");
  struct Many : Sequential<Inputs<Input<4>, Input<4>, Input<4>, Input<4>, Input<4>>, Linear<4, 4>> {};
  CHECK(fault<Many>() == "[heddle.G28] Inputs in '0' names 5 inputs. Fix: name 1 to 4 of them.");
  struct None : Sequential<Inputs<>, Linear<4, 4>> {};
  CHECK(fault<None>() == "[heddle.G28] Inputs in '0' names 0 inputs. Fix: name 1 to 4 of them.");
  struct Other : Sequential<Inputs<Input<4>, ReLU>, Linear<4, 4>> {};
  CHECK(fault<Other>() == "[heddle.G28] Inputs in '0' names ReLU as input 1, which does not say what it takes. Fix: write Input<sizes...>.");
  struct Negative : Sequential<Inputs<Input<4>, Input<-1>>, Linear<4, 4>> {};
  CHECK(fault<Negative>().find("[heddle.G06]") == 0);
}

TEST_CASE("an input that is not there, that no layer takes, or behind which a value is lost is refused in one sentence") {
  struct Third : Sequential<Inputs<Input<4>, Input<4>>, Branches<Add, Linear<4, 4>, FromInput<2>>> {};
  CHECK(fault<Third>() ==
        "[heddle.G28] FromInput<2> in '1.1' names input 2, but the model has 2 inputs, from 0 to 1. Fix: name one that is there, or state it in "
        "Inputs<...>.");
  struct Minus : Sequential<Input<4>, Branches<Add, Linear<4, 4>, FromInput<-1>>> {};
  CHECK(fault<Minus>() ==
        "[heddle.G28] FromInput<-1> in '1.1' names input -1, but the model has 1 input, number 0. Fix: name one that is there, or state it in "
        "Inputs<...>.");
  struct Before : Sequential<FromInput<0>, Linear<4, 4>> {};
  CHECK(fault<Before>() ==
        "[heddle.G28] FromInput<0> in '0' stands before the inputs of the model. Fix: begin the model with Inputs<Input<sizes...>, ...>.");
  struct Untaken : Sequential<Inputs<Input<4>, Input<3>, Input<4>>, Branches<Add, Linear<4, 4>, FromInput<2>>> {};
  CHECK(fault<Untaken>().find(" takes input 1. Fix: begin a path with FromInput<1>, or leave the input out of Inputs.") != std::string::npos);
  struct First : Sequential<Inputs<Input<4>, Input<4>>, FromInput<1>, Linear<4, 4>> {};
  CHECK(fault<First>().find(" takes input 0. Fix:") != std::string::npos);
  struct Lost : Sequential<Inputs<Input<4>, Input<3>>, Linear<4, 4>, ReLU, FromInput<1>, Linear<3, 4>> {};
  CHECK(fault<Lost>() ==
        "[heddle.G28] what layer 1 '2' ReLU gives is read by no layer, since FromInput begins anew behind it. Fix: join both with Branches<Add, ...> "
        "or Branches<Concat, ...>, or leave the layer out.");
}

TEST_CASE("a layer of one's own is no input, and a graph that is data states its inputs") {
  struct Mine {
    static constexpr Leaf describe(Spec in) {
      Leaf leaf = source_leaf(0, in);
      leaf.spelled = "Mine";
      return leaf;
    }
  };
  struct WithMine : Sequential<Input<4>, Linear<4, 4>, Mine> {};
  CHECK(fault<WithMine>().find("Mine says that it is an input of the model. Fix: write FromInput<I> in front of it.") != std::string::npos);
  std::vector<TracedLeaf> leaves{graph_of<Net>.leaves, graph_of<Net>.leaves + graph_of<Net>.leaf_count};
  Graph graph = graph_of<Net>;
  graph.leaves = leaves.data();
  const auto said = [&] { return std::string{check_graph(graph).sentence().view()}; };
  CHECK(said() == "");
  leaves[1].leaf.source = 4;
  CHECK(said() ==
        "[heddle.G27] kind 1 of layers stands for input 3, but the graph has 3, or another one. Fix: take what source_leaf(number, input) gives.");
  leaves[1].leaf = source_leaf(0, graph.input);
  CHECK(said().find("takes input 1. Fix: begin a path") != std::string::npos);
  leaves[1].leaf = source_leaf(1, graph.input_of(1));
  CHECK(said() == "");
  graph.input_count = 5;
  CHECK(said() == "[heddle.G27] a graph has 5 inputs. Fix: give it 1 to 4.");
  graph.input_count = 3;
  graph.more_inputs[1].shape.sizes[0] = 0;
  CHECK(said().find("[heddle.G27] the input of the graph is (0, 3), which is no sample.") == 0);
}
