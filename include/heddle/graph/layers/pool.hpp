// SPDX-License-Identifier: MIT
// Room: graph. MaxPool2d and AvgPool2d: the largest or the mean of the pixels of each window, channel by channel.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the Spec of the input.  Out: Leaf.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/graph/layers/window.hpp"
#include "heddle/graph/leaf.hpp"

namespace heddle::graph_room {

/// What both have in common. Flops are counted for every pixel of a window, those of the padding too.
[[nodiscard]] constexpr Leaf describe_pooling(std::string_view kind, const WindowFacts& facts, Saves saves, const Spec& in) {
  Leaf leaf;
  leaf.kind << kind;
  write_window(leaf.spelled, kind, facts);
  leaf.in = leaf.out = in;
  leaf.saves = saves;
  leaf.fault = refused_window(leaf, facts, in);
  if (!leaf.fault.ok()) return leaf;
  for (int d = 0; d < 2; ++d) leaf.out.shape.sizes[1 + d] = facts.window.places(d, in.shape.sizes[1 + d]);
  leaf.out.sequence = -1;  // whatever the value before it has: the first dimension is channels
  leaf.forward_flops = counted_product(facts.window.pixels(), leaf.out.elements());
  leaf.backward_flops = counted_product(facts.window.pixels() + 1, leaf.out.elements());
  return leaf.splits({laid::shard(0), laid::shard(0), laid::shard(0), laid::shard(0), {}, {}});
}

/// The largest pixel of each window, as torch.nn.MaxPool2d: what is beside the image counts nothing, a NaN is larger than any number. The gradient of
/// a window goes to the pixel that was taken, the first of several that are equal; the backward looks for it once more, so nothing is kept beside
/// the input. Without Stride windows lie side by side.
///
/// Shape   (Channels, H, W) becomes (Channels, (H + 2 Padding - KernelSize) / Stride + 1, the same of W), rounded down
/// Errors  G01 if the value is no image, or its windows are larger; G06 a size below 1, or a padding above half of it; G25 options twice or unknown
/// Source  sources.md#pooling
/// Tested  graph/layers/pool_test, compute/eigen/pool_test, compute/field/pool_test, golden/pool_test, equivalence/pool_test,
///         fail/G01_window_larger_than_the_image, fail/plain_number_for_a_window
template <class... OptionsSuchAsKernelSize2> struct MaxPool2d {
  using KernelLayer = MaxPool2d;
  static constexpr WindowFacts facts = window_of_pooling<OptionsSuchAsKernelSize2...>();
  static constexpr Leaf describe(Spec in) { return describe_pooling("MaxPool2d", facts, Saves::input, in); }
};

/// The mean of the pixels of each window, as torch.nn.AvgPool2d: the padding counts as zeros. Nothing is kept for the backward.
///
/// Shape   as MaxPool2d
/// Errors  as MaxPool2d
/// Source  sources.md#pooling
/// Tested  as MaxPool2d
template <class... OptionsSuchAsKernelSize2> struct AvgPool2d {
  using KernelLayer = AvgPool2d;
  static constexpr WindowFacts facts = window_of_pooling<OptionsSuchAsKernelSize2...>();
  static constexpr Leaf describe(Spec in) { return describe_pooling("AvgPool2d", facts, Saves::nothing, in); }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::AvgPool2d, graph_room::MaxPool2d;
}  // namespace heddle
