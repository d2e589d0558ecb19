// SPDX-License-Identifier: MIT
// Room: graph. The first walk over a model type: how many leaves and nodes a trace will record.
// Sees: graph/layer.  Does not see: shapes, policies, devices, memory.
// In: a model type.  Out: Counter.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/type_name.hpp"
#include "heddle/graph/layer.hpp"

namespace heddle::graph_room {

/// Layers that a trace may record, those of a Repeat as often as they are repeated, and layers that it may describe, those of a Repeat once.
/// Compilers limit what a constant expression may compute: clang to 2^20 steps. The costliest variable of a plan takes up to 600 for a layer, and a
/// description up to 900; one of a layer that brings a kernel of its own may take twice as much and counts twice.
inline constexpr int most_layers = 1'500;
inline constexpr int most_descriptions = 900;

/// Counts what a trace will record, so that storage has the exact size.
/// Repeat<12, Linear<8, 8>> has 1 leaf, which is described once, and 12 nodes.
struct Counter {
  static constexpr int most_nodes = 1 << 30;  // counting ends here
  int leaves = 0;
  int nodes = 0;
  int descriptions = 0;
  bool sound = true;  ///< every type met is a layer
  bool own = false;   ///< some describe is not of Heddle, and may throw for the value that it meets

  template <class L> constexpr int layer(int value) {
    if constexpr (Composite<L>) {
      return L::trace(*this, value);
    } else {
      if constexpr (!Layer<L>) sound = false;
      ++leaves;
      ++nodes;
      descriptions += is_built_in<L>() ? 1 : 2;
      own = own || !is_named_in_heddle<L>;
      return value;
    }
  }
  template <class L> constexpr int child(int, int value) { return layer<L>(value); }
  template <class L> constexpr int named(std::string_view, int value) { return layer<L>(value); }
  template <int Times, class Block> constexpr int repeat(int value) {
    Counter block;
    block.layer<Block>(0);
    leaves += block.leaves;
    descriptions += block.descriptions;
    const std::int64_t more = std::int64_t{Times > 0 ? Times : 1} * block.nodes;
    nodes = more > most_nodes - nodes ? most_nodes : nodes + static_cast<int>(more);
    sound = sound && block.sound;
    own = own || block.own;
    return value;
  }
  template <class> constexpr int join(int, int value, const Joint& = {}) {
    ++leaves;
    ++nodes;
    ++descriptions;
    return value;
  }
  template <class> constexpr int source(int, int value) {
    ++leaves;
    ++nodes;
    ++descriptions;
    return value;
  }
  template <class...> constexpr void siblings() {}
  [[nodiscard]] constexpr bool traceable() const { return sound && nodes <= most_layers && descriptions <= most_descriptions; }

 private:
  template <class L> static constexpr bool is_built_in() {
    return requires { typename L::KernelLayer; }
    || ElementwiseLayer<L>;
  }
};

/// G22: words for a model that is too deep.
[[nodiscard]] constexpr Diagnosis refuse_depth(std::string_view model, const Counter& counted) {
  Diagnosis broken{Code{'G', 22}, model};
  if (counted.nodes > most_layers)
    return broken << " has " << counted.nodes << " layers, but at most " << most_layers
                  << " can be checked at build. Fix: use fewer layers, or layers that do more.";
  return broken << " writes out " << counted.descriptions << " layers, those with a kernel of their own counted twice, but at most "
                << most_descriptions << " can be described at build. Fix: put equal layers into a Repeat, which describes them once.";
}

}  // namespace heddle::graph_room
