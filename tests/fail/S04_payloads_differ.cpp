// SPDX-License-Identifier: MIT
// expect: \[heddle\.S04\] A send does not meet its receive\.
// expect-g++: rank 0 and rank 1 exchange 50 and 10 elements in one transfer\. Fix: let both ends name the same tensor\.
#include "heddle/core/fire.hpp"
#include "heddle/plan/check/deadlock.hpp"

using namespace heddle;
using namespace heddle::extending;
using namespace heddle::plan_room;

using enum EventKind;

#ifdef HEDDLE_REPAIRED
constexpr int received = 50;
#else
constexpr int received = 10;
#endif

constexpr Event events[] = {{send_start, 1, -1, 50}, {send_wait, 1, 0}, {receive_start, 0, -1, received}, {receive_wait, 0, 2}};
constexpr int begins[] = {0, 2, 4};

struct Boundary {
  static constexpr Diagnosis found = [] {
    RendezvousBuffers<4, 2> buffers;
    return check_rendezvous({events, begins, 2}, Lanes::free, buffers.view());
  }();
};
static_assert(sizeof(fired<Boundary>) > 0);
