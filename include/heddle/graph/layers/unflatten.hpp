// SPDX-License-Identifier: MIT
// Room: graph. The last dimension becomes several.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the Spec of the input.  Out: Leaf.
#pragma once

#include <cstdint>

#include "heddle/graph/leaf.hpp"
#include "heddle/graph/spelled.hpp"

namespace heddle::graph_room {

/// The last dimension split into Sizes, as torch.nn.Unflatten(-1, sizes): no arithmetic, nothing saved.
///
/// Of a value of one dimension that becomes two the first is marked as a sequence of positions; else a mark stays where it is.
///
/// Of features that lie in parts each rank has its part of the first of Sizes, if the ranks divide it.
///
/// Shape   Unflatten<8, 64>: (..., 512) becomes (..., 8, 64)
/// Errors  G06 if a size is below 1; G07 if no size is named, the product of Sizes is not the last dimension, or the result has too many dimensions
/// Tested  graph/layers/unflatten_test, compute/eigen/reshape_test, equivalence/split_reshapes_test
template <std::int64_t... Sizes> struct Unflatten {
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
    if (leaf.out.shape.dimensions > 0) --leaf.out.shape.dimensions;
    for (int i = 0; i < count; ++i) leaf.out.shape.append(sizes[i]);
    const Laid first = laid::shard(in.shape.dimensions - 1);  // of the features, and then of Sizes: parts of it follow one another
    if (in.type == ElementType::float32) leaf.splits({first, first, first, first, {}, {}});
    if (in.shape.dimensions == 1) leaf.out.sequence = static_cast<std::int8_t>(count == 2 ? 0 : -1);
    return leaf;
  }

 private:
  static constexpr int count = static_cast<int>(sizeof...(Sizes));
  static constexpr std::int64_t sizes[sizeof...(Sizes) + 1] = {Sizes..., 1};

  static constexpr Diagnosis refusal(const Leaf& leaf, const Spec& in) {
    const auto repaired = [&](Diagnosis broken) { return broken << ". Fix: give sizes whose product is " << in.shape.last() << '.'; };
    if (count == 0) return repaired(Diagnosis{Code{'G', 7}, "Unflatten<> names no size"});
    std::int64_t product = 1;
    for (int i = 0; i < count; ++i) product = counted_product(product, sizes[i]);
    if (product == 0) return repaired(Diagnosis{Code{'G', 6}, leaf.spelled.view()} << " has a size below 1");
    if (product != in.shape.last())
      return repaired(Diagnosis{Code{'G', 7}, leaf.spelled.view()} << " makes " << product << " features of a value that has " << in.shape.last());
    const int dimensions = in.shape.dimensions + count - (in.shape.dimensions > 0 ? 1 : 0);
    if (dimensions <= Shape::most_dimensions) return {};
    return Diagnosis{Code{'G', 7}, leaf.spelled.view()} << " makes " << dimensions << " dimensions of " << in.shape << " but a value has at most "
                                                        << Shape::most_dimensions << ". Fix: put Flatten before it or give fewer sizes.";
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Unflatten;
}  // namespace heddle
