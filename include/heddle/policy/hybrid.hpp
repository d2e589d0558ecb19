// SPDX-License-Identifier: MIT
// Room: policy. The product of policies: each answers for its own axis, innermost first.
// Sees: graph, mesh, core.  Does not see: memory, processes.
// In: policies.  Out: their answers, one after another.
#pragma once

#include "heddle/policy/layout.hpp"

namespace heddle::inline policy_room {

/// Hybrid<Inner, ..., Outer>: Hybrid<MP, DP> has model-parallel groups of consecutive ranks and data-parallel groups across them.
///
/// Errors  M01 if two policies claim one axis
/// Tested  policy/hybrid_test, equivalence/hybrid_test
template <Policy... Policies> struct Hybrid {
  static constexpr void answer(const Graph& graph, Layout& layout) { (Policies::answer(graph, layout), ...); }
};

}  // namespace heddle::inline policy_room
