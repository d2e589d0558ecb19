// SPDX-License-Identifier: MIT
// Room: plan. A model that ends with what its loss applies itself: a remark.
// Sees: plan/read, graph.  Does not see: policies, machines, processes, threads.
// In: a loss, a Graph.  Out: remark_on_applied_twice.
#pragma once

#include "heddle/graph/graph.hpp"
#include "heddle/plan/read/advice_report.hpp"

namespace heddle::plan_room {

/// The layer that gives the output of a model, behind which stand only layers that reshape it; null in a model of those alone.
/// Of Sequential<Linear<8, 4>, Softmax, Unflatten<2, 2>> it is Softmax.
[[nodiscard]] constexpr const Leaf* last_layer(const Graph& graph) {
  for (int n = graph.node_count - 1; n >= 0; --n)
    if (!graph.leaf(n).reshapes) return &graph.leaf(n);
  return nullptr;
}

/// Adds A12 where the last layer is the function that the loss applies to logits, as `Loss::applies` says. CrossEntropy applies Softmax.
///
/// Tested  plan/read/applied_twice_test
template <class Loss> constexpr void remark_on_applied_twice(AdviceReport& report, const Graph& graph) {
  if constexpr (requires { Loss::applies; }) {
    const Leaf* const last = last_layer(graph);
    if (last == nullptr || last->kind.view() != Loss::applies) return;
    report.add(Diagnosis{Code{'A', 12}, ""}
               << "the model ends with " << Loss::applies << ", but " << Loss::name() << " takes logits and applies " << Loss::applies
               << " itself, so it is applied twice and gradients are too small. Fix: leave it out of the model that is trained; the one of a Runner "
                  "may end with it.");
  }
}

}  // namespace heddle::plan_room
