// SPDX-License-Identifier: MIT
#include "heddle/plan/program/region.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/losses/mean_squared_error.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::plan_room;

TEST_CASE("two states of Adam for Linear<16, 16> are two copies of 4,096 bytes, and of 2,048 where two ranks slice them") {
  using Whole = Plan<Linear<16, 16>, MeanSquaredError, Adam, Batch<8>, Single>;
  using Sliced = Plan<Linear<16, 16>, MeanSquaredError, Adam, Batch<8>, Sharded<2>>;
  constexpr Region whole = Whole::training.arenas[0][RegionKind::states];
  constexpr Region sliced = Sliced::training.arenas[0][RegionKind::states];
  static_assert(whole.copies == 2 && whole.slot_bytes == 4'096 && whole.bytes() == 8'192 && whole.parts == 1);
  static_assert(sliced.copies == 2 && sliced.slot_bytes == 2'048 && sliced.parts == 2);
  CHECK(whole.elements() == 1'024);
  CHECK(sliced.elements() == 1'024);  // all slices together
  CHECK(whole.end() == whole.begin + 8'192);
}

TEST_CASE("a flat region finds a bucket by its place in the flat buffer, divided by the slices; a ring by its slot; copies follow each other") {
  const Region flat{.addressing = Addressing::flat, .parts = 4, .copies = 3, .begin = 640, .slot_bytes = 4'096};
  CHECK(flat.at(0, 1) == 640);
  CHECK(flat.at(2'048, 1) == 640 + 2'048);  // 512 elements of each slice lie before it
  CHECK(flat.at(2'048, 0, 2) == 640 + 2'048 + 2 * 4'096);
  const Region ring{.addressing = Addressing::ring, .copies = 2, .begin = 640, .slot_bytes = 4'096};
  CHECK(ring.at(2'048, 0) == 640);
  CHECK(ring.at(2'048, 1) == 640 + 4'096);
}

TEST_CASE("the arena of Linear<16, 16> with SGD has parameters from 0, gradients from 4,096 on, and values behind what is kept") {
  using P = Plan<Linear<16, 16>, MeanSquaredError, SGD, Batch<8>, Single>;
  constexpr ArenaMap map = P::training.arenas[0];
  static_assert(map[RegionKind::parameters].begin == 0 && map[RegionKind::gradients].begin == 4'096);
  CHECK(map.flat_elements() == 1'024);
  CHECK(map.bytes(RegionKind::gradients, RegionKind::losses) == 4'096);
  CHECK(map.value_bytes() == map[RegionKind::pools].bytes() + map[RegionKind::scratch].bytes());
  CHECK(map.value_bytes() == map.total - map[RegionKind::pools].begin);
}
