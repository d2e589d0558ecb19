// SPDX-License-Identifier: MIT
#include "heddle/graph/layers/pool.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/leaf_rules.hpp"
#include "heddle/graph/local_leaf.hpp"

using namespace heddle;

namespace {

template <class L> std::string refused(const Spec& in) { return std::string{L::describe(in).fault.sentence().view()}; }

}  // namespace

TEST_CASE("height and width follow from the window, channels stay, and may be split") {
  constexpr Leaf leaf = MaxPool2d<KernelSize<3>, Stride<2>, Padding<1>>::describe(Spec{Shape{64, 112, 112}});  // of ResNet-18
  static_assert(leaf.fault.ok() && leaf.out.shape == Shape(64, 56, 56) && leaf.saves == Saves::input && leaf.parameter_count == 0);
  static_assert(leaf.forward_flops == 64 * 56 * 56 * 9 && leaf.backward_flops == 64 * 56 * 56 * 10 && leaf.weight_flops == 0);
  static_assert(leaf.signature_count == 1 && leaf.signatures[0].input == laid::shard(0) && !leaf.elementwise);
  CHECK(check_leaf(leaf, leaf.in).ok());
  CHECK(check_signature(leaf, leaf.signatures[0]).ok());
  constexpr Leaf quarter = local_leaf(leaf, leaf.signatures[0], 4);
  static_assert(quarter.in.shape == Shape(16, 112, 112) && quarter.out.shape == Shape(16, 56, 56));
  constexpr Leaf mean = AvgPool2d<KernelSize<2, 3>>::describe(Spec{Shape{2, 5, 7}});
  static_assert(mean.fault.ok() && mean.out.shape == Shape(2, 2, 2) && mean.saves == Saves::nothing && mean.forward_flops == 8 * 6);
}

TEST_CASE("an adaptive mean has as many places as it says, whatever the image") {
  constexpr Leaf leaf = AdaptiveAvgPool2d<1>::describe(Spec{Shape{512, 7, 7}});  // of ResNet-18
  static_assert(leaf.fault.ok() && leaf.out.shape == Shape(512, 1, 1) && leaf.saves == Saves::nothing && leaf.forward_flops == 512 * 49);
  static_assert(leaf.backward_flops == 512 * 50 && leaf.signature_count == 1);
  static_assert(AdaptiveAvgPool2d<7>::describe(Spec{Shape{3, 2, 9}}).out.shape == Shape(3, 7, 7));  // more places than pixels
  static_assert(AdaptiveAvgPool2d<3, 2>::describe(Spec{Shape{3, 5, 8}}).forward_flops == 3 * 7 * 8);
  CHECK(AdaptiveAvgPool2d<3, 3>::describe(Spec{Shape{3, 5, 8}}).spelled.view() == "AdaptiveAvgPool2d<3>");
  CHECK(AdaptiveAvgPool2d<3, 2>::describe(Spec{Shape{3, 5, 8}}).spelled.view() == "AdaptiveAvgPool2d<3, 2>");
  CHECK(check_leaf(leaf, leaf.in).ok());
  CHECK(refused<AdaptiveAvgPool2d<1>>(Spec{Shape{512}}) ==
        "[heddle.G01] AdaptiveAvgPool2d<1> takes images, of channels, height and width, but the value before it has (512). Fix: put Unflatten before "
        "it.");
  CHECK(refused<AdaptiveAvgPool2d<0>>(Spec{Shape{3, 4, 4}}) ==
        "[heddle.G06] AdaptiveAvgPool2d<0> has a size that is not between 1 and 4096. Fix: write how many places there are.");
  CHECK(
      refused<AdaptiveAvgPool2d<>>(Spec{Shape{3, 4, 4}}) ==
      "[heddle.G25] AdaptiveAvgPool2d<...> is of other than one or two whole numbers. Fix: write AdaptiveAvgPool2d<7>, or AdaptiveAvgPool2d<7, 5>, 7 "
      "high and 5 wide.");
}

TEST_CASE("what is no image is refused, and a window that is larger than the padded image with the largest that is not") {
  CHECK(refused<MaxPool2d<KernelSize<2>>>(Spec{Shape{64}}) ==
        "[heddle.G01] MaxPool2d<KernelSize<2>> takes images, of channels, height and width, but the value before it has (64). Fix: put Unflatten "
        "before it.");
  CHECK(refused<AvgPool2d<KernelSize<7>, Padding<1>>>(Spec{Shape{3, 4, 9}}) ==
        "[heddle.G01] AvgPool2d<KernelSize<7>, Padding<1>> has a window of 7 x 7 pixels but the value before it has (3, 4, 9), padded on each side "
        "by 1 "
        "and 1. Fix: take a KernelSize of at most 6 and 11.");
  CHECK(refused<MaxPool2d<KernelSize<2>>>(Spec{Shape{3, 4, 4}, ElementType::uint8}) ==
        "[heddle.G01] MaxPool2d<KernelSize<2>> takes float32 but the value before it has uint8. Fix: put a layer that gives float32 before it.");
}

TEST_CASE("options that say nothing, too much or no number are refused") {
  const Spec image{Shape{3, 8, 8}};
  CHECK(refused<MaxPool2d<>>(image) == "[heddle.G25] MaxPool2d<> does not say how large its window is. Fix: write MaxPool2d<KernelSize<2>>.");
  CHECK(refused<MaxPool2d<Stride<2>>>(image) ==
        "[heddle.G25] MaxPool2d<Stride<2>> does not say how large its window is. Fix: write MaxPool2d<KernelSize<2>>.");
  CHECK(refused<MaxPool2d<KernelSize<2>, KernelSize<2>>>(image) ==
        "[heddle.G25] MaxPool2d<KernelSize<2>> names an option twice. Fix: keep one of them.");
  CHECK(refused<AvgPool2d<KernelSize<2>, int>>(image) ==
        "[heddle.G25] AvgPool2d<KernelSize<2>> names what is no option of AvgPool2d. Fix: write KernelSize<3>, Stride<2>, Padding<1>.");
  CHECK(refused<AvgPool2d<KernelSize<2, 2, 2>>>(image) ==
        "[heddle.G25] AvgPool2d<...> has an option of other than one or two whole numbers. Fix: write KernelSize<3>, or KernelSize<3, 5>.");
  CHECK(refused<MaxPool2d<KernelSize<0>>>(image) ==
        "[heddle.G06] MaxPool2d<KernelSize<0>> has a size or a stride that is not between 1 and 1,048,576. Fix: write how many pixels.");
  CHECK(refused<MaxPool2d<KernelSize<2>, Stride<-1>>>(image) ==
        "[heddle.G06] MaxPool2d<KernelSize<2>, Stride<-1>> has a size or a stride that is not between 1 and 1,048,576. Fix: write how many pixels.");
  CHECK(refused<MaxPool2d<KernelSize<3>, Padding<2>>>(image) ==
        "[heddle.G06] MaxPool2d<KernelSize<3>, Padding<2>> has a padding of 2 for a window of 3. Fix: take from 0 to 1, so that each window has a "
        "pixel "
        "of the image.");
  CHECK(refused<MaxPool2d<KernelSize<3>, Padding<-1>>>(image) ==
        "[heddle.G06] MaxPool2d<KernelSize<3>, Padding<-1>> has a padding of -1 for a window of 3. Fix: take from 0 to 1, so that each window has a "
        "pixel "
        "of the image.");
}
