// SPDX-License-Identifier: MIT
// Room: graph. Layers side by side: each reads the same value, and what they give is joined.
// Sees: graph/composite, graph/join, graph/named.  Does not see: policies, devices, memory.
// In: how to join, and layer types.  Out: Branches<Add, A, B, ...>.
#pragma once

#include "heddle/core/rule.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/graph/composite.hpp"
#include "heddle/graph/join.hpp"
#include "heddle/graph/named.hpp"

namespace heddle::graph_room {

/// G25 without a word on how to join, G02 with fewer than two branches; `place` says where.
template <class Op, class... Layers> [[nodiscard]] constexpr Diagnosis check_branches(std::string_view place) {
  if constexpr (!Joins<Op>)
    return Diagnosis{Code{'G', 25}, ""} << "Branches " << place << " begins with " << type_name<Op>().view()
                                        << ", which does not say how branches are joined. Fix: write Branches<Add, ...> or Branches<Concat, ...>.";
  else if constexpr (sizeof...(Layers) < 2)
    return Diagnosis{Code{'G', 2}, ""} << "Branches " << place << " has " << static_cast<int>(sizeof...(Layers))
                                       << (sizeof...(Layers) == 1 ? " branch" : " branches")
                                       << ", so nothing can be joined. Fix: name at least two; Sequential<> hands on what it takes.";
  else
    return {};
}

/// x -> A(x) + B(x) + ..., from left to right, for Branches<Add, A, B, ...>. Each branch is a layer or a composite; Sequential<> is x itself, so
/// Residual<F> is Branches<Add, F, Sequential<>> but for the names inside. A branch is a child and numbered as one: its parameters are called
/// "0.weight", those of a Named branch by its name, as in a ModuleList of PyTorch.
///
/// Shape   Add: each branch gives what the first one gives
/// Errors  G02 if branches give values that cannot be joined, or there are fewer than two; G25 if the first argument does not say how to join
/// Tested  graph/branches_test, equivalence/branches_test, golden/branches_test
template <class Op, class... Layers> struct Branches : PlacesLayers {
  template <class Tracer> static constexpr int trace(Tracer& tracer, int value) {
    tracer.template siblings<Layers...>();
    if constexpr (requires { tracer.template check_branches<Op, Layers...>(); }) tracer.template check_branches<Op, Layers...>();
    [[maybe_unused]] int position = 0;
    int joined = value;
    [[maybe_unused]] const int values[] = {value, (joined = branch<Layers>(tracer, value, joined, position++))...};
    return joined;
  }

 private:
  template <class L, class Tracer> static constexpr int branch(Tracer& tracer, int value, int joined, int position) {
    const int made = tracer.template child<L>(position, value);
    if constexpr (Joins<Op>) {
      if (position > 0) return tracer.template join<Op>(joined, made, Joint{position, first_label(), label_of<L>()});
    }
    return made;
  }
  static constexpr std::string_view first_label() {
    const std::string_view labels[] = {label_of<Layers>()..., {}};
    return labels[0];
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Branches;
}  // namespace heddle
