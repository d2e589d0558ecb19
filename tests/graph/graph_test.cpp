// SPDX-License-Identifier: MIT
#include "heddle/graph/graph.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/branches.hpp"
#include "heddle/graph/frozen.hpp"
#include "heddle/graph/layers/concat.hpp"
#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/trace.hpp"

using namespace heddle;

namespace {

Leaf described(std::string_view spelled, std::int64_t in, std::int64_t out) {
  Leaf leaf;
  leaf.kind << "Affine";
  leaf.spelled << spelled;
  leaf.in = Spec{Shape{in}};
  leaf.out = Spec{Shape{out}};
  leaf.forward_flops = 10;
  leaf.backward_flops = 21;
  leaf.with({Text<16>{"weight"}, Shape{out, in}, Initial::zeros, in}).with({Text<16>{"bias"}, Shape{out}, Initial::zeros, in});
  return leaf;
}

/// 'first' 6 -> 4, then twice 'body.*.inner.*' 4 -> 4 in two nested repeats, by hand.
struct ByHand {
  TracedLeaf leaves[2];
  Node nodes[3];
  Graph graph;

  ByHand() {
    leaves[0] = {described("Affine<6, 4>", 6, 4), Text<80>{"first"}, TypeId::none};
    leaves[1] = {described("Affine<4, 4>", 4, 4), Text<80>{"body.*.inner.*"}, TypeId::none};
    for (int n = 0; n < 3; ++n) {
      nodes[n].leaf = n == 0 ? 0 : 1;
      nodes[n].operands[0] = n;
      nodes[n].first_parameter = 2 * n;
      nodes[n].parameter_count = 2;
    }
    nodes[1].repetition[0] = 7;
    nodes[1].repetition[1] = 12;
    nodes[2].repetition[0] = 8;
    graph.leaves = leaves;
    graph.nodes = nodes;
    graph.leaf_count = 2;
    graph.node_count = 3;
    graph.parameter_count = 6;
    graph.input = Spec{Shape{6}};
  }
};

}  // namespace

TEST_CASE("value 0 is the input, value v the output of node v - 1") {
  const ByHand hand;
  CHECK(hand.graph.spec(0) == Spec{Shape{6}});
  CHECK(hand.graph.spec(1) == Spec{Shape{4}});
  CHECK(hand.graph.output() == hand.graph.spec(3));
}

TEST_CASE("parameters of a leaf count once for every node that runs it") {
  const ByHand hand;
  CHECK(hand.graph.parameter_elements(0) == 6 * 4 + 4);
  CHECK(hand.graph.parameter_elements(1) == 4 * 4 + 4);
  CHECK(hand.graph.parameter_elements() == 28 + 2 * 20);
  CHECK(hand.graph.flops(2) == 31);
}

TEST_CASE("each star of a path is the number of a repetition, outermost first") {
  const ByHand hand;
  CHECK(hand.graph.name(0).view() == "first");
  CHECK(hand.graph.name(1).view() == "body.7.inner.12");
  CHECK(hand.graph.name(2).view() == "body.8.inner.0");
  CHECK(hand.graph.parameter_name(1, 0).view() == "body.7.inner.12.weight");
  CHECK(hand.graph.parameter_name(0, 1).view() == "first.bias");
}

TEST_CASE("a model that is one leaf has parameter names without a dot in front") {
  ByHand hand;
  hand.leaves[0].path = Text<80>{};
  CHECK(hand.graph.parameter_name(0, 0).view() == "weight");
}

TEST_CASE("a node is described with its number, its name and its type") {
  const ByHand hand;
  CHECK(hand.graph.describe(2).view() == "layer 2 'body.8.inner.0' Affine<4, 4>");
}

TEST_CASE("whether a value needs a gradient is a fact of the value: behind the first trained layer too some need none") {
  struct Net
      : Sequential<Input<4>, Branches<Concat, Linear<4, 3>, Sequential<ReLU, ReLU>, Frozen<Sequential<ReLU, Linear<4, 2>>>>, Frozen<Linear<9, 2>>> {};
  constexpr const Graph& g = graph_of<Net>;  // Input, Linear, ReLU, ReLU, Concat, ReLU, Linear, Concat, Linear
  static_assert(g.fault.ok() && g.node_count == 9 && g.last_untrained() == 1);
  constexpr bool wanted[] = {true, true, false, false, true, false, false, true, true};  // of layers before the first trained one nobody asks
  for (int n = 0; n < 9; ++n) {
    CAPTURE(n);
    CHECK(g.nodes[n].needs_gradient == wanted[n]);
    CHECK(g.needs_gradient(n + 1, 1) == (n >= 1 && wanted[n]));
    CHECK(g.runs_backward(n) == (n >= 1 && wanted[n]));
    if (n != 1 && n != 8) CHECK(g.work(n).parameter_gradients == 0);
  }
  CHECK(g.work(2).total() == g.leaf(2).forward_flops);
  CHECK(g.work(6).total() == g.leaf(6).forward_flops);
  CHECK(g.work(8).input_gradient == g.leaf(8).input_flops());
}
TEST_CASE("a batch whose values or operations are more than can be counted is refused") {
  struct Wide : Sequential<Input<(1 << 30), (1 << 9)>, ReLU> {};
  CHECK(check_totals(graph_of<Wide>, 64, 64).ok());
  CHECK(check_totals(graph_of<Wide>, 1 << 30, 1).sentence().view() ==
        "[heddle.G21] a batch of 1,073,741,824 rows makes more values or operations in Wide than can be counted: 1,649,267,441,664 and "
        "549,755,813,888 for each row. Fix: use a smaller batch, or smaller sizes.");
  CHECK(check_totals(graph_of<Wide>, 1 << 10, 1 << 20).ok());
  static_assert(check_totals(graph_of<Wide>, 1 << 10, 1 << 21).code == Code{'G', 21});  // 2^60 operations
  struct Four : Sequential<Input<(1 << 30), (1 << 9)>, ReLU, ReLU> {};                  // 2^41 values
  static_assert(check_totals(graph_of<Four>, 1 << 15, 1).ok());
  static_assert(check_totals(graph_of<Four>, (1 << 15) + 1, 1).code == Code{'G', 21});
  static_assert(check_totals(graph_of<Linear<8, 4>>, 2'147'483'647, 2'147'483'647).ok());
}
