// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "compute/convolutions.hpp"
#include "compute/cuda/on_card.hpp"
#include "compute/eigen/arrays.hpp"
#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"
#include "heddle/compute/cuda/convolution.hpp"
#include "heddle/compute/eigen/convolution.hpp"

using namespace heddle;
using arrays::Array;
using compute_room::ConvolutionSizes;
using conformance::UploadedCuda;
using on_card::Card;

namespace {

template <class L, class C = UploadedCuda> using Run = convolutions::Run<L, C>;

Array part(const Array& whole, std::int64_t first, std::int64_t count) {
  Array cut{count};
  for (std::int64_t i = 0; i < count; ++i) cut[i] = whole[first + i];
  return cut;
}
double distance(const Array& a, const Array& b) {
  double far = 0;
  for (std::int64_t i = 0; i < a.elements(); ++i) far = std::max(far, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return far;
}

/// Agrees with Eigen's kernel, whether gradients are added to or made anew; a gradient of a weight is a sum of `terms` products below 1. Each sample
/// has the bits that it has alone.
template <class L> void check(const Spec& in, std::int64_t rows, bool add) {
  const Leaf leaf = L::describe(in);
  const std::int64_t pixels = in.elements(), places = leaf.out.elements();
  CAPTURE(leaf.spelled.view());
  const Array x{rows * pixels, 1}, dy{rows * places, 2}, weight{leaf.parameters[0].shape.elements(), 3}, bias{leaf.out.shape.sizes[0], 4};
  const Run<L> card{in, rows, x, dy, weight, bias, add};
  const Run<L, EigenCompute> host{in, rows, x, dy, weight, bias, add};
  const auto bound = [](std::int64_t terms) {  // of random signs: ten times the square root
    return 10 * std::sqrt(static_cast<double>(terms)) * std::sqrt(static_cast<double>(terms)) * arrays::unit_roundoff;
  };
  const std::int64_t depth = weight.elements() / bias.elements();
  CHECK(distance(card.output, host.output) <= bound(depth + 1));
  CHECK(distance(card.input_gradient, host.input_gradient) <= bound(depth * bias.elements()));
  CHECK(distance(card.weight_gradient, host.weight_gradient) <= bound(rows * places / bias.elements()));
  CHECK(distance(card.bias_gradient, host.bias_gradient) <= bound(rows * places / bias.elements()));
  for (const std::int64_t r : {std::int64_t{0}, rows - 1}) {
    const Run<L> alone{in, 1, part(x, r * pixels, pixels), part(dy, r * places, places), weight, bias};
    CHECK(alone.output.same_bits(part(card.output, r * places, places)));
    CHECK(alone.input_gradient.same_bits(part(card.input_gradient, r * pixels, pixels)));
  }
  const Run<L> again{in, rows, x, dy, weight, bias, add};
  CHECK(again.weight_gradient.same_bits(card.weight_gradient));
  CHECK(again.bias_gradient.same_bits(card.bias_gradient));
}

}  // namespace

TEST_CASE("Conv2d keeps the laws of every Compute: windows of one pixel, padded ones, and all options at once") {
  const Card card;
  CHECK(conformance::broken_law_of_layer<Conv2d<2, 3, KernelSize<1>>, UploadedCuda>(20) == "");
  CHECK(conformance::broken_law_of_layer<Conv2d<2, 3, KernelSize<3>, Padding<1>>, UploadedCuda>(20) == "");
  using Options = Conv2d<4, 6, KernelSize<3, 2>, Stride<2>, Padding<1, 2>, Dilation<2, 1>, Groups<2>, NoBias>;
  CHECK(conformance::broken_law_of_layer<Options, UploadedCuda>(20) == "");
}

TEST_CASE("convolutions by hand: a window is not turned, padding counts as zeros, groups see their own channels, a dilated window is wide") {
  const Card card;
  convolutions::one_channel<UploadedCuda>();
  convolutions::groups_and_dilation<UploadedCuda>();
}

TEST_CASE("samples are computed in pieces, whole ones together or one in parts, and each has the bits that it has alone") {
  const Card card;
  using Padded = Conv2d<1, 2, KernelSize<3>, Padding<1>>;
  const Spec many{Shape{1, 60, 67}}, large{Shape{1, 150, 160}};
  CHECK(ConvolutionSizes{Padded::describe(many)}.together() == 4);
  CHECK(ConvolutionSizes{Padded::describe(large)}.together() == 0);
  for (const bool add : {true, false}) {
    check<Padded>(many, 6, add);
    check<Padded>(large, 2, add);
  }
  check<Conv2d<6, 4, KernelSize<3>, Stride<2>, Dilation<2>, Groups<2>>>(Spec{Shape{6, 33, 40}}, 5, true);
  check<Conv2d<3, 3, KernelSize<2>, Padding<1>, Stride<3>, Groups<3>>>(Spec{Shape{3, 17, 5}}, 40, false);
}

TEST_CASE("of no rows the gradients of parameters are 0, or stay; parts of the backward read no more than they need") {
  const Card card;
  using L = Conv2d<1, 2, KernelSize<2>>;
  const Array weight{8, 1}, bias{2, 2}, none{1, 3};
  const Run<L> empty{Spec{Shape{1, 3, 3}}, 0, none, none, weight, bias};
  for (std::int64_t i = 0; i < 8; ++i) CHECK(empty.weight_gradient[i] == 0);
  CHECK(empty.bias_gradient[1] == 0);
  CHECK(std::isnan(empty.output[0]));
  const Run<L> kept{Spec{Shape{1, 3, 3}}, 0, none, none, weight, bias, true};
  CHECK(kept.weight_gradient[7] == 3);
  CHECK(kept.bias_gradient[1] == 3);
}

TEST_CASE("scratch has room for what is computed at once, and a part of the channels takes no more than the whole") {
  const auto fits = [](const Leaf& leaf, Bytes scratch) {
    const ConvolutionSizes e{leaf};
    CHECK(e.room() >= 64);
    CHECK(e.room() % 64 == 0);
    CHECK(Bytes{(e.patch_rows() + e.out) * e.room() * 4} + compute_room::column_sums_scratch(e.out) <= scratch);
  };
  const auto with_parts = [&]<class L>(const Shape& in, const L*) {
    const Leaf leaf = L::describe(Spec{in});
    const Bytes scratch = run_room::scratch_of<L, CudaCompute>(leaf);
    fits(leaf, scratch);
    for (int s = 0; s < leaf.signature_count; ++s) fits(local_leaf(leaf, leaf.signatures[s], 2), scratch);
    CHECK(scratch <= 64_MiB + 16_MiB);
  };
  with_parts(Shape{512, 9, 9}, static_cast<const Conv2d<512, 600, KernelSize<3>>*>(nullptr));
  with_parts(Shape{64, 56, 56}, static_cast<const Conv2d<64, 64, KernelSize<3>, Padding<1>>*>(nullptr));
  with_parts(Shape{4, 9, 9}, static_cast<const Conv2d<4, 6, KernelSize<3>, Groups<2>>*>(nullptr));
  CHECK(ConvolutionSizes{Conv2d<4, 6, KernelSize<3>, Groups<2>>::describe(Spec{Shape{4, 9, 9}})}.together() == 334);
}
