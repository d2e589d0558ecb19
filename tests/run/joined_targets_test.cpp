// SPDX-License-Identifier: MIT
#include "heddle/run/joined_targets.hpp"

#include <doctest/doctest.h>

#include <concepts>

#include "says.hpp"

using namespace heddle;
using heddle::tests::sentence;
using run_room::joined_targets, run_room::JoinedTarget;

TEST_CASE("targets of two arrays stand side by side in each row") {
  static_assert(std::same_as<JoinedTarget<float, float>, float> && std::same_as<JoinedTarget<std::int32_t, float>, TargetValue>);
  static_assert(std::same_as<JoinedTarget<TargetValue, float>, TargetValue> && std::same_as<JoinedTarget<std::int32_t, std::int32_t>, std::int32_t>);
  const std::int32_t labels[] = {1, 2, 3, 4};
  const float values[] = {5, 6};
  const std::vector<TargetValue> all = joined_targets<std::int32_t, float>(labels, 2, values, 1, 2, true);
  REQUIRE(all.size() == 6);
  CHECK((all[0].label() == 1 && all[1].label() == 2 && all[2].value() == 5 && all[3].label() == 3 && all[5].value() == 6));
  CHECK((joined_targets<std::int32_t, std::int32_t>(labels, 1, labels, 1, 4, true) == std::vector<std::int32_t>{1, 1, 2, 2, 3, 3, 4, 4}));
  CHECK(joined_targets<std::int32_t, float>(labels, 2, values, 1, 1, false).size() == 3);
}

TEST_CASE("an array of other rows is refused") {
  const std::int32_t labels[] = {1, 2, 3, 4};
  const float values[] = {5, 6, 7};
  const std::string begun = "[heddle.D07] the further targets have 3 elements for 4 rows of ";
  CHECK(sentence([&] { static_cast<void>(joined_targets<std::int32_t, float>(labels, 1, values, 1, 4, true)); }) ==
        begun + "1. Fix: give rows x targets elements, and the number of targets of one row.");
  CHECK(sentence([&] { static_cast<void>(joined_targets<std::int32_t, float>(labels, 1, values, 2, 4, false)); }).find(begun + "2.") == 0);
  CHECK(sentence([&] { static_cast<void>(joined_targets<std::int32_t, float>(labels, 1, values, 0, 4, true)); }).find(begun + "0.") == 0);
}
