// SPDX-License-Identifier: MIT
// Room: graph. All dimensions of a sample become one.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the Spec of the input.  Out: Leaf.
#pragma once

#include "heddle/graph/leaf.hpp"

namespace heddle::graph_room {

/// One dimension instead of several, as torch.nn.Flatten: no arithmetic, no parameters, nothing saved.
///
/// Of a value that lies in parts of its first dimension each rank flattens its own.
///
/// Shape   (28, 28) becomes (784)
/// Tested  graph/layers/flatten_test, compute/eigen/reshape_test, equivalence/split_reshapes_test
struct Flatten {
  using KernelLayer = Flatten;  ///< kernels are found for this type, also where a model derives a name from it
  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Flatten";
    leaf.spelled << "Flatten";
    leaf.in = in;
    leaf.out = Spec{Shape{in.elements()}, in.type};
    leaf.saves = Saves::nothing;
    leaf.reshapes = true;
    if (in.type == ElementType::float32) leaf.splits({laid::shard(0), laid::shard(0), laid::shard(0), laid::shard(0), {}, {}});
    return leaf;
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Flatten;
}  // namespace heddle
