// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/reshape.hpp"

#include <doctest/doctest.h>

#include "compute/eigen/arrays.hpp"

using namespace heddle;
using arrays::Array;

TEST_CASE("a reshape in place, or whose gradient nobody needs, is nothing") {
  const Leaf leaf = Flatten::describe(Spec{Shape{2, 3}});
  const Array x(6, 1);
  const Array before = x;
  Kernel<Flatten, EigenCompute>::forward({&leaf, 1, x.data(), x.data(), nullptr, nullptr});
  Kernel<Flatten, EigenCompute>::backward({&leaf, 1, nullptr, nullptr, x.data(), x.data(), nullptr, nullptr, false, nullptr});
  Kernel<Flatten, EigenCompute>::backward({&leaf, 1, nullptr, nullptr, x.data(), nullptr, nullptr, nullptr, false, nullptr});
  CHECK(x.same_bits(before));
}
