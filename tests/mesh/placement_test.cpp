// SPDX-License-Identifier: MIT
#include "heddle/mesh/placement.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("placements are named as users write them") {
  static_assert(name_of(Placement::replicate) == "Replicate");
  static_assert(name_of(Placement::shard) == "Shard");
  static_assert(name_of(Placement::partial) == "Partial");
  CHECK(name_of(Placement::shard) != name_of(Placement::partial));
}

TEST_CASE("what nobody placed is replicated") {
  constexpr Placement untouched{};
  static_assert(untouched == Placement::replicate);
  CHECK(untouched == Placement::replicate);
}
