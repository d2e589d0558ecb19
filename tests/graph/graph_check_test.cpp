// SPDX-License-Identifier: MIT
#include "heddle/graph/graph_check.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "heddle/graph/branches.hpp"
#include "heddle/graph/layers/embedding.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/tanh.hpp"
#include "heddle/graph/named.hpp"
#include "heddle/graph/residual.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/tied.hpp"
#include "heddle/graph/trace.hpp"

using namespace heddle;

namespace {

struct Net : Sequential<Named<"a", Linear<6, 6>>, Residual<Tanh, Linear<6, 6>>, Tied<"b", Linear<6, 6>, To<"a">>> {
};  // layers a, tanh, linear, sum, b

struct Tables {
  std::vector<TracedLeaf> leaves{graph_of<Net>.leaves, graph_of<Net>.leaves + graph_of<Net>.leaf_count};
  std::vector<Node> nodes{graph_of<Net>.nodes, graph_of<Net>.nodes + graph_of<Net>.node_count};
  Graph graph = graph_of<Net>;
};
template <class Change> std::string refused(Change change) {
  Tables t;
  t.graph.leaves = t.leaves.data();
  t.graph.nodes = t.nodes.data();
  CHECK(std::string{check_graph(t.graph).sentence().view()} == "");
  change(t);
  return std::string{check_graph(t.graph).sentence().view()};
}
[[nodiscard]] bool begins(const std::string& text, const char* words) { return text.find(words) == 0; }

}  // namespace

TEST_CASE("a layer that names what is not there is refused with the numbers") {
  CHECK(refused([](Tables& t) { t.nodes[1].leaf = 9; }) ==
        "[heddle.G27] layer 1 is of kind 9, but the graph has 5 kinds of layers. Fix: count them from 0.");
  CHECK(refused([](Tables& t) { t.nodes[1].operands[0] = 2; }) ==
        "[heddle.G27] layer 1 takes value 2, but only values 0 to 1 are made before it. Fix: name one of them.");
  CHECK(begins(refused([](Tables& t) { t.nodes[1].operands[0] = -1; }), "[heddle.G27] layer 1 takes value -1"));
  CHECK(begins(refused([](Tables& t) { t.nodes[3].operand_count = 1; }), "[heddle.G27] layer 3 takes 1 values"));
  CHECK(begins(refused([](Tables& t) { t.nodes[2].operands[0] = 1; }), "[heddle.G27] value 2 of 5 is read by no layer"));
  CHECK(begins(refused([](Tables& t) { t.nodes[0].repetition[0] = -3; }), "[heddle.G27] layer 0 stands in repetition -3"));
}
TEST_CASE("parameters that are counted in another order, or shared with what does not own them, are refused") {
  CHECK(begins(refused([](Tables& t) { t.nodes[2].first_parameter = 4; }), "[heddle.G27] layer 2 has 2 parameters from number 4 on"));
  CHECK(begins(refused([](Tables& t) { t.graph.parameter_count = 7; }), "[heddle.G27] a graph counts 7 parameters"));
  CHECK(begins(refused([](Tables& t) { t.nodes[4].tied_to = 1; }), "[heddle.G27] layer 4 uses the parameters of layer 1, but both do not"));
  CHECK(begins(refused([](Tables& t) { t.nodes[4].tied_to = 4; }), "[heddle.G27] layer 4 uses the parameters of layer 4, which does not stand"));
  CHECK(begins(refused([](Tables& t) { t.nodes[0].block = 3; }), "[heddle.G27] layer 4 and layer 0 share parameters"));
}
TEST_CASE("a layer that says of its gradient what is not so is refused") {
  CHECK(begins(refused([](Tables& t) { t.nodes[2].needs_gradient = false; }),
               "[heddle.G27] layer 2 says that what it gives needs no gradient, but a trained parameter has a part in it"));
  CHECK(begins(refused([](Tables& t) { t.nodes[1].needs_gradient = false; }), "[heddle.G27] layer 1 says that what it gives needs no gradient"));
  struct TwoTables : Sequential<Input<2, 3>, Branches<Add, Sequential<Flatten, Embedding<5, 4>>, Sequential<Flatten, Embedding<5, 4>>>> {};
  CHECK(check_graph(graph_of<TwoTables>).ok());
  std::vector<Node> nodes{graph_of<TwoTables>.nodes, graph_of<TwoTables>.nodes + graph_of<TwoTables>.node_count};
  Graph graph = graph_of<TwoTables>;
  graph.nodes = nodes.data();
  nodes[3].needs_gradient = true;
  CHECK(begins(std::string{check_graph(graph).sentence().view()},
               "[heddle.G27] layer 3 says that what it gives needs a gradient, but it is no float32. Fix: take what find_gradients"));
  find_gradients(nodes.data(), graph.node_count);
  CHECK(check_graph(graph).ok());
}
TEST_CASE("a leaf of no description is refused by the code of its rule") {
  CHECK(begins(refused([](Tables& t) { t.leaves[0].leaf.parameter_count = 9; }), "[heddle.G19]"));
  CHECK(begins(refused([](Tables& t) { t.leaves[0].leaf.out.shape.sizes[0] = 7; }), "[heddle.G27] layer 1 takes (6), but value 1 has (7)"));
  CHECK(begins(refused([](Tables& t) { t.leaves[0].leaf.signatures[0].input.code = 9; }), "[heddle.G27] signature 0 of Linear<6, 6> lays"));
  CHECK(begins(refused([](Tables& t) { t.leaves[0].path.length = 81; }), "[heddle.G27] kind 0 of layers has a text longer"));
  CHECK(begins(refused([](Tables& t) { t.leaves[0].path = "a.*.*.*.*"; }), "[heddle.G27] the path 'a.*.*.*.*' has 4 stars"));
  CHECK(
      begins(refused([](Tables& t) { t.leaves[0].leaf.saves = static_cast<Saves>(9); }), "[heddle.G27] kind 0 of layers, Linear<6, 6>, has a type"));
}
TEST_CASE("a graph without layers, of one rank, or of no sample is refused") {
  CHECK(begins(refused([](Tables& t) { t.graph.node_count = 0; }), "[heddle.G27] a graph of 0 layers"));
  CHECK(begins(refused([](Tables& t) { t.graph.leaves = nullptr; }), "[heddle.G27] a graph of 5 layers"));
  CHECK(begins(refused([](Tables& t) { t.graph.split.ranks = 2; }), "[heddle.G27] a graph is given as one of 2 ranks sees it"));
  CHECK(begins(refused([](Tables& t) { t.graph.input.shape.sizes[0] = 0; }), "[heddle.G27] the input of the graph is (0)"));
  CHECK(begins(refused([](Tables& t) { t.graph.fault = Diagnosis{Code{'G', 8}, "of the tracer"}; }), "[heddle.G08] of the tracer"));
}
TEST_CASE("a million layers of which the second half reads the first are looked through once") {
  Tables t;
  const int half = 500'000;  // by a search for the reader of each value 100'000'000'000 steps
  const Node layer = t.nodes[1], sum = t.nodes[3];
  t.nodes.clear();
  t.nodes.reserve(std::size_t{2} * half);
  for (int n = 0; n < half; ++n) t.nodes.push_back(layer), t.nodes.back().operands[0] = 0;
  for (int n = 0; n + 1 < half; ++n) {
    t.nodes.push_back(sum);
    t.nodes.back().operands[0] = n == 0 ? 1 : half + n;
    t.nodes.back().operands[1] = n + 2;
  }
  t.graph.leaves = t.leaves.data();
  t.graph.nodes = t.nodes.data();
  t.graph.node_count = static_cast<int>(t.nodes.size());
  t.graph.parameter_count = t.graph.tie_count = 0;
  CHECK(std::string{check_graph(t.graph).sentence().view()} == "");
  t.nodes.back().operands[1] = 1;
  CHECK(begins(std::string{check_graph(t.graph).sentence().view()}, "[heddle.G27] value 500,000 of 999,999 is read by no layer"));
}
TEST_CASE("of two layers of a graph that share parameters both are frozen, or none") {
  const auto freeze = [](bool owner, bool user) {
    return refused([=](Tables& t) {
      const int use = static_cast<int>(t.nodes.size()) - 1;
      const int own = t.nodes.back().tied_to;
      REQUIRE(own >= 0);
      if (owner) t.nodes[static_cast<std::size_t>(own)].frozen_count = t.nodes[static_cast<std::size_t>(own)].parameter_count;
      if (user) t.nodes[static_cast<std::size_t>(use)].frozen_count = t.nodes[static_cast<std::size_t>(use)].parameter_count;
      t.graph.first_backward = first_backward_of(t.graph);
    });
  };
  CHECK(freeze(false, false) == "");
  CHECK(freeze(true, true) == "");
  CHECK(freeze(true, false).find(" share parameters, but only one is frozen. Fix: train both, or freeze both.") != std::string::npos);
  CHECK(freeze(false, true).find(" share parameters, but only one is frozen. Fix: train both, or freeze both.") != std::string::npos);
}
TEST_CASE("what a layer of a graph tracks is shared with no other") {
  CHECK(refused([](Tables& t) {
          for (TracedLeaf& traced : t.leaves) {
            if (traced.leaf.parameter_count > 0) traced.leaf.parameters[1].tracks = 1;
            traced.leaf.signature_count = 0;  // else a rank would have a part of a mean
          }
        }) == "[heddle.G27] layer 4 and layer 0 share parameters, but one tracks what its own rows have. Fix: give each its own.");
}
TEST_CASE("a frozen layer of a graph is frozen as a whole, and the first backward is that of a trained one") {
  const auto freeze = [](int count, int first) {
    return refused([=](Tables& t) {
      t.nodes[0].frozen_count = count;
      t.nodes.back().tied_to = -1;
      t.graph.tie_count = 0;
      t.graph.first_backward = first;
    });
  };
  Tables t;
  CHECK(t.graph.first_backward == 0);
  int trained = 1;  // the next layer with parameters
  while (trained < t.graph.node_count && t.nodes[static_cast<std::size_t>(trained)].parameter_count == 0) ++trained;
  CHECK(freeze(t.nodes[0].parameter_count, trained) == "");
  CHECK(begins(freeze(t.nodes[0].parameter_count, 0), "[heddle.G27] a graph says that the first backward is that of layer 0, but with its"));
  CHECK(begins(freeze(1, 0), "[heddle.G27] layer 0 freezes 1 of its 2 parameters"));
  CHECK(begins(freeze(0, 1), "[heddle.G27] a graph says that the first backward is that of layer 1, but with its trained layers it is 0"));
}
