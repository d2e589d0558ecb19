// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/product_shape.hpp"

#include <doctest/doctest.h>

using namespace heddle;
using namespace compute_room;

TEST_CASE("rows of a result lie as far apart as it has columns, unless a pitch says otherwise") {
  CHECK(ProductShape{.m = 8, .n = 3, .k = 4}.row_pitch() == 3);
  CHECK(ProductShape{.m = 8, .n = 3, .k = 4, .a_pitch = 7, .c_pitch = 5}.row_pitch() == 5);
}

TEST_CASE("values are kept in one of two types") {
  CHECK(type_of_values<float> == ElementType::float32);
  CHECK(type_of_values<BFloat16> == ElementType::bfloat16);
}
