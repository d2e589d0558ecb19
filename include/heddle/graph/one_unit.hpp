// SPDX-License-Identifier: MIT
// Room: graph. Layers whose parameters are gathered, reduced and released together where they are sliced.
// Sees: graph/composite.  Does not see: policies, devices, memory.
// In: layer types.  Out: OneUnit<Layers...>.
#pragma once

#include "heddle/graph/composite.hpp"

namespace heddle::graph_room {

/// As Sequential, and one unit: under Sharded these layers are gathered together, under Recompute<EveryBlock> they are a block. Without it a unit
/// is a block of the outermost Repeat, or a layer outside. Inside another unit it says nothing; a Repeat inside is part of it.
///
/// Shape   what the first layer takes becomes what the last layer gives
/// Errors  G01 if a layer takes another shape than the layer before it gives
/// Source  sources.md#zero
/// Tested  graph/one_unit_test
template <class... Layers> struct OneUnit : PlacesLayers {
  template <class Tracer> static constexpr int trace(Tracer& tracer, int value) {
    if constexpr (requires { tracer.begin_unit(); }) {
      const bool begun = tracer.begin_unit();
      value = trace_children<Layers...>(tracer, value);
      tracer.end_unit(begun);
      return value;
    } else {
      return trace_children<Layers...>(tracer, value);
    }
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::OneUnit;
}  // namespace heddle
