// SPDX-License-Identifier: MIT
// expect: \[heddle\.S03\] The schedule deadlocks under rendezvous\.
// expect-g++: the schedule deadlocks under rendezvous: rank 0 at instruction 3 waits to send to rank 1, rank 1 at instruction 3 waits to send to rank 0\. Fix: post each send and its receive in one order on both ranks, or start both before waiting\.
#include "heddle/core/fire.hpp"
#include "heddle/plan/deadlock.hpp"

using namespace heddle;

using enum EventKind;

// Two stages: rank 0 sends F0 and F1 before it receives B0; rank 1 receives F0, sends B0 and receives F1, one after another or as a group.
struct OneByOne {
  static constexpr Event events[] = {
    {send_start, 1}, {send_wait, 1, 0}, {send_start, 1}, {send_wait, 1, 2}, {receive_start, 1}, {receive_wait, 1, 4},

#ifdef HEDDLE_REPAIRED
    {receive_start, 0}, {receive_wait, 0, 6}, {receive_start, 0}, {send_start, 0}, {send_wait, 0, 9}, {receive_wait, 0, 8},
#else
    {receive_start, 0}, {receive_wait, 0, 6}, {send_start, 0}, {send_wait, 0, 8}, {receive_start, 0}, {receive_wait, 0, 10},
#endif

  };
  static constexpr int begins[] = {0, 6, std::size(events)};
  static constexpr Diagnosis found = [] {
    RendezvousBuffers<std::size(events), 2> buffers;
    return check_rendezvous({events, begins, 2}, Lanes::free, buffers.view());
  }();
};
static_assert(sizeof(fired<OneByOne>) > 0);
