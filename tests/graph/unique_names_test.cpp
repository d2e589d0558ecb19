// SPDX-License-Identifier: MIT
#include "heddle/graph/unique_names.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/residual.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/trace.hpp"
#include "heddle/graph/unnumbered.hpp"

using namespace heddle;

namespace {

template <class Model> constexpr Diagnosis fault_of() { return graph_of<Model>.fault; }

/// A layer of one's own with a constant that is no name.
struct Labelled {
  static constexpr Text<8> label{"gain"};
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Labelled";
    leaf.spelled << "Labelled";
    leaf.in = leaf.out = in;
    return leaf.with({"weight", in.shape, Initial::ones});
  }
};

}  // namespace

TEST_CASE("two layers have different names even where a layer has a label of its own") {
  constexpr Diagnosis found = fault_of<Sequential<Named<"1", Linear<8, 4>>, Labelled>>();
  static_assert(found.code == Code{'G', 4});
  CHECK(found.sentence().view() == "[heddle.G04] two layers are named '1' in a state_dict: Linear<8, 4> and Labelled. Fix: rename one of them.");
  static_assert(fault_of<Sequential<Named<"2", Linear<8, 4>>, Labelled>>().ok());
  static_assert(fault_of<Sequential<Linear<8, 4>, Named<"gain", Labelled>>>().ok());  // its label is no name
}

TEST_CASE("layers without parameters are in no state_dict, so two Unnumbered parts may have some at the same places") {
  using First = Unnumbered<Sequential<Named<"up", Linear<8, 8>>, ReLU, Named<"down", Linear<8, 8>>>>;
  using Second = Unnumbered<Sequential<Named<"left", Linear<8, 8>>, ReLU, Named<"right", Linear<8, 4>>>>;
  static_assert(fault_of<Sequential<First, Second>>().ok());
  using Bare = Unnumbered<Sequential<Linear<8, 8>, ReLU>>;
  constexpr Diagnosis found = fault_of<Sequential<Bare, Bare>>();
  static_assert(found.code == Code{'G', 4});
  CHECK(found.sentence().view() == "[heddle.G04] two layers are named '0' in a state_dict: Linear<8, 8> and Linear<8, 8>. Fix: rename one of them.");
}

TEST_CASE("the sum of a Residual has the name of that Residual") {
  constexpr const Graph& graph = graph_of<Sequential<Linear<8, 4>, Named<"skip", Residual<Named<"inner", Linear<4, 4>>>>>>;
  static_assert(graph.fault.ok());
  CHECK(graph.name(1).view() == "skip.inner");
  CHECK(graph.name(2).view() == "skip");
  CHECK(check_unique_names<3>(graph.leaves, graph.leaf_count).ok());
}
