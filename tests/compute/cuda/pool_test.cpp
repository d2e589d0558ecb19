// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "compute/cuda/on_card.hpp"
#include "compute/eigen/arrays.hpp"
#include "compute/pools.hpp"
#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"
#include "heddle/compute/cuda/pool.hpp"
#include "heddle/compute/eigen/pool.hpp"

using namespace heddle;
using arrays::Array;
using conformance::UploadedCuda;
using on_card::Card;

namespace {

/// Bits are those of Eigen's kernel: both add in the order of the windows. Numbers of few values make many that are equal.
template <class L> void same_as_eigen(const Shape& in, std::int64_t rows, double bound = 0) {
  const Leaf leaf = L::describe(Spec{in});
  CAPTURE(leaf.spelled.view());
  Array x{rows * leaf.in.elements(), 1};
  const Array dy{rows * leaf.out.elements(), 2};
  for (std::int64_t i = 0; i < x.elements(); ++i) x[i] = std::round(x[i] * 4);
  if (leaf.saves == Saves::input)
    for (std::int64_t i = 3; i < x.elements(); i += 17) x[i] = arrays::nan;
  const pools::Run<L, UploadedCuda> card{Spec{in}, rows, x, dy};
  const pools::Run<L, EigenCompute> host{Spec{in}, rows, x, dy};
  int off = 0;
  for (std::int64_t i = 0; i < dy.elements(); ++i)
    off += std::isnan(host.output[i]) ? !std::isnan(card.output[i]) : std::abs(card.output[i] - host.output[i]) > static_cast<float>(bound);
  CHECK(off == 0);
  CHECK(card.input_gradient.same_bits(host.input_gradient));
}

}  // namespace

TEST_CASE("poolings keep the laws of every Compute") {
  const Card card;
  CHECK(conformance::broken_law_of_layer<MaxPool2d<KernelSize<2>>, UploadedCuda>(20) == "");
  CHECK(conformance::broken_law_of_layer<MaxPool2d<KernelSize<3>, Stride<2>, Padding<1>>, UploadedCuda>(20) == "");
  CHECK(conformance::broken_law_of_layer<AvgPool2d<KernelSize<3, 2>>, UploadedCuda>(20) == "");
  CHECK(conformance::broken_law_of_layer<AvgPool2d<KernelSize<3>, Stride<1, 2>, Padding<1>>, UploadedCuda>(20) == "");
  CHECK(conformance::broken_law_of_layer<AdaptiveAvgPool2d<1>, UploadedCuda>(20) == "");
  CHECK(conformance::broken_law_of_layer<AdaptiveAvgPool2d<4, 3>, UploadedCuda>(20) == "");
}

TEST_CASE("poolings of many blocks have the bits of Eigen's kernels, with windows that overlap, leave pixels out or are equal, and with NaN") {
  const Card card;
  same_as_eigen<MaxPool2d<KernelSize<2>>>(Shape{3, 29, 31}, 3);
  same_as_eigen<MaxPool2d<KernelSize<3>, Stride<2>, Padding<1>>>(Shape{2, 28, 28}, 2);
  same_as_eigen<MaxPool2d<KernelSize<4, 2>, Stride<1, 3>, Padding<2, 1>>>(Shape{2, 15, 20}, 3);
  same_as_eigen<MaxPool2d<KernelSize<2>, Stride<5, 3>>>(Shape{2, 23, 20}, 2);
  same_as_eigen<AvgPool2d<KernelSize<3>, Stride<2>, Padding<1>>>(Shape{3, 28, 27}, 2);
  same_as_eigen<AvgPool2d<KernelSize<2>, Stride<3>>>(Shape{2, 20, 29}, 2);
  same_as_eigen<AdaptiveAvgPool2d<7, 5>>(Shape{3, 12, 13}, 2);
  same_as_eigen<AdaptiveAvgPool2d<7, 5>>(Shape{3, 3, 4}, 2);  // more places than pixels
}

TEST_CASE("a warp takes the mean of a large window") {
  const Card card;
  same_as_eigen<AdaptiveAvgPool2d<1>>(Shape{5, 14, 15}, 3, 1e-5);
  same_as_eigen<AdaptiveAvgPool2d<1>>(Shape{11, 7, 7}, 1, 1e-5);
  same_as_eigen<AvgPool2d<KernelSize<6, 7>>>(Shape{2, 30, 30}, 2, 1e-5);
}

TEST_CASE("pools by hand: the first of two that are equal, the last NaN, padding as zeros, windows that overlap") {
  const Card card;
  pools::largest<UploadedCuda>();
  pools::largest_of_nan<UploadedCuda>();
  pools::means<UploadedCuda>();
  pools::adaptive_means<UploadedCuda>();
}

TEST_CASE("a line of windows knows the windows of each pixel") {
  const auto check = [](const auto& line, std::int64_t pixels, std::int64_t places) {
    for (std::int64_t pixel = 0; pixel < pixels; ++pixel) {
      const compute_room::PoolRange in = line.places_of(pixel);
      for (std::int64_t place = 0; place < places; ++place) {
        const compute_room::PoolRange of = line.pixels_of(place);
        CHECK((pixel >= of.begin && pixel < of.end) == (place >= in.begin && place < in.end));
      }
    }
  };
  for (const std::int64_t pixels : {1, 2, 5, 12})
    for (std::int64_t size = 1; size <= pixels; ++size)
      for (std::int64_t stride = 1; stride <= 5; ++stride)
        for (std::int64_t padding = 0; 2 * padding <= size; ++padding) {
          const graph_room::SlidingWindow w{.size = {size, 1}, .stride = {stride, 1}, .padding = {padding, 0}};
          check(compute_room::SlidingLine(w, 0, pixels, w.places(0, pixels)), pixels, w.places(0, pixels));
        }
  for (const std::int64_t pixels : {1, 2, 5, 12})
    for (std::int64_t places = 1; places <= 14; ++places) check(compute_room::AdaptiveLine({}, 0, pixels, places), pixels, places);
}

TEST_CASE("no rows are no windows, and a first layer makes no gradient of its input") {
  const Card card;
  pools::nothing<UploadedCuda>();
}
