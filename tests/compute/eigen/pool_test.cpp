// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/pool.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "compute/eigen/arrays.hpp"
#include "compute/pools.hpp"

using namespace heddle;
using arrays::Array;
using pools::Run;

TEST_CASE("pools by hand: the first of two that are equal, the last NaN, padding as zeros, windows that overlap") {
  pools::largest<EigenCompute>();
  pools::largest_of_nan<EigenCompute>();
  pools::means<EigenCompute>();
  pools::adaptive_means<EigenCompute>();
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

TEST_CASE("no rows are no windows, and a first layer makes no gradient of its input") { pools::nothing<EigenCompute>(); }
