// SPDX-License-Identifier: MIT
// Room: graph. The shape of one sample, where the first layer does not tell it.
// Sees: core, graph/leaf.  Does not see: policies, devices, memory.
// In: sizes.  Out: Input<sizes...>.
#pragma once

#include "heddle/graph/leaf.hpp"

namespace heddle::inline graph_room {

/// First layer of a model that begins with a layer of any shape: Sequential<Input<28, 28>, Flatten, Linear<784, 50>>.
///
/// Shape   (B, Sizes...) stays as it is
/// Tested  graph/layers/input_test
template <int... Sizes> struct Input {
  static constexpr bool is_input = true;
  static constexpr Spec takes() { return Spec{Shape{Sizes...}}; }
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Input";
    leaf.spelled << "Input";
    leaf.in = leaf.out = in;
    leaf.saves = Saves::nothing;
    leaf.reshapes = true;
    if (!(in == takes()))
      leaf.fault = Diagnosis{Code{'G', 1}, ""} << "Input" << takes().shape << " is given " << in.shape << ". Fix: let Input be the first layer only.";
    return leaf;
  }
};

}  // namespace heddle::inline graph_room
