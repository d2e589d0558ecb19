// SPDX-License-Identifier: MIT
// expect: \[heddle\.S03\] The schedule deadlocks under rendezvous\.
// expect-g++: rank 0 \[line 1 send to 1\] -> rank 1 \[line 1 send to 0\] -> rank 0\. Fix
#include "heddle/core/fire.hpp"
#include "heddle/plan/check/deadlock.hpp"

using namespace heddle;
using namespace heddle::extending;
using namespace heddle::plan_room;

using enum EventKind;

// A receive that is posted only where it is waited for: the exchange that ends with both starts first does not.
constexpr Event wrong[] = {{send_start, 1, -1, 1}, {send_wait, 1, 0, 1}, {receive_start, 1, -1, 1}, {receive_wait, 1, 2, 1},
                           {send_start, 0, -1, 1}, {send_wait, 0, 4, 1}, {receive_start, 0, -1, 1}, {receive_wait, 0, 6, 1}};
constexpr Event right[] = {{send_start, 1, -1, 1}, {receive_start, 1, -1, 1}, {send_wait, 1, 0, 1}, {receive_wait, 1, 1, 1},
                           {send_start, 0, -1, 1}, {receive_start, 0, -1, 1}, {send_wait, 0, 4, 1}, {receive_wait, 0, 5, 1}};
constexpr int begins[] = {0, 4, 8};

#ifdef HEDDLE_REPAIRED
constexpr const auto& events = right;
#else
constexpr const auto& events = wrong;
#endif

struct Schedule {
  static constexpr Diagnosis found = [] {
    RendezvousBuffers<8, 2> buffers;
    return check_rendezvous({events, begins, 2}, Lanes::free, buffers.view());
  }();
};
static_assert(sizeof(fired<Schedule>) > 0);
