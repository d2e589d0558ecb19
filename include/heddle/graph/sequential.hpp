// SPDX-License-Identifier: MIT
// Room: graph. Layers one after another; children are numbered as in torch.nn.Sequential.
// Sees: core.  Does not see: policies, devices, memory.
// In: layer types.  Out: Sequential<Layers...>.
#pragma once

namespace heddle::inline graph_room {

/// Runs its layers one after another. Derive from it to name a model: struct Mnist : Sequential<...> {};
///
/// Shape   what the first layer takes becomes what the last layer gives
/// Errors  G01 if a layer takes another shape than the layer before it gives
/// Source  sources.md#pytorch-sequential
/// Tested  graph/sequential_test
template <class... Layers> struct Sequential {
  static constexpr bool is_composite = true;
  template <class Tracer> static constexpr int trace(Tracer& tracer, int value) {
    tracer.template siblings<Layers...>();
    [[maybe_unused]] int position = 0;
    ((value = tracer.template child<Layers>(position++, value)), ...);
    return value;
  }
};

}  // namespace heddle::inline graph_room
