// SPDX-License-Identifier: MIT
// expect: \[heddle\.S04\] A send does not meet its receive\.
// expect-g++: rank 0 starts at instruction 0 a transfer with rank 1 that rank 1 never starts
#include "heddle/core/fire.hpp"
#include "heddle/plan/check/deadlock.hpp"

using namespace heddle;
using namespace heddle::extending;
using namespace heddle::plan_room;

using enum EventKind;

// pytorch #128665: a stage that takes its neighbour for granted.
constexpr Event wrong[] = {{send_start, 1, -1, 1}, {send_wait, 1, 0, 1}, {receive_start, 2, -1, 1}, {receive_wait, 2, 2, 1}};
constexpr Event right[] = {{send_start, 1, -1, 1}, {send_wait, 1, 0, 1}, {receive_start, 0, -1, 1}, {receive_wait, 0, 2, 1}};
constexpr int begins[] = {0, 2, 4, 4};

#ifdef HEDDLE_REPAIRED
constexpr const auto& events = right;
#else
constexpr const auto& events = wrong;
#endif

struct Schedule {
  static constexpr Diagnosis found = [] {
    RendezvousBuffers<4, 3> buffers;
    return check_rendezvous({events, begins, 3}, Lanes::free, buffers.view());
  }();
};
static_assert(sizeof(fired<Schedule>) > 0);
