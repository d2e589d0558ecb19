// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/pool.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "compute/eigen/arrays.hpp"

using namespace heddle;
using arrays::Array;

namespace {

template <class L> struct Run {
  Array output, input_gradient;
  Run(const Spec& in, std::int64_t rows, const Array& x, const Array& dy)
      : output(dy.elements(), 0, arrays::nan), input_gradient(x.elements(), 0, arrays::nan) {
    const Leaf leaf = L::describe(in);
    Kernel<L, EigenCompute>::forward({&leaf, rows, x.data(), output.data(), nullptr});
    Kernel<L, EigenCompute>::backward({&leaf, rows, x.data(), nullptr, dy.data(), input_gradient.data(), nullptr});
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

}  // namespace

TEST_CASE("the largest of a window by hand: its gradient goes to the first of two that are equal, and what is beside the image counts nothing") {
  const Array x = filled({-1, -2, -3,  //
                          -4, -5, -3,  //
                          -7, -7, -9});
  const Array dy = filled({1, 10, 100, 1000});
  const Run<MaxPool2d<KernelSize<2>, Stride<2>, Padding<1>>> run{Spec{Shape{1, 3, 3}}, 1, x, dy};
  CHECK(run.output.same_bits(filled({-1, -2, -4, -3})));
  CHECK(run.input_gradient.same_bits(filled({1, 10, 0, 100, 0, 1000, 0, 0, 0})));
  const Run<MaxPool2d<KernelSize<2>, Stride<1>>> overlapping{Spec{Shape{1, 3, 3}}, 1, x, dy};
  CHECK(overlapping.output.same_bits(filled({-1, -2, -4, -3})));
  CHECK(overlapping.input_gradient.same_bits(filled({1, 10, 0, 100, 0, 1000, 0, 0, 0})));
}

TEST_CASE("a NaN is larger than any number, and has the gradient, the last of several") {
  const Array x = filled({1, arrays::nan, HUGE_VALF, arrays::nan});
  const Run<MaxPool2d<KernelSize<1, 4>>> run{Spec{Shape{1, 1, 4}}, 1, x, filled({5})};
  CHECK(std::isnan(run.output[0]));
  CHECK(run.input_gradient.same_bits(filled({0, 0, 0, 5})));
  const Run<MaxPool2d<KernelSize<1, 4>>> low{Spec{Shape{1, 1, 4}}, 1, filled({-HUGE_VALF, -HUGE_VALF, -HUGE_VALF, -HUGE_VALF}), filled({5})};
  CHECK(low.output[0] == -HUGE_VALF);
  CHECK(low.input_gradient.same_bits(filled({5, 0, 0, 0})));
}

TEST_CASE("the mean of a window by hand: the padding counts as zeros") {
  const Array x = filled({1, 2, 3, 4, 5, 6, 7, 8, 9});
  const Run<AvgPool2d<KernelSize<2>, Stride<2>, Padding<1>>> run{Spec{Shape{1, 3, 3}}, 1, x, filled({4, 8, 12, 16})};
  CHECK(run.output.same_bits(filled({0.25F, 1.25F, 2.75F, 7})));
  CHECK(run.input_gradient.same_bits(filled({1, 2, 2, 3, 4, 4, 3, 4, 4})));
  const Run<AvgPool2d<KernelSize<2>, Stride<1>>> overlapping{Spec{Shape{1, 3, 3}}, 1, x, filled({4, 8, 12, 16})};
  CHECK(overlapping.output.same_bits(filled({3, 4, 6, 7})));
  CHECK(overlapping.input_gradient.same_bits(filled({1, 3, 2, 4, 10, 6, 3, 7, 4})));
}

TEST_CASE("adaptive means by hand: windows that overlap, and those of AvgPool2d where their number divides the pixels") {
  const Array x = filled({1, 2, 3, 4, 6});
  const Run<AdaptiveAvgPool2d<1, 3>> run{Spec{Shape{1, 1, 5}}, 1, x, filled({2, 3, 4})};
  CHECK(run.output.same_bits(filled({1.5F, 9 * (1.0F / 3), 5})));
  CHECK(run.input_gradient.same_bits(filled({1, 1 + 3 * (1.0F / 3), 3 * (1.0F / 3), 3 * (1.0F / 3) + 2, 2})));
  const Array image{2 * 4 * 6, 1}, gradient{2 * 2 * 3, 2};
  const Spec in{Shape{2, 4, 6}};
  const Run<AdaptiveAvgPool2d<2, 3>> adaptive{in, 1, image, gradient};
  const Run<AvgPool2d<KernelSize<2>>> fixed{in, 1, image, gradient};
  CHECK(adaptive.output.same_bits(fixed.output));
  CHECK(adaptive.input_gradient.same_bits(fixed.input_gradient));
}

TEST_CASE("pixels in no window have no gradient, and images of all rows and channels are apart") {
  const Spec in{Shape{2, 3, 5}};
  const Array x{3 * 2 * 15, 1};
  Array dy{3 * 2 * 2, 2};
  const Run<MaxPool2d<KernelSize<2>>> all{in, 3, x, dy};
  const Run<AvgPool2d<KernelSize<2>>> mean{in, 3, x, dy};
  for (std::int64_t image = 0; image < 6; ++image) {
    Array one{15}, gradient{2};
    for (std::int64_t i = 0; i < 15; ++i) one[i] = x[image * 15 + i];
    for (std::int64_t i = 0; i < 2; ++i) gradient[i] = dy[image * 2 + i];
    const Run<MaxPool2d<KernelSize<2>>> alone{Spec{Shape{1, 3, 5}}, 1, one, gradient};
    for (std::int64_t i = 0; i < 2; ++i) CHECK(alone.output[i] == all.output[image * 2 + i]);
    for (std::int64_t i = 0; i < 15; ++i) {
      CHECK(alone.input_gradient[i] == all.input_gradient[image * 15 + i]);
      if (i >= 10 || i % 5 == 4) CHECK(mean.input_gradient[image * 15 + i] == 0);
    }
  }
}

TEST_CASE("no rows are no windows, and a first layer makes no gradient of its input") {
  const Leaf leaf = MaxPool2d<KernelSize<2>>::describe(Spec{Shape{1, 2, 2}});
  Array x{4, 1}, y{1, 0, arrays::nan};
  Kernel<MaxPool2d<KernelSize<2>>, EigenCompute>::forward({&leaf, 0, x.data(), y.data(), nullptr});
  CHECK(std::isnan(y[0]));
  Kernel<MaxPool2d<KernelSize<2>>, EigenCompute>::backward({&leaf, 1, x.data(), nullptr, y.data(), nullptr, nullptr});
  Kernel<AvgPool2d<KernelSize<2>>, EigenCompute>::backward({&leaf, 1, x.data(), nullptr, y.data(), nullptr, nullptr});
}
