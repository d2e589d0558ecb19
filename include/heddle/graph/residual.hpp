// SPDX-License-Identifier: MIT
// Room: graph. A skip connection: the input is added to what the layers inside give.
// Sees: core.  Does not see: policies, devices, memory.
// In: layer types.  Out: Residual<Layers...>.
#pragma once

namespace heddle::inline graph_room {

/// x -> x + layers(x). Children are numbered as in Sequential.
///
/// Shape   (B, ...) stays (B, ...)
/// Errors  G02 if the layers inside give another shape than they take
/// Source  sources.md#residual
/// Tested  graph/residual_test, equivalence/residual_test
template <class... Layers> struct Residual {
  static constexpr bool is_composite = true;
  template <class Tracer> static constexpr int trace(Tracer& tracer, int value) {
    const int skip = value;
    tracer.template siblings<Layers...>();
    [[maybe_unused]] int position = 0;
    ((value = tracer.template child<Layers>(position++, value)), ...);
    return tracer.add(skip, value);
  }
};

}  // namespace heddle::inline graph_room
