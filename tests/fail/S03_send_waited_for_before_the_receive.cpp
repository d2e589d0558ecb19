// SPDX-License-Identifier: MIT
// expect: \[heddle\.S03\] The schedule deadlocks under rendezvous\.
// expect-g++: rank 0 \[line 2 send to 1\] -> rank 1
#include "heddle/core/fire.hpp"
#include "heddle/plan/check/deadlock.hpp"

using namespace heddle;
using namespace heddle::extending;
using namespace heddle::plan_room;

using enum EventKind;

// Megatron-LM PR #5240: a send is waited for after the next one, with no receive between.
constexpr Event wrong[] = {{send_start, 1, -1, 1},   {send_start, 1, -1, 1}, {send_wait, 1, 0, 1},      {receive_start, 1, -1, 1},
                           {receive_wait, 1, 3, 1},  {send_wait, 1, 1, 1},   {receive_start, 1, -1, 1}, {receive_wait, 1, 6, 1},
                           {send_start, 0, -1, 1},   {send_start, 0, -1, 1}, {send_wait, 0, 8, 1},      {receive_start, 0, -1, 1},
                           {receive_wait, 0, 11, 1}, {send_wait, 0, 9, 1},   {receive_start, 0, -1, 1}, {receive_wait, 0, 14, 1}};
constexpr Event right[] = {{send_start, 1, -1, 1}, {send_start, 1, -1, 1},    {receive_start, 1, -1, 1}, {receive_wait, 1, 2, 1},
                           {send_wait, 1, 0, 1},   {receive_start, 1, -1, 1}, {receive_wait, 1, 5, 1},   {send_wait, 1, 1, 1},
                           {send_start, 0, -1, 1}, {send_start, 0, -1, 1},    {receive_start, 0, -1, 1}, {receive_wait, 0, 10, 1},
                           {send_wait, 0, 8, 1},   {receive_start, 0, -1, 1}, {receive_wait, 0, 13, 1},  {send_wait, 0, 9, 1}};
constexpr int begins[] = {0, 8, 16};

#ifdef HEDDLE_REPAIRED
constexpr const auto& events = right;
#else
constexpr const auto& events = wrong;
#endif

struct Schedule {
  static constexpr Diagnosis found = [] {
    RendezvousBuffers<16, 2> buffers;
    return check_rendezvous({events, begins, 2}, Lanes::free, buffers.view());
  }();
};
static_assert(sizeof(fired<Schedule>) > 0);
