// SPDX-License-Identifier: MIT
// expect: \[heddle\.S04\] A send does not meet its receive\.
// expect-g++: rank 0 starts at instruction 2 a transfer with rank 1 that rank 1 never starts\. Fix: give every send its receive\.
#include "heddle/core/fire.hpp"
#include "heddle/plan/deadlock.hpp"

using namespace heddle;

using enum EventKind;

// Rank 1 receives the first of two sends only.
struct Leftover {
  static constexpr Event events[] = {
    {send_start, 1}, {send_wait, 1, 0}, {send_start, 1}, {send_wait, 1, 2},

#ifdef HEDDLE_REPAIRED
    {receive_start, 0}, {receive_wait, 0, 4}, {receive_start, 0}, {receive_wait, 0, 6},
#else
    {receive_start, 0}, {receive_wait, 0, 4},
#endif

  };
  static constexpr int begins[] = {0, 4, std::size(events)};
  static constexpr Diagnosis found = [] {
    RendezvousBuffers<std::size(events), 2> buffers;
    return check_rendezvous({events, begins, 2}, Lanes::free, buffers.view());
  }();
};
static_assert(sizeof(fired<Leftover>) > 0);
