// SPDX-License-Identifier: MIT
// Room: graph. Layers one after another; children are numbered as in torch.nn.Sequential.
// Sees: graph/composite.  Does not see: policies, devices, memory.
// In: layer types.  Out: Sequential<Layers...>.
#pragma once

#include "heddle/core/an_object.hpp"
#include "heddle/graph/composite.hpp"

namespace heddle::graph_room {

/// Runs its layers one after another. Derive from it to name a model: struct Mnist : Sequential<...> {};
///
/// Shape   what the first layer takes becomes what the last layer gives
/// Errors  G01 if a layer takes another shape than the layer before it gives
/// Source  sources.md#pytorch-sequential
/// Tested  graph/sequential_test
template <class... LayerTypes> struct Sequential;              // g++ shows this name where a number or an object stands among them
template <class... Layers> struct Sequential : PlacesLayers {  // types: ReLU, not ReLU()
  template <class Tracer> static constexpr int trace(Tracer& tracer, int value) { return trace_children<Layers...>(tracer, value); }
};
template <> struct Sequential<AnObject> : AnObject { using AnObject::AnObject; };  // L16
template <class First, class... More> Sequential(const First&, const More&...) -> Sequential<AnObject>;

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Sequential;
}  // namespace heddle
