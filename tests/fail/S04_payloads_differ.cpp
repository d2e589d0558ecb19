// SPDX-License-Identifier: MIT
// expect: \[heddle\.S04\] A send does not meet its receive\.
// expect-g++: rank 0 and rank 1 exchange 50 and 10 elements in one transfer\. Fix: let both ends name the same tensor\.
#include "heddle/core/fire.hpp"
#include "heddle/plan/deadlock.hpp"

using namespace heddle;

using enum EventKind;

// Kind, peer, start of a wait, elements.
struct Boundary {
  static constexpr Event events[] = {
    {send_start, 1, -1, 50}, {send_wait, 1, 0},

#ifdef HEDDLE_REPAIRED
    {receive_start, 0, -1, 50}, {receive_wait, 0, 2},
#else
    {receive_start, 0, -1, 10}, {receive_wait, 0, 2},
#endif

  };
  static constexpr int begins[] = {0, 2, std::size(events)};
  static constexpr Diagnosis found = [] {
    RendezvousBuffers<std::size(events), 2> buffers;
    return check_rendezvous({events, begins, 2}, Lanes::free, buffers.view());
  }();
};
static_assert(sizeof(fired<Boundary>) > 0);
