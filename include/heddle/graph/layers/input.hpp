// SPDX-License-Identifier: MIT
// Room: graph. The shape of one sample, where the first layer does not tell it.
// Sees: core, graph/leaf.  Does not see: policies, devices, memory.
// In: sizes.  Out: Input<sizes...>.
#pragma once

#include <initializer_list>

#include "heddle/graph/leaf.hpp"

namespace heddle::graph_room {

/// First layer of a model that begins with a layer of any shape: Sequential<Input<28, 28>, Flatten, Linear<784, 50>>.
///
/// Of two sizes the first is marked as a sequence of positions; images have channels first, and no sequence.
///
/// Shape   (B, Sizes...) stays as it is
/// Errors  G06 if a size is below 1 or there is none, G19 for a fifth dimension, G21 for more elements than can be counted; G01 if it is not first
/// Tested  graph/layers/input_test, fail/G06_input_of_negative_sizes, fail/G06_input_of_no_size, fail/G19_input_of_five_dimensions
template <int... Sizes> struct Input {
  static constexpr bool is_input = true;
  static constexpr Spec takes() {
    Spec spec;
    for (const int size : std::initializer_list<int>{Sizes...}) spec.shape.append(size);
    if (sizeof...(Sizes) == 2) spec.sequence = 0;
    return spec;
  }
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Input";
    leaf.spelled << "Input";
    leaf.in = leaf.out = in;
    leaf.saves = Saves::nothing;
    leaf.reshapes = true;
    if (sizeof...(Sizes) == 0) {
      leaf.fault = Diagnosis{Code{'G', 6}, "Input<>"}
                   << " names no size. Fix: write how many features a row has, as in Input<784>, or Input<3, 32, 32>.";
    } else if (!(in == takes())) {
      leaf.fault = Diagnosis{Code{'G', 1}, "Input<"};
      const char* before = "";
      for (const int size : std::initializer_list<int>{Sizes...}) leaf.fault << before << size, before = ", ";
      leaf.fault << "> is given " << in.shape << ". Fix: let Input be the first layer only.";
    }
    return leaf;
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Input;
}  // namespace heddle
