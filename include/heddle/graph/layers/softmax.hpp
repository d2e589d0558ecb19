// SPDX-License-Identifier: MIT
// Room: graph. Softmax and LogSoftmax over the last dimension.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the Spec of the input.  Out: Leaf.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/graph/leaf.hpp"

namespace heddle::graph_room {

/// What both have in common: an output is of all features of its vector and of no other vector, so any dimension but the last may be split.
[[nodiscard]] constexpr Leaf describe_softmax(std::string_view kind, const Spec& in) {
  Leaf leaf;
  leaf.kind << kind;
  leaf.spelled << kind;
  leaf.in = leaf.out = in;
  leaf.saves = Saves::output;
  if (in.type != ElementType::float32) {
    leaf.fault = Diagnosis{Code{'G', 1}, leaf.spelled.view()} << " takes float32 but the value before it has " << name_of(in.type)
                                                              << ". Fix: put a layer that gives float32 before it.";
    return leaf;
  }
  leaf.forward_flops = counted_product(5, in.elements());
  leaf.backward_flops = counted_product(4, in.elements());
  for (int d = 0; d + 1 < in.shape.dimensions; ++d) leaf.splits({laid::shard(d), laid::shard(d), laid::shard(d), laid::shard(d), {}, {}});
  return leaf;
}

/// exp(x_j) / sum_i exp(x_i) over the last dimension, as torch.nn.Softmax(dim=-1): positive numbers whose sum is 1. CrossEntropy takes logits and
/// divides them so itself: in front of it this layer is advised against (A12).
///
/// Shape   (..., features) stays as it is
/// Errors  G01 if the value before it is not float32
/// Tested  graph/layers/softmax_test, compute/eigen/softmax_test, compute/field/softmax_test, golden/softmax_test, equivalence/softmax_test
struct Softmax {
  using KernelLayer = Softmax;
  static constexpr Leaf describe(Spec in) { return describe_softmax("Softmax", in); }
};

/// x_j - log(sum_i exp(x_i)) over the last dimension, as torch.nn.LogSoftmax(dim=-1): the logarithms of what Softmax gives.
///
/// Shape   (..., features) stays as it is
/// Errors  as Softmax
/// Tested  as Softmax
struct LogSoftmax {
  using KernelLayer = LogSoftmax;
  static constexpr Leaf describe(Spec in) { return describe_softmax("LogSoftmax", in); }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::LogSoftmax, graph_room::Softmax;
}  // namespace heddle
