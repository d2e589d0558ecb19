// SPDX-License-Identifier: MIT
#include "heddle/core/rooms.hpp"

#include <doctest/doctest.h>

#include <type_traits>

#include "heddle/core/units.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/plan/plan.hpp"

TEST_CASE("a room has the names of the rooms below it") {
  static_assert(std::is_same_v<heddle::graph_room::Bytes, heddle::core_room::Bytes>);
  static_assert(std::is_same_v<heddle::plan_room::Bytes, heddle::core_room::Bytes>);
  static_assert(std::is_same_v<heddle::backend_room::Linear<4, 3>, heddle::graph_room::Linear<4, 3>>);
  static_assert(std::is_same_v<heddle::io_room::Program, heddle::plan_room::Program>);
}

TEST_CASE("what users write is the same type in heddle and in its room") {
  static_assert(std::is_same_v<heddle::Bytes, heddle::core_room::Bytes>);
  static_assert(std::is_same_v<heddle::Linear<4, 3>, heddle::graph_room::Linear<4, 3>>);
}

namespace of_a_user {
using namespace heddle;
constexpr Bytes budget = 2_KiB;
}  // namespace of_a_user

TEST_CASE("numbers of bytes have their suffixes in heddle") { CHECK(of_a_user::budget.value == 2048); }
