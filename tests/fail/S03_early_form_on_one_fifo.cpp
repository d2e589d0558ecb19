// SPDX-License-Identifier: MIT
// expect: \[heddle\.S03\] The schedule deadlocks under rendezvous\.
// expect-g++: the schedule deadlocks under rendezvous, each rank waits for the next: rank 0 \[
#include "heddle/core/fire.hpp"
#include "heddle/plan/check/deadlock.hpp"

using namespace heddle;
using namespace heddle::extending;
using namespace heddle::plan_room;

using enum EventKind;

// Receives started a compute ahead (F1 before B0 is sent) meet their sends where transfers are matched by posting, and cross on one FIFO a device.
constexpr Event events[] = {{send_start, 1, -1, 1},  {receive_start, 1, -1, 1}, {send_start, 1, -1, 1},    {send_wait, 1, 0, 1},
                            {send_wait, 1, 2, 1},    {receive_wait, 1, 1, 1},   {receive_start, 0, -1, 1}, {receive_start, 0, -1, 1},
                            {receive_wait, 0, 6, 1}, {send_start, 0, -1, 1},    {receive_wait, 0, 7, 1},   {send_wait, 0, 9, 1}};
constexpr int begins[] = {0, 6, 12};

#ifdef HEDDLE_REPAIRED
constexpr Lanes lanes = Lanes::free;
#else
constexpr Lanes lanes = Lanes::one_per_device;
#endif

struct Schedule {
  static constexpr Diagnosis found = [] {
    RendezvousBuffers<12, 2> buffers;
    return check_rendezvous({events, begins, 2}, lanes, buffers.view());
  }();
};
static_assert(sizeof(fired<Schedule>) > 0);
