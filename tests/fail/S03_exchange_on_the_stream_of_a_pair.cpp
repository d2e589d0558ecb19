// SPDX-License-Identifier: MIT
// expect: \[heddle\.S03\] The schedule deadlocks under rendezvous\.
// expect-g++: rank 0 \[line 0 send to 1, first in its lane\] -> rank 1 \[line 0 send to 0, first in its lane\] -> rank 0\.
#include "heddle/core/fire.hpp"
#include "heddle/plan/check/deadlock.hpp"

using namespace heddle;
using namespace heddle::extending;
using namespace heddle::plan_room;

using enum EventKind;

// nccl #479: both ranks start their send first on the communicator of the pair, whose stream keeps the order.
constexpr Event events[] = {{send_start, 1, -1, 1}, {receive_start, 1, -1, 1}, {send_wait, 1, 0, 1}, {receive_wait, 1, 1, 1},
                            {send_start, 0, -1, 1}, {receive_start, 0, -1, 1}, {send_wait, 0, 4, 1}, {receive_wait, 0, 5, 1}};
constexpr int begins[] = {0, 4, 8};

#ifdef HEDDLE_REPAIRED
constexpr Lanes lanes = Lanes::free;
#else
constexpr Lanes lanes = Lanes::per_communicator;
#endif

struct Schedule {
  static constexpr Diagnosis found = [] {
    RendezvousBuffers<8, 2> buffers;
    return check_rendezvous({events, begins, 2}, lanes, buffers.view());
  }();
};
static_assert(sizeof(fired<Schedule>) > 0);
