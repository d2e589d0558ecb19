// SPDX-License-Identifier: MIT
// expect: \[heddle\.S03\] The schedule deadlocks under rendezvous\.
// expect-g++: waits for the next: rank 0 \[line 1 send to 1\] -> rank 1 \[line 1 send to 0\] -> rank 0\. Fix: post
#include "heddle/core/fire.hpp"
#include "heddle/plan/check/deadlock.hpp"

using namespace heddle;
using namespace heddle::extending;
using namespace heddle::plan_room;

using enum EventKind;

// pytorch #172668: rank 0 runs [0SEND_F1, 2RECV_F0], rank 1 [1SEND_F0, 1RECV_F1], and a send blocks until its receive is there.
constexpr Event both_send_first[] = {{send_start, 1}, {send_wait, 1, 0}, {receive_start, 1}, {receive_wait, 1, 2},
                                     {send_start, 0}, {send_wait, 0, 4}, {receive_start, 0}, {receive_wait, 0, 6}};
constexpr Event one_sends_first[] = {{send_start, 1},    {send_wait, 1, 0},    {receive_start, 1}, {receive_wait, 1, 2},
                                     {receive_start, 0}, {receive_wait, 0, 4}, {send_start, 0},    {send_wait, 0, 6}};
constexpr int begins[] = {0, 4, 8};

#ifdef HEDDLE_REPAIRED
constexpr const auto& events = one_sends_first;
#else
constexpr const auto& events = both_send_first;
#endif

struct Exchange {
  static constexpr Diagnosis found = [] {
    RendezvousBuffers<8, 2> buffers;
    return check_rendezvous({events, begins, 2}, Lanes::free, buffers.view());
  }();
};
static_assert(sizeof(fired<Exchange>) > 0);
