// SPDX-License-Identifier: MIT
// Room: graph. What all types have that place other layers: a mark, and one way to visit their children.
// Sees: the standard library.  Does not see: policies, devices, memory.
// In: layer types.  Out: PlacesLayers, trace_children.
#pragma once

#include <type_traits>

#include "heddle/core/rooms.hpp"

namespace heddle::graph_room {

/// Base of Sequential, Residual, Repeat, Named: by it a class is known that inherits its layers privately.
struct PlacesLayers {
  static constexpr bool is_composite = true;
};

/// True for `class Net : Sequential<...>`, whose layers nobody can see.
template <class L> [[nodiscard]] constexpr bool hides_its_layers() {
  if constexpr (
      std::is_class_v<L> && !requires { L::is_composite; } && requires { sizeof(L); })
    return std::is_base_of_v<PlacesLayers, L>;
  else
    return false;
}

/// Traces layers one after another; children are numbered as in torch.nn.Sequential. A list, no fold: clang 14 folds at most 256.
template <class... Layers, class Tracer> constexpr int trace_children(Tracer& tracer, int value) {
  tracer.template siblings<Layers...>();
  [[maybe_unused]] int position = 0;
  [[maybe_unused]] const int values[] = {value, (value = tracer.template child<Layers>(position++, value))...};
  return value;
}

}  // namespace heddle::graph_room
