// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/reshape.hpp"

#include <doctest/doctest.h>

#include "compute/eigen/arrays.hpp"

using namespace heddle;
using arrays::Array;

using SplitTwelve = Unflatten<3, 4>;

TEST_CASE_TEMPLATE("a reshape passes values and gradients on unchanged", L, Flatten, SplitTwelve) {
  const Leaf leaf = L::describe(Spec{Shape{5, 12}});
  REQUIRE(leaf.fault.ok());
  for (const std::int64_t rows : {0, 1, 3}) {
    const Array x(rows * 60, 1);
    const Array dy(rows * 60, 2);
    const Array y(rows * 60);
    const Array dx(rows * 60);
    Kernel<L, EigenCompute>::forward({&leaf, rows, x.data(), y.data(), nullptr, nullptr});
    Kernel<L, EigenCompute>::backward({&leaf, rows, nullptr, nullptr, dy.data(), dx.data(), nullptr, nullptr, false, nullptr});
    CHECK(y.same_bits(x));
    CHECK(dx.same_bits(dy));
    CHECK(y.guarded());
    CHECK(dx.guarded());
  }
}

TEST_CASE("a reshape in place, or whose gradient nobody needs, is nothing") {
  const Leaf leaf = Flatten::describe(Spec{Shape{2, 3}});
  const Array x(6, 1);
  const Array before = x;
  Kernel<Flatten, EigenCompute>::forward({&leaf, 1, x.data(), x.data(), nullptr, nullptr});
  Kernel<Flatten, EigenCompute>::backward({&leaf, 1, nullptr, nullptr, x.data(), x.data(), nullptr, nullptr, false, nullptr});
  Kernel<Flatten, EigenCompute>::backward({&leaf, 1, nullptr, nullptr, x.data(), nullptr, nullptr, nullptr, false, nullptr});
  CHECK(x.same_bits(before));
}
