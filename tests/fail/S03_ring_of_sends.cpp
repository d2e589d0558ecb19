// SPDX-License-Identifier: MIT
// compilers: g++ clang++ clang++-14
// slow: clang++-14
// expect: \[heddle\.S03\] The schedule deadlocks under rendezvous\.
// expect-g++: rank 0 \[line 1 send to 1\] -> rank 1 \[line 1 send to 2\] -> rank 2 \[line 1 send to 0\] -> rank 0\.
#include "heddle/core/fire.hpp"
#include "heddle/plan/check/deadlock.hpp"

using namespace heddle;
using namespace heddle::extending;
using namespace heddle::plan_room;

using enum EventKind;

// nccl #784: everyone in a ring sends first. One rank that receives first frees it.
constexpr Event wrong[] = {{send_start, 1, -1, 1}, {send_wait, 1, 0, 1}, {receive_start, 2, -1, 1}, {receive_wait, 2, 2, 1},
                           {send_start, 2, -1, 1}, {send_wait, 2, 4, 1}, {receive_start, 0, -1, 1}, {receive_wait, 0, 6, 1},
                           {send_start, 0, -1, 1}, {send_wait, 0, 8, 1}, {receive_start, 1, -1, 1}, {receive_wait, 1, 10, 1}};
constexpr Event right[] = {{send_start, 1, -1, 1},    {send_wait, 1, 0, 1},    {receive_start, 2, -1, 1}, {receive_wait, 2, 2, 1},
                           {send_start, 2, -1, 1},    {send_wait, 2, 4, 1},    {receive_start, 0, -1, 1}, {receive_wait, 0, 6, 1},
                           {receive_start, 1, -1, 1}, {receive_wait, 1, 8, 1}, {send_start, 0, -1, 1},    {send_wait, 0, 10, 1}};
constexpr int begins[] = {0, 4, 8, 12};

#ifdef HEDDLE_REPAIRED
constexpr const auto& events = right;
#else
constexpr const auto& events = wrong;
#endif

struct Schedule {
  static constexpr Diagnosis found = [] {
    RendezvousBuffers<12, 3> buffers;
    return check_rendezvous({events, begins, 3}, Lanes::free, buffers.view());
  }();
};
static_assert(sizeof(fired<Schedule>) > 0);
