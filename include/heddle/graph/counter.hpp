// SPDX-License-Identifier: MIT
// Room: graph. The first walk over a model type: how many leaves and nodes a trace will record.
// Sees: graph/layer.  Does not see: shapes, policies, devices, memory.
// In: a model type.  Out: Counter.
#pragma once

#include <string_view>

#include "heddle/graph/layer.hpp"

namespace heddle::inline graph_room {

/// Counts what a trace will record, so that storage has the exact size.
struct Counter {
  int leaves = 0;
  int nodes = 0;
  bool sound = true;  ///< every type met is a layer

  template <class L> constexpr int layer(int value) {
    if constexpr (Composite<L>) {
      return L::trace(*this, value);
    } else {
      if constexpr (!Layer<L>) sound = false;
      ++leaves;
      ++nodes;
      return value;
    }
  }
  template <class L> constexpr int child(int, int value) { return layer<L>(value); }
  template <class L> constexpr int named(std::string_view, int value) { return layer<L>(value); }
  template <int Times, class Block> constexpr int repeat(int value) {
    Counter block;
    block.layer<Block>(0);
    leaves += block.leaves;
    nodes += (Times > 0 ? Times : 1) * block.nodes;
    sound = sound && block.sound;
    return value;
  }
  constexpr int add(int, int value) {
    ++leaves;
    ++nodes;
    return value;
  }
  template <class...> constexpr void siblings() {}
};

}  // namespace heddle::inline graph_room
