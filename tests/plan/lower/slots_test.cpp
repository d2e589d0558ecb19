// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/slots.hpp"

#include <doctest/doctest.h>

using namespace heddle;
using namespace heddle::plan_room;

namespace {

/// One pool of four micro-batches.
struct Work {
  int state[4]{};
  bool occupied[4]{};
  std::int16_t slots[4]{};
};

}  // namespace

TEST_CASE("if micro-batches 0 and 1 have slots 0 and 1 and the first is done, micro-batch 2 takes slot 0") {
  Work work;
  SlotAllocator<Work> slots{work, 4};
  slots.has_bytes[0] = true;
  slots.take(0, 0);
  slots.take(0, 1);
  slots.take(0, 1);  // it has one already
  slots.done(0, 0);
  slots.take(0, 2);
  CHECK((work.slots[0] == 0 && work.slots[1] == 1 && work.slots[2] == 0));
  CHECK(slots.slot_count[0] == 2);
}

TEST_CASE("what is sent keeps its slot until the last of its sends is waited for, and what has no bytes takes none") {
  Work work;
  SlotAllocator<Work> slots{work, 4};
  slots.take(0, 0);
  CHECK((slots.slot_count[0] == 0 && !work.occupied[0]));
  slots.has_bytes[0] = true;
  slots.take(0, 0);
  work.state[0] += 2 * SlotAllocator<Work>::send;
  slots.done(0, 0);
  slots.sent(0, 0);
  CHECK(work.occupied[0]);
  slots.take(0, 1);
  CHECK(work.slots[1] == 1);
  slots.sent(0, 0);
  CHECK(!work.occupied[0]);
}
