// SPDX-License-Identifier: MIT
// Room: graph. The same block several times, each with parameters of its own; traced once.
// Sees: graph/composite.  Does not see: policies, devices, memory.
// In: a count and a layer type.  Out: Repeat<Times, Block>.
#pragma once

#include "heddle/graph/composite.hpp"

namespace heddle::graph_room {

/// Times copies of Block, one after another; children are numbered 0 .. Times - 1.
///
/// Shape   (B, ...) stays (B, ...): the block gives what it takes
/// Errors  G06 if Times < 1, G08 if the block gives another shape than it takes
/// Tested  graph/repeat_test
template <int Times, class Block> struct Repeat : PlacesLayers {
  template <class Tracer> static constexpr int trace(Tracer& tracer, int value) { return tracer.template repeat<Times, Block>(value); }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Repeat;
}  // namespace heddle
