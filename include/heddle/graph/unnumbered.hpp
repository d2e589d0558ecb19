// SPDX-License-Identifier: MIT
// Room: graph. A layer whose number does not stand in the names of the parameters that it holds.
// Sees: core, graph/composite.  Does not see: policies, devices, memory.
// In: a layer type.  Out: Unnumbered<L>.
#pragma once

#include "heddle/graph/composite.hpp"

namespace heddle::graph_room {

/// L, whose layers are named as if they stood where L stands. Of a Named<"self_attn", Sequential<...>> that begins with
/// Unnumbered<Branches<Concat, Named<"q_proj", Linear<64, 64>>, ...>> the first weight is "self_attn.q_proj.weight"; it would be
/// "self_attn.0.q_proj.weight". The layers around keep their numbers. In a Repeat the number of the repetition stays.
///
/// Shape   that of L
/// Errors  G04 if two layers with parameters have one name then
/// Tested  graph/unnumbered_test
template <class L> struct Unnumbered : PlacesLayers {
  template <class Tracer> static constexpr int trace(Tracer& tracer, int value) {
    if constexpr (requires { tracer.leave_out_number(); }) tracer.leave_out_number();
    return tracer.template layer<L>(value);
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Unnumbered;
}  // namespace heddle
