// SPDX-License-Identifier: MIT
// Room: graph. Conv2d: each output is a weighted sum of the pixels of a window of all channels, or of those of its group.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the Spec of the input.  Out: Leaf.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/layers/window.hpp"
#include "heddle/graph/leaf.hpp"
#include "heddle/graph/local_leaf.hpp"
#include "heddle/graph/spelled.hpp"

namespace heddle::graph_room {

/// PyTorch's groups: channels are divided into so many, and an output sees the channels of its own group alone. As many as there are channels make a
/// depthwise convolution.
template <std::int64_t Number> struct Groups { static constexpr std::int64_t groups = Number; };

/// What the options of a convolution say. KernelSize<3>, Groups<2>, NoBias have a window of 3 x 3, 2 groups and no bias.
struct ConvolutionFacts {
  WindowFacts window;
  std::int64_t groups = 1;
  int named_groups = 0;
  int named_no_bias = 0;

  template <class Option> constexpr void take() {
    if constexpr (requires { Option::groups; }) {
      ++named_groups;
      groups = Option::groups;
    } else if constexpr (std::same_as<Option, NoBias>) {
      ++named_no_bias;
    } else {
      window.take<Option, WindowFacts::options>();
    }
  }
};
template <class... Options> [[nodiscard]] constexpr ConvolutionFacts facts_of_convolution() {
  ConvolutionFacts facts;
  (facts.template take<Options>(), ...);
  return facts;
}

/// "Conv2d<3, 64, KernelSize<7>, Stride<2>, Padding<3>>", of the options that were named.
constexpr void write_convolution(Text<64>& to, std::int64_t in, std::int64_t out, const ConvolutionFacts& facts) {
  to << "Conv2d<";
  write_digits(to, in);
  to << ", ";
  write_digits(to, out);
  if (facts.window.sound) {
    if (facts.window.named[0] + facts.window.named[1] + facts.window.named[2] + facts.window.named[3] > 0) to << ", ";
    write_window_options(to, facts.window);
    if (facts.named_groups > 0) {
      to << ", Groups<";
      write_digits(to, facts.groups);
      to << '>';
    }
    if (facts.named_no_bias > 0) to << ", NoBias";
  } else {
    to << ", ...";
  }
  to << '>';
}

/// The weighted sum of the pixels of each window, as torch.nn.Conv2d with zeros as padding. Split by the channels of the output or of the input; with
/// groups by whole groups.
///
/// Shape   (In, H, W) becomes (Out, (H + 2 Padding - Dilation (KernelSize - 1) - 1) / Stride + 1, the same of W), rounded down;
///         weight (Out, In / Groups, KernelSize, KernelSize), bias (Out)
/// Moves   by channels of the output: the gradient of the input is a sum over the ranks; by those of the input: the output is; by groups: nothing
/// Errors  G01 if the value is no image of In channels, or its windows are larger; G06 a size out of range;
///         G25 options twice or unknown, groups that do not divide the channels; G21 if operations are too many to count
/// Source  sources.md#convolution
/// Tested  graph/layers/convolution_test, compute/eigen/convolution_test, compute/field/convolution_test, golden/convolution_test,
///         equivalence/convolution_test, fail/G01_channels_of_an_image, fail/G25_groups_that_do_not_divide
template <std::int64_t In, std::int64_t Out = 0, class... OptionsSuchAsKernelSize3> struct Conv2d {
  using KernelLayer = Conv2d;
  static constexpr ConvolutionFacts facts = facts_of_convolution<OptionsSuchAsKernelSize3...>();
  static constexpr SlidingWindow windows = facts.window.window;
  static constexpr bool has_bias = facts.named_no_bias == 0;

  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "Conv2d";
    write_convolution(leaf.spelled, In, Out, facts);
    leaf.in = leaf.out = in;
    leaf.saves = Saves::input;
    leaf.weights_read = false;
    leaf.input_part_reads_saved = false;
    leaf.fault = refusal(leaf, in);
    if (!leaf.fault.ok()) return leaf;
    leaf.out.shape = Shape{Out, windows.places(0, in.shape.sizes[1]), windows.places(1, in.shape.sizes[2])};
    leaf.out.sequence = -1;
    const std::int64_t depth = counted_product(In / facts.groups, windows.pixels());  // products of one element of the output
    const std::int64_t products = counted_product(depth, leaf.out.elements());
    const std::int64_t additions = has_bias ? leaf.out.elements() : 0;
    leaf.forward_flops = counted_sum(counted_product(2, products), additions);
    leaf.weight_flops = leaf.forward_flops;
    leaf.backward_flops = counted_sum(counted_product(4, products), additions);
    leaf.with({"weight", Shape{Out, In / facts.groups, windows.size[0], windows.size[1]}, Initial::uniform_fan_in, depth});
    if (has_bias) leaf.with({"bias", Shape{Out}, Initial::uniform_fan_in, depth});
    const Laid part = laid::shard(0), part_of_bias = has_bias ? part : laid::replicate;
    if (facts.groups > 1) {
      leaf.splits(Signature{part, part, part, part, {}, {}}
                      .with(0, part, part)
                      .with(1, part_of_bias, part_of_bias)
                      .with_pieces(static_cast<std::int16_t>(facts.groups < most_pieces ? facts.groups : 0)));
      if (facts.groups > most_pieces) leaf.signature_count = 0;
      return leaf;
    }
    leaf.splits(Signature{laid::replicate, part, laid::partial, part, {}, {}}.with(0, part, part).with(1, part_of_bias, part_of_bias));
    leaf.splits(Signature{part, laid::partial, part, laid::replicate, {}, {}}
                    .with(0, laid::shard(1), laid::shard(1))
                    .with(1, has_bias ? laid::partial : laid::replicate, laid::replicate));
    return leaf;
  }

 private:
  static constexpr std::int64_t most_channels = std::int64_t{1} << 24;
  static constexpr std::int64_t most_padding = std::int64_t{1} << 20;
  static constexpr std::int64_t most_pieces = 32767;

  static constexpr Diagnosis refusal(const Leaf& leaf, const Spec& in) {
    const auto refuse = [&](int code) { return Diagnosis{Code{'G', code}, leaf.spelled.view()}; };
    if (In < 1 || Out < 1 || In > most_channels || Out > most_channels)
      return refuse(6) << " has a number of channels that is not between 1 and " << most_channels
                       << ". Fix: write the numbers of channels that go in and come out.";
    const Text<64> example = spelled("Conv2d", In, Out, "KernelSize<3>");
    if (const Diagnosis found =
            refused_options(leaf, facts.window, "KernelSize<3>, Stride<2>, Padding<1>, Dilation<2>, Groups<4> or NoBias", example.view());
        !found.ok())
      return found;
    if (facts.named_groups > 1 || facts.named_no_bias > 1) return refuse(25) << " names an option twice. Fix: keep one of them.";
    for (const std::int64_t padding : windows.padding)
      if (padding < 0 || padding > most_padding)
        return refuse(6) << " has a padding of " << padding << ", which is not between 0 and " << most_padding << ". Fix: write how many pixels.";
    std::int64_t both = In;  // divisors that they share divide it
    for (std::int64_t other = Out; other != 0;) {
      const std::int64_t left = both % other;
      both = other;
      other = left;
    }
    if (facts.groups < 1 || both % facts.groups != 0) {
      Diagnosis found = refuse(25) << " has Groups<" << facts.groups << ">, which does not divide " << In << " and " << Out
                                   << " channels. Fix: take ";
      write_divisors(found, both);
      return found << (both == 1 ? " group." : " groups.");
    }
    if (const Diagnosis found = refused_image(leaf, in); !found.ok()) return found;
    if (in.shape.sizes[0] != In) {
      Text<64> repaired;
      write_convolution(repaired, in.shape.sizes[0], Out, facts);
      return refuse(1) << " takes " << In << " channels but the value before it has " << in.shape.sizes[0] << " in the first dimension of "
                       << in.shape << ". Fix: write " << repaired.view() << '.';
    }
    return refused_places(leaf, windows, in);
  }
};
template <std::int64_t In, std::int64_t Out> struct Conv2d<In, Out, AnObject> : AnObject { using AnObject::AnObject; };  // L16
template <class First, class... More> Conv2d(const First&, const More&...) -> Conv2d<1, 1, AnObject>;

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Conv2d, graph_room::Groups;
}  // namespace heddle
