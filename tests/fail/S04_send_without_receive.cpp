// SPDX-License-Identifier: MIT
// expect: \[heddle\.S04\] A send does not meet its receive\.
// expect-g++: rank 0 starts at instruction 2 a transfer with rank 1 that rank 1 never starts\. Fix: give every send its receive\.
#include "heddle/core/fire.hpp"
#include "heddle/plan/check/deadlock.hpp"

using namespace heddle;
using namespace heddle::extending;
using namespace heddle::plan_room;

using enum EventKind;

constexpr Event events[] = {{send_start, 1},    {send_wait, 1, 0},    {send_start, 1},    {send_wait, 1, 2},
                            {receive_start, 0}, {receive_wait, 0, 4}, {receive_start, 0}, {receive_wait, 0, 6}};

#ifdef HEDDLE_REPAIRED
constexpr int begins[] = {0, 4, 8};
#else
constexpr int begins[] = {0, 4, 6};
#endif

struct Leftover {
  static constexpr Diagnosis found = [] {
    RendezvousBuffers<8, 2> buffers;
    return check_rendezvous({events, begins, 2}, Lanes::free, buffers.view());
  }();
};
static_assert(sizeof(fired<Leftover>) > 0);
