// SPDX-License-Identifier: MIT
// expect: \[heddle\.S04\] A send does not meet its receive\.
// expect-g++: rank 0 and rank 1 exchange 8 and 9 elements in one transfer
#include "heddle/core/fire.hpp"
#include "heddle/plan/check/deadlock.hpp"

using namespace heddle;
using namespace heddle::extending;
using namespace heddle::plan_room;

using enum EventKind;

// Without tags the k-th receive meets the k-th send, whatever is needed first.
constexpr Event wrong[] = {{send_start, 1, -1, 8},    {send_wait, 1, 0, 8},    {send_start, 1, -1, 9},    {send_wait, 1, 2, 9},
                           {receive_start, 0, -1, 9}, {receive_wait, 0, 4, 9}, {receive_start, 0, -1, 8}, {receive_wait, 0, 6, 8}};
constexpr Event right[] = {{send_start, 1, -1, 8},    {send_wait, 1, 0, 8},    {send_start, 1, -1, 9},    {send_wait, 1, 2, 9},
                           {receive_start, 0, -1, 8}, {receive_wait, 0, 4, 8}, {receive_start, 0, -1, 9}, {receive_wait, 0, 6, 9}};
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
