// SPDX-License-Identifier: MIT
#include "heddle/mesh/axis.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("every axis has a name of its own, the one it is written with") {
  static_assert(name_of(axis::data) == "data");
  static_assert(name_of(axis::shard) == "shard");
  static_assert(name_of(axis::tensor) == "tensor");
  static_assert(name_of(axis::stage) == "stage");
  static_assert(name_of(axis::context) == "context");
  static_assert(name_of(axis::expert) == "expert");
  for (int a = 0; a < axis_count; ++a)
    for (int b = 0; b < a; ++b) CHECK(name_of(static_cast<Axis>(a)) != name_of(static_cast<Axis>(b)));
}

TEST_CASE("axes are numbered from 0 without a gap, so arrays of axis_count hold one entry each") {
  constexpr Axis all[] = {axis::data, axis::shard, axis::tensor, axis::stage, axis::context, axis::expert};
  static_assert(sizeof all / sizeof all[0] == axis_count);
  for (int a = 0; a < axis_count; ++a) CHECK(static_cast<int>(all[a]) == a);
}
