// SPDX-License-Identifier: MIT
// Room: graph. Layers whose parameters are used and saved, but not trained.
// Sees: graph/composite.  Does not see: policies, devices, memory.
// In: layer types.  Out: Frozen<L...>.
#pragma once

#include "heddle/graph/composite.hpp"
#include "heddle/graph/sequential.hpp"

namespace heddle::graph_room {

/// Hands the label of a layer on: Frozen<Named<"head", L>> is known as "head" among its siblings.
template <class L> struct LabelOf {};
template <class L>
requires requires { L::label.view(); }
struct LabelOf<L> {
  static constexpr auto label = L::label;
};

/// One layer as it stands, several one behind the other.
template <class... L> struct InSequence { using type = Sequential<L...>; };
template <class L> struct InSequence<L> { using type = L; };

/// L with parameters that stay as they are: no gradient, no optimizer state, no step, nothing in a norm. They are initialised, loaded, saved and
/// hashed as before, under the names that L gives them. Gradients pass through to trained layers before it; layers before the first trained one run
/// no backward. Several layers are frozen as their Sequential is: Frozen<A, B> has the names of Frozen<Sequential<A, B>>. PyTorch:
/// requires_grad_(False) on all parameters of L.
///
/// Shape   as L; of what Sharded<N> slices each rank has 1/N, and gathers it for the forward and for a backward that passes a gradient on
/// Errors  G09 if nothing is left to train; G14 at build of a trainer if a kernel in L cannot leave gradients of parameters out; G15 on one of two
///         tied layers
/// Tested  graph/frozen_test, equivalence/frozen_test, golden/frozen_test
template <class... L> struct Frozen : PlacesLayers, LabelOf<typename InSequence<L...>::type> {
  using Layers = typename InSequence<L...>::type;
  template <class Tracer> static constexpr int trace(Tracer& tracer, int value) {
    if constexpr (requires { tracer.begin_frozen(); }) {
      const bool begun = tracer.begin_frozen();
      value = tracer.template layer<Layers>(value);
      tracer.end_frozen(begun);
      return value;
    } else {
      return tracer.template layer<Layers>(value);
    }
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Frozen;
}  // namespace heddle
