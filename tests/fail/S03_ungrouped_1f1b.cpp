// SPDX-License-Identifier: MIT
// expect: \[heddle\.S03\] The schedule deadlocks under rendezvous\.
// expect-g++: waits for the next: rank 0 \[line 3 send to 1\] -> rank 1 \[line 3 send to 0\] -> rank 0\. Fix: post
#include "heddle/core/fire.hpp"
#include "heddle/plan/check/deadlock.hpp"

using namespace heddle;
using namespace heddle::extending;
using namespace heddle::plan_room;

using enum EventKind;

// 1F1B over two stages: rank 0 sends F0 and F1, then receives B0; rank 1 receives F0, then sends B0 and receives F1.
constexpr Event one_by_one[] = {{send_start, 1},    {send_wait, 1, 0},    {send_start, 1},    {send_wait, 1, 2},
                                {receive_start, 1}, {receive_wait, 1, 4}, {receive_start, 0}, {receive_wait, 0, 6},
                                {send_start, 0},    {send_wait, 0, 8},    {receive_start, 0}, {receive_wait, 0, 10}};
// Rank 1 starts both before it waits.
constexpr Event grouped[] = {{send_start, 1},    {send_wait, 1, 0},    {send_start, 1}, {send_wait, 1, 2},  {receive_start, 1}, {receive_wait, 1, 4},
                             {receive_start, 0}, {receive_wait, 0, 6}, {send_start, 0}, {receive_start, 0}, {send_wait, 0, 8},  {receive_wait, 0, 9}};
constexpr int begins[] = {0, 6, 12};

#ifdef HEDDLE_REPAIRED
constexpr const auto& events = grouped;
#else
constexpr const auto& events = one_by_one;
#endif

struct Schedule1F1B {
  static constexpr Diagnosis found = [] {
    RendezvousBuffers<12, 2> buffers;
    return check_rendezvous({events, begins, 2}, Lanes::free, buffers.view());
  }();
};
static_assert(sizeof(fired<Schedule1F1B>) > 0);
