// SPDX-License-Identifier: MIT
// Room: graph. Layers whose parameters are gathered, reduced and released together where they are sliced.
// Sees: core.  Does not see: policies, devices, memory.
// In: layer types.  Out: OneUnit<Layers...>.
#pragma once

namespace heddle::inline graph_room {

/// As Sequential, and one unit: under Sharded these layers are gathered together, under Recompute<EveryBlock> they are a block. Without it a unit
/// is a block of the outermost Repeat, or a layer outside. Inside another unit it says nothing; a Repeat inside is part of it.
///
/// Shape   what the first layer takes becomes what the last layer gives
/// Errors  G01 if a layer takes another shape than the layer before it gives
/// Source  sources.md#zero
/// Tested  graph/one_unit_test
template <class... Layers> struct OneUnit {
  static constexpr bool is_composite = true;
  template <class Tracer> static constexpr int trace(Tracer& tracer, int value) {
    tracer.template siblings<Layers...>();
    [[maybe_unused]] int position = 0;
    if constexpr (requires { tracer.begin_unit(); }) {
      const bool begun = tracer.begin_unit();
      ((value = tracer.template child<Layers>(position++, value)), ...);
      tracer.end_unit(begun);
    } else {
      ((value = tracer.template child<Layers>(position++, value)), ...);
    }
    return value;
  }
};

}  // namespace heddle::inline graph_room
