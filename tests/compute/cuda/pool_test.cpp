// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <string>

#include "compute/cuda/on_card.hpp"
#include "compute/eigen/arrays.hpp"
#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"
#include "heddle/compute/cuda/pool.hpp"
#include "heddle/compute/eigen/pool.hpp"

using namespace heddle;
using arrays::Array;
using conformance::UploadedCuda;
using on_card::Card;

namespace {

template <class L, class C = UploadedCuda> struct Run {
  Array output, input_gradient;
  Run(const Spec& in, std::int64_t rows, const Array& x, const Array& dy)
      : output(dy.elements(), 0, arrays::nan), input_gradient(x.elements(), 0, arrays::nan) {
    const Leaf leaf = L::describe(in);
    run_room::KernelFor<L, C>::forward({&leaf, rows, x.data(), output.data(), nullptr});
    const bool saved = leaf.saves == Saves::input;
    run_room::KernelFor<L, C>::backward({&leaf, rows, saved ? x.data() : nullptr, nullptr, dy.data(), input_gradient.data(), nullptr});
    CHECK(output.guarded());
    CHECK(input_gradient.guarded());
  }
};

Array filled(std::initializer_list<float> values) {
  Array array{std::ssize(values)};
  std::int64_t i = 0;
  for (const float v : values) array[i++] = v;
  return array;
}

/// Bits are those of Eigen's kernel: both add in the order of the windows. Numbers of few values make many that are equal.
template <class L> void same_as_eigen(const Shape& in, std::int64_t rows, double bound = 0) {
  const Leaf leaf = L::describe(Spec{in});
  CAPTURE(leaf.spelled.view());
  Array x{rows * leaf.in.elements(), 1};
  const Array dy{rows * leaf.out.elements(), 2};
  for (std::int64_t i = 0; i < x.elements(); ++i) x[i] = std::round(x[i] * 4);
  if (leaf.saves == Saves::input)
    for (std::int64_t i = 3; i < x.elements(); i += 17) x[i] = arrays::nan;
  const Run<L> card{Spec{in}, rows, x, dy};
  const Run<L, EigenCompute> host{Spec{in}, rows, x, dy};
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

TEST_CASE("the largest of a window by hand: its gradient goes to the first of two that are equal, and to the last NaN") {
  const Card card;
  const Array x = filled({-1, -2, -3,  //
                          -4, -5, -3,  //
                          -7, -7, -9});
  const Array dy = filled({1, 10, 100, 1000});
  const Run<MaxPool2d<KernelSize<2>, Stride<2>, Padding<1>>> run{Spec{Shape{1, 3, 3}}, 1, x, dy};
  CHECK(run.output.same_bits(filled({-1, -2, -4, -3})));
  CHECK(run.input_gradient.same_bits(filled({1, 10, 0, 100, 0, 1000, 0, 0, 0})));
  const Array nans = filled({1, arrays::nan, HUGE_VALF, arrays::nan});
  const Run<MaxPool2d<KernelSize<1, 4>>> spoilt{Spec{Shape{1, 1, 4}}, 1, nans, filled({5})};
  CHECK(std::isnan(spoilt.output[0]));
  CHECK(spoilt.input_gradient.same_bits(filled({0, 0, 0, 5})));
  const Run<MaxPool2d<KernelSize<1, 4>>> low{Spec{Shape{1, 1, 4}}, 1, filled({-HUGE_VALF, -HUGE_VALF, -HUGE_VALF, -HUGE_VALF}), filled({5})};
  CHECK(low.output[0] == -HUGE_VALF);
  CHECK(low.input_gradient.same_bits(filled({5, 0, 0, 0})));
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
  const Leaf leaf = MaxPool2d<KernelSize<2>>::describe(Spec{Shape{1, 2, 2}});
  const Array x{4, 1}, y{1, 0, arrays::nan};
  run_room::KernelFor<MaxPool2d<KernelSize<2>>, UploadedCuda>::forward({&leaf, 0, x.data(), y.data(), nullptr});
  CHECK(std::isnan(y[0]));
  run_room::KernelFor<MaxPool2d<KernelSize<2>>, UploadedCuda>::backward({&leaf, 1, x.data(), nullptr, y.data(), nullptr, nullptr});
  run_room::KernelFor<AvgPool2d<KernelSize<2>>, UploadedCuda>::backward({&leaf, 1, nullptr, nullptr, y.data(), nullptr, nullptr});
}
