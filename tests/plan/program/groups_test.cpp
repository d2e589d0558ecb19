// SPDX-License-Identifier: MIT
#include "heddle/plan/program/groups.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("a parameter that no option names has the options of the optimizer as they are") {
  constexpr ParameterGroups none;
  static_assert(!none.any() && none.number_of(7) == 0 && none.of(7) == ParameterGroup{});
  constexpr ParameterGroup plain;
  static_assert(plain.numerator == 1 && plain.denominator == 1 && plain.decays && !plain.scales());
}

TEST_CASE("each parameter has the group of its number") {
  static constexpr ParameterGroup list[] = {{}, {1, 10, false}, {3, 1, true}};
  static constexpr std::int16_t of[] = {0, 1, 2, 1};
  constexpr ParameterGroups groups{list, of, 3};
  static_assert(groups.any() && groups.number_of(3) == 1 && groups.of(1) == ParameterGroup{1, 10, false} && groups.of(0) == ParameterGroup{});
  CHECK(groups.of(2).scales());
  CHECK(groups.of(1) == groups.of(3));
  CHECK(groups.of(1) != groups.of(2));
}

TEST_CASE("a piece ends behind its last element") {
  constexpr StepPiece piece{0, 1, 256, 768};
  static_assert(piece.end() == 1024);
  CHECK(piece != StepPiece{0, 2, 256, 768});
}
