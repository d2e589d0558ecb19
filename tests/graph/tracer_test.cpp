// SPDX-License-Identifier: MIT
#include "heddle/graph/tracer.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/layers/input.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/repeat.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/trace.hpp"

using namespace heddle;

namespace {

/// Throws instead of setting leaf.fault.
struct Throws {
  static constexpr Leaf describe(Spec in) {
    if (in.shape.last() == 4) throw 4;
    return elementwise("Throws", in, 1);
  }
};

}  // namespace

TEST_CASE("leaves that are not to be described are recorded, and the first of them is refused") {
  constexpr auto traced = [] {
    Tracer<3, 3> tracer;
    tracer.described = 1;
    tracer.layer<Sequential<Linear<8, 4>, ReLU, Linear<4, 2>>>(0);
    return tracer;
  }();
  static_assert(traced.leaf_count == 3 && traced.node_count == 3 && traced.parameter_count == 2);
  static_assert(traced.leaves[0].leaf.out.shape == Shape{4} && traced.leaves[1].leaf.out.shape == Shape{4});
  CHECK(
      traced.fault.sentence().view() ==
      "[heddle.G05] layer 1 '1': ReLU cannot be described at build for (4) or larger values. Fix: let its describe set leaf.fault where a value does "
      "not fit, not throw, and read nothing that is not there.");
}

TEST_CASE("a describe that throws for the value that it meets is refused where it stands, and nowhere else") {
  constexpr const Graph& graph = graph_of<Sequential<Linear<8, 4>, ReLU, Repeat<3, Sequential<ReLU, Throws>>, Linear<4, 2>>>;
  static_assert(graph.fault.code == Code{'G', 5});
  CHECK(graph.fault.words.view().find("layer 3 '2.*.1': Throws cannot be described at build for (4)") != std::string_view::npos);
  CHECK(graph_of<Sequential<Linear<8, 5>, Throws, Linear<5, 2>>>.fault.ok());
  CHECK(graph_of<Sequential<Input<4>, Throws>>.fault.code == Code{'G', 5});
  static_assert(is_named_in_heddle<ReLU> && is_named_in_heddle<Linear<8, 4>> && !is_named_in_heddle<Throws>);
}
