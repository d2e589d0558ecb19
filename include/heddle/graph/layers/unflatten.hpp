// SPDX-License-Identifier: MIT
// Room: graph. The last dimension becomes several.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the Spec of the input.  Out: Leaf.
#pragma once

#include <cstdint>

#include "heddle/graph/leaf.hpp"
#include "heddle/graph/spelled.hpp"

namespace heddle::inline graph_room {

/// The last dimension split into Sizes, as torch.nn.Unflatten(-1, sizes): no arithmetic, nothing saved.
///
/// Shape   Unflatten<8, 64>: (..., 512) becomes (..., 8, 64)
/// Errors  G06 if a size is below 1; G07 if the product of Sizes is not the last dimension, or the result has too many dimensions
/// Tested  graph/layers/unflatten_test, compute/eigen/reshape_test
template <std::int64_t... Sizes>
requires(sizeof...(Sizes) > 0) struct Unflatten {
  using KernelLayer = Unflatten;  ///< kernels are found for this type, also where a model derives a name from it
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Unflatten";
    leaf.spelled = graph_room::spelled("Unflatten", Sizes...);
    leaf.in = leaf.out = in;
    leaf.saves = Saves::nothing;
    leaf.reshapes = true;
    leaf.fault = refusal(leaf, in);
    if (!leaf.fault.ok()) return leaf;
    Shape& shape = leaf.out.shape;
    if (shape.dimensions > 0) --shape.dimensions;
    ((shape.sizes[shape.dimensions++] = Sizes), ...);
    return leaf;
  }

 private:
  static constexpr Diagnosis refusal(const Leaf& leaf, const Spec& in) {
    if (((Sizes < 1) || ...))
      return Diagnosis{Code{'G', 6}, leaf.spelled.view()} << " has a size below 1. Fix: give sizes whose product is " << in.shape.last() << '.';
    const std::int64_t product = (Sizes * ...);
    if (product != in.shape.last()) {
      return Diagnosis{Code{'G', 7}, leaf.spelled.view()} << " makes " << product << " features of a value that has " << in.shape.last()
                                                          << ". Fix: give sizes whose product is " << in.shape.last() << '.';
    }
    const std::int64_t dimensions = in.shape.dimensions + static_cast<std::int64_t>(sizeof...(Sizes)) - (in.shape.dimensions > 0 ? 1 : 0);
    if (dimensions <= Shape::most_dimensions) return {};
    return Diagnosis{Code{'G', 7}, leaf.spelled.view()} << " makes " << dimensions << " dimensions of " << in.shape << " but a value has at most "
                                                        << Shape::most_dimensions << ". Fix: put Flatten before it or give fewer sizes.";
  }
};

}  // namespace heddle::inline graph_room
