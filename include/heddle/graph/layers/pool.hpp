// SPDX-License-Identifier: MIT
// Room: graph. MaxPool2d, AvgPool2d and AdaptiveAvgPool2d: the largest or the mean of the pixels of each window, channel by channel.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the Spec of the input.  Out: Leaf.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/graph/layers/window.hpp"
#include "heddle/graph/leaf.hpp"

namespace heddle::graph_room {

/// What all poolings have in common: so many places, whose windows have `pixels` of a channel together, those of the padding too.
constexpr void give_places(Leaf& leaf, std::int64_t height, std::int64_t width, std::int64_t pixels) {
  leaf.out.shape.sizes[1] = height;
  leaf.out.shape.sizes[2] = width;
  leaf.out.sequence = -1;  // whatever the value before it has: the first dimension is channels
  leaf.forward_flops = counted_product(pixels, leaf.in.shape.sizes[0]);
  leaf.backward_flops = counted_sum(leaf.forward_flops, leaf.out.elements());
  leaf.splits({laid::shard(0), laid::shard(0), laid::shard(0), laid::shard(0), {}, {}});
}
/// What is wrong with a window of a pooling, which always has a pixel of the image.
[[nodiscard]] constexpr Diagnosis refused_pooling(const Leaf& leaf, const WindowFacts& facts, const Spec& in) {
  const SlidingWindow& w = facts.window;
  Text<64> example = leaf.kind.view();
  if (const Diagnosis found = refused_options(leaf, facts, "KernelSize<3>, Stride<2>, Padding<1>", (example << "<KernelSize<2>>").view());
      !found.ok())
    return found;
  for (int d = 0; d < 2; ++d)
    if (w.padding[d] < 0 || 2 * w.padding[d] > w.size[d])
      return Diagnosis{Code{'G', 6}, leaf.spelled.view()} << " has a padding of " << w.padding[d] << " for a window of " << w.size[d]
                                                          << ". Fix: take from 0 to " << w.size[d] / 2
                                                          << ", so that each window has a pixel of the image.";
  return refused_places(leaf, w, in);
}
[[nodiscard]] constexpr Leaf describe_pooling(std::string_view kind, const WindowFacts& facts, Saves saves, const Spec& in) {
  Leaf leaf;
  leaf.kind << kind;
  write_pooling(leaf.spelled, kind, facts);
  leaf.in = leaf.out = in;
  leaf.saves = saves;
  leaf.fault = refused_pooling(leaf, facts, in);
  if (!leaf.fault.ok()) return leaf;
  const std::int64_t height = facts.window.places(0, in.shape.sizes[1]), width = facts.window.places(1, in.shape.sizes[2]);
  give_places(leaf, height, width, counted_product(facts.window.pixels(), counted_product(height, width)));
  return leaf;
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
  static constexpr SlidingWindow windows = facts.window;
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
  static constexpr SlidingWindow windows = facts.window;
  static constexpr Leaf describe(Spec in) { return describe_pooling("AvgPool2d", facts, Saves::nothing, in); }
};

/// The mean of windows that divide an image of any size into Height x Width places, as torch.nn.AdaptiveAvgPool2d: AdaptiveAvgPool2d<1> is the mean
/// of a channel, AdaptiveAvgPool2d<7> has 7 x 7 places. Nothing is kept for the backward.
///
/// Shape   (Channels, H, W) becomes (Channels, Height, Width)
/// Errors  G01 if the value is no image; G06 a size out of range; G25 other than one or two whole numbers
/// Source  sources.md#pooling
/// Tested  as MaxPool2d
template <auto... Sizes> struct AdaptiveAvgPool2d {
  using KernelLayer = AdaptiveAvgPool2d;
  static constexpr AdaptiveWindows windows{{OfWindow<Sizes...>::of(0), OfWindow<Sizes...>::of(1)}};
  static constexpr Leaf describe(Spec in) {
    constexpr std::int64_t most_places = 4096;
    Leaf leaf;
    leaf.kind << "AdaptiveAvgPool2d";
    leaf.in = leaf.out = in;
    leaf.saves = Saves::nothing;
    const std::int64_t height = windows.count[0], width = windows.count[1];
    if constexpr (!OfWindow<Sizes...>::is_sound) {
      leaf.spelled << "AdaptiveAvgPool2d<...>";
      leaf.fault = Diagnosis{Code{'G', 25}, leaf.spelled.view()} << " is of other than one or two whole numbers. Fix: write AdaptiveAvgPool2d<7>, or "
                                                                    "AdaptiveAvgPool2d<7, 5>, 7 high and 5 wide.";
    } else {
      leaf.spelled = height == width ? spelled("AdaptiveAvgPool2d", height) : spelled("AdaptiveAvgPool2d", height, width);
      leaf.fault = height >= 1 && width >= 1 && height <= most_places && width <= most_places
                       ? refused_image(leaf, in)
                       : Diagnosis{Code{'G', 6}, leaf.spelled.view()} << " has a size that is not between 1 and " << most_places
                                                                      << ". Fix: write how many places there are.";
      if (leaf.fault.ok())
        give_places(leaf, height, width, counted_product(windows.pixels(0, in.shape.sizes[1]), windows.pixels(1, in.shape.sizes[2])));
    }
    return leaf;
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::AdaptiveAvgPool2d, graph_room::AvgPool2d, graph_room::MaxPool2d;
}  // namespace heddle
