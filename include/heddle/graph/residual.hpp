// SPDX-License-Identifier: MIT
// Room: graph. A skip connection: the input is added to what the layers inside give.
// Sees: graph/composite.  Does not see: policies, devices, memory.
// In: layer types.  Out: Residual<Layers...>.
#pragma once

#include "heddle/graph/composite.hpp"
#include "heddle/graph/join.hpp"

namespace heddle::graph_room {

/// x -> x + layers(x). Children are numbered as in Sequential.
///
/// Shape   (B, ...) stays (B, ...)
/// Errors  G02 if the layers inside give another shape than they take
/// Source  sources.md#residual
/// Tested  graph/residual_test, equivalence/residual_test
template <class... Layers> struct Residual : PlacesLayers {
  template <class Tracer> static constexpr int trace(Tracer& tracer, int value) {
    return tracer.template join<Add>(trace_children<Layers...>(tracer, value), value);
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Residual;
}  // namespace heddle
