// SPDX-License-Identifier: MIT
#include "heddle/compute/field/reshape.hpp"

#include <doctest/doctest.h>

#include "compute/field/field.hpp"

using namespace in_field;

TEST_CASE("elements stay as they are, in place or copied") {
  const auto x = elements(12);
  const auto check = [&](auto kernel, const Leaf& leaf) {
    using Kernel = decltype(kernel);
    std::vector<float> y(12), dx(12), in_place = x;
    Kernel::forward({&leaf, 2, x.data(), y.data()});
    Kernel::backward({&leaf, 2, nullptr, nullptr, x.data(), dx.data()});
    Kernel::forward({&leaf, 2, in_place.data(), in_place.data()});
    Kernel::backward({&leaf, 2, nullptr, nullptr, x.data(), nullptr});
    CHECK(same(y, x));
    CHECK(same(dx, x));
    CHECK(same(in_place, x));
  };
  check(FieldKernel<Flatten>{}, Flatten::describe(Spec{Shape{2, 3}}));
  check(FieldKernel<Unflatten<2, 3>>{}, Unflatten<2, 3>::describe(Spec{Shape{6}}));
}
