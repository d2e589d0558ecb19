// SPDX-License-Identifier: MIT
// Room: policy. The product of policies: each answers for its own axis, innermost first.
// Sees: graph, mesh, core.  Does not see: memory, processes.
// In: policies.  Out: their answers, one after another.
#pragma once

#include "heddle/core/lists.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/policy/layout.hpp"

namespace heddle::policy_room {

/// Hybrid<Inner, ..., Outer>: Hybrid<MP, DP> has model-parallel groups of consecutive ranks and data-parallel groups across them.
///
/// Errors  M01 if two policies claim one axis, M13 if one of them is no policy, or none is named
/// Tested  policy/hybrid_test, equivalence/hybrid_test, fail/M13_option_in_a_hybrid
template <class... Policies> struct Hybrid {
  static constexpr void answer(const Graph& graph, Layout& layout) {
    if (sizeof...(Policies) == 0)
      layout.refuse(Diagnosis{Code{'M', 13}, "a Hybrid of nothing combines no policies. Fix: name policies in it, or use Single."});
    sum_of({(answer_one<Policies>(graph, layout), 0)...});
  }

 private:
  template <class P> static constexpr void answer_one(const Graph& graph, Layout& layout) {
    if constexpr (Policy<P>)
      P::answer(graph, layout);
    else
      layout.refuse(Diagnosis{Code{'M', 13}, ""} << type_name<P>().view()
                                                 << " is no policy, so a Hybrid cannot combine it. Fix: move it out of the Hybrid; options of a "
                                                    "plan stand beside its policy.");
  }
};

}  // namespace heddle::policy_room

namespace heddle {
using policy_room::Hybrid;
}  // namespace heddle
