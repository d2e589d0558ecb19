// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/convolution.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/leaf_rules.hpp"
#include "heddle/graph/local_leaf.hpp"

using namespace heddle;

namespace {

template <class L> std::string refused(const Spec& in) { return std::string{L::describe(in).fault.sentence().view()}; }

}  // namespace

TEST_CASE("sizes, parameters and operations of the first convolution of ResNet-18") {
  constexpr Leaf leaf = Conv2d<3, 64, KernelSize<7>, Stride<2>, Padding<3>, NoBias>::describe(Spec{Shape{3, 224, 224}});
  static_assert(leaf.fault.ok() && leaf.out.shape == Shape(64, 112, 112) && leaf.saves == Saves::input && leaf.parameter_count == 1);
  static_assert(leaf.parameters[0].shape == Shape(64, 3, 7, 7) && leaf.parameters[0].fan_in == 147);
  static_assert(leaf.forward_flops == std::int64_t{2} * 147 * 64 * 112 * 112 && leaf.backward_flops == 2 * leaf.forward_flops);
  static_assert(leaf.weight_flops == leaf.forward_flops && !leaf.weights_read && !leaf.input_part_reads_saved);
  CHECK(leaf.spelled.view() == "Conv2d<3, 64, KernelSize<7>, Stride<2>, Padding<3>, NoBias>");
  CHECK(check_leaf(leaf, leaf.in).ok());
}

TEST_CASE("a window that is dilated spans more pixels, and height and width may differ") {
  constexpr Leaf leaf = Conv2d<4, 6, KernelSize<3, 2>, Stride<1, 2>, Padding<2, 0>, Dilation<2, 3>>::describe(Spec{Shape{4, 9, 12}});
  static_assert(leaf.fault.ok() && leaf.out.shape == Shape(6, 9 + 4 - 5 + 1, (12 - 4) / 2 + 1));
  static_assert(leaf.parameter_count == 2 && leaf.parameters[1].shape == Shape(6) && leaf.parameters[1].fan_in == 24);
  static_assert(leaf.forward_flops == 6 * 9 * 5 * (2 * 24 + 1) && leaf.backward_flops == 6 * 9 * 5 * (4 * 24 + 1));
  CHECK(leaf.spelled.view().substr(0, 40) == "Conv2d<4, 6, KernelSize<3, 2>, Stride<1,");
}

TEST_CASE("channels of the output or of the input may be split, with groups whole groups") {
  constexpr Leaf leaf = Conv2d<8, 12, KernelSize<3>>::describe(Spec{Shape{8, 5, 5}});
  static_assert(leaf.signature_count == 2);
  for (int s = 0; s < 2; ++s) CHECK(check_signature(leaf, leaf.signatures[s]).ok());
  constexpr Leaf columns = local_leaf(leaf, leaf.signatures[0], 4);
  static_assert(columns.in.shape == Shape(8, 5, 5) && columns.out.shape == Shape(3, 3, 3) && columns.parameters[0].shape == Shape(3, 8, 3, 3));
  constexpr Leaf rows = local_leaf(leaf, leaf.signatures[1], 4);
  static_assert(rows.in.shape == Shape(2, 5, 5) && rows.out.shape == Shape(12, 3, 3) && rows.parameters[0].shape == Shape(12, 2, 3, 3));
  static_assert(rows.parameters[1].shape == Shape(12));
  constexpr Leaf grouped = Conv2d<8, 12, KernelSize<3>, Groups<4>>::describe(Spec{Shape{8, 5, 5}});
  static_assert(grouped.fault.ok() && grouped.parameters[0].shape == Shape(12, 2, 3, 3) && grouped.signature_count == 1);
  CHECK(check_signature(grouped, grouped.signatures[0]).ok());
  static_assert(indivisible_size(grouped, grouped.signatures[0], 2) == 0 && indivisible_size(grouped, grouped.signatures[0], 4) == 0);
  static_assert(indivisible_size(grouped, grouped.signatures[0], 8) == 4);  // 8 channels, but 4 groups
  constexpr Leaf depthwise = Conv2d<6, 6, KernelSize<3>, Groups<6>>::describe(Spec{Shape{6, 5, 5}});
  static_assert(depthwise.fault.ok() && local_leaf(depthwise, depthwise.signatures[0], 3).parameters[0].shape == Shape(2, 1, 3, 3));
}

TEST_CASE("another number of channels is named with the layer that takes it, and what is no image with Unflatten") {
  CHECK(refused<Conv2d<3, 8, KernelSize<3>, Padding<1>>>(Spec{Shape{1, 28, 28}}) ==
        "[heddle.G01] Conv2d<3, 8, KernelSize<3>, Padding<1>> takes 3 channels but the value before it has 1 in the first dimension of (1, 28, 28). "
        "Fix: write Conv2d<1, 8, KernelSize<3>, Padding<1>>.");
  CHECK(refused<Conv2d<1, 8, KernelSize<3>>>(Spec{Shape{784}}) ==
        "[heddle.G01] Conv2d<1, 8, KernelSize<3>> takes images, of channels, height and width, but the value before it has (784). Fix: put "
        "Unflatten before it.");
  CHECK(refused<Conv2d<1, 8, KernelSize<3>>>(Spec{Shape{28, 28}}) ==
        "[heddle.G01] Conv2d<1, 8, KernelSize<3>> takes images, of channels, height and width, but the value before it has (28, 28). Fix: write "
        "Input<1, 28, 28> for images of one channel.");
  CHECK(refused<Conv2d<1, 8, KernelSize<3>>>(Spec{Shape{1, 28, 28}, ElementType::uint8}) ==
        "[heddle.G01] Conv2d<1, 8, KernelSize<3>> takes float32 but the value before it has uint8. Fix: put a layer that gives float32 before it.");
  CHECK(refused<Conv2d<1, 8, KernelSize<3>, Dilation<4>, Padding<1>>>(Spec{Shape{1, 6, 28}}) ==
        "[heddle.G01] Conv2d<1, 8, KernelSize<3>, Padding<1>, Dilation<4>> has a window of 9 x 9 pixels, dilated, but the value before it has (1, 6, "
        "28), padded on each side by 1 and 1. Fix: take a KernelSize of at most 2 and 8.");
  static_assert(Conv2d<1, 8, KernelSize<2>, Dilation<4>, Padding<1>>::describe(Spec{Shape{1, 6, 28}}).fault.ok());
}

TEST_CASE("groups that do not divide the channels are refused with those that do") {
  const Spec image{Shape{8, 5, 5}};
  CHECK(refused<Conv2d<8, 12, KernelSize<3>, Groups<3>>>(image) ==
        "[heddle.G25] Conv2d<8, 12, KernelSize<3>, Groups<3>> has Groups<3>, which does not divide 8 and 12 channels. Fix: take 1, 2, 4 groups.");
  CHECK(refused<Conv2d<8, 9, KernelSize<3>, Groups<8>>>(image).find("Fix: take 1 group.") != std::string::npos);
  CHECK(refused<Conv2d<8, 12, KernelSize<3>, Groups<0>>>(image).find("has Groups<0>, which does not divide") != std::string::npos);
}

TEST_CASE("options that say nothing, too much or no number are refused") {
  const Spec image{Shape{3, 5, 5}};
  CHECK(refused<Conv2d<3, 8>>(image) == "[heddle.G25] Conv2d<3, 8> does not say how large its window is. Fix: write Conv2d<3, 8, KernelSize<3>>.");
  CHECK(refused<Conv2d<3, 8, Stride<2>>>(image).find("does not say how large its window is") != std::string::npos);
  CHECK(refused<Conv2d<3, 8, KernelSize<3>, KernelSize<3>>>(image).find(" names an option twice. Fix: keep one of them.") != std::string::npos);
  CHECK(refused<Conv2d<3, 8, KernelSize<3>, Groups<1>, Groups<1>>>(image).find(" names an option twice.") != std::string::npos);
  CHECK(refused<Conv2d<3, 8, KernelSize<3>, NoBias, NoBias>>(image).find(" names an option twice.") != std::string::npos);
  CHECK(refused<Conv2d<3, 8, KernelSize<3>, int>>(image) ==
        "[heddle.G25] Conv2d<3, 8, KernelSize<3>> names what is no option of Conv2d. Fix: write KernelSize<3>, Stride<2>, Padding<1>, Dilation<2>, "
        "Groups<4> or NoBias.");
  CHECK(refused<Conv2d<3, 8, KernelSize<1, 2, 3>>>(image) ==
        "[heddle.G25] Conv2d<3, 8, ...> has an option of other than one or two whole numbers. Fix: write KernelSize<3>, or KernelSize<3, 5>.");
  CHECK(refused<Conv2d<3, 8, KernelSize<3>, Padding<-1>>>(image).find("has a padding of -1, which is not between 0 and ") != std::string::npos);
  CHECK(refused<Conv2d<3, 8, KernelSize<3>, Stride<0>>>(image).find("has a size or a stride that is not between 1 and ") != std::string::npos);
  CHECK(refused<Conv2d<3, 8, KernelSize<3>, Dilation<0>>>(image).find("has a size or a stride that is not between 1 and ") != std::string::npos);
  CHECK(refused<Conv2d<0, 8, KernelSize<3>>>(image).find("has a number of channels that is not between 1 and ") != std::string::npos);
  CHECK(refused<Conv2d<3, 0, KernelSize<3>>>(image).find("has a number of channels that is not between 1 and ") != std::string::npos);
}

TEST_CASE("sizes beyond counting are counted as such, and no constant expression overflows") {
  constexpr Leaf leaf = Conv2d<1 << 24, 1 << 24, KernelSize<1 << 20>, Padding<1 << 20>>::describe(Spec{Shape{1 << 24, 1 << 20, 1 << 20}});
  static_assert(leaf.fault.ok() && leaf.forward_flops >= most_countable);
}
