// SPDX-License-Identifier: MIT
// Room: tests. Small models that the tests of policies cut.
// Sees: graph.  Does not see: plans.
#pragma once

#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/relu.hpp"
#include "heddle/graph/layers/tanh.hpp"
#include "heddle/graph/named.hpp"
#include "heddle/graph/repeat.hpp"
#include "heddle/graph/residual.hpp"
#include "heddle/graph/sequential.hpp"
#include "heddle/graph/trace.hpp"
#include "heddle/policy/layout.hpp"

namespace heddle::tests {

using Part1 = Sequential<Linear<8, 6>, ReLU>;
using Part2 = Linear<6, 6>;
using Part3 = Sequential<Tanh, Linear<6, 3>>;
struct Chain : Sequential<Part1, Part2, Part3> {};  // 5 nodes

/// What a policy answers about a model.
template <class Model, class P> constexpr Layout answer() {
  Layout layout{graph_of<Model>};
  P::answer(graph_of<Model>, layout);
  return layout;
}

}  // namespace heddle::tests
