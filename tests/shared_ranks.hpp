// SPDX-License-Identifier: MIT
// What trainers on threads do once the type of their plan is forgotten: compiled once for all tests, and once for all examples and tools.
// Reads nothing but heddle/backend/cpu_threads.hpp, so that a program which lacks an include of its own is found as ever.
#pragma once

#include <cstdint>

#include "heddle/backend/cpu_threads.hpp"

// NOLINTBEGIN(bugprone-macro-parentheses): `extern`, or nothing
#define HEDDLE_SHARED_RANKS(WHERE)                                                                              \
  WHERE template class heddle::run_room::LocalRanks<heddle::CpuThreads::Session>;                               \
  WHERE template class heddle::run_room::TrainedRanks<heddle::CpuThreads::Session, std::int32_t>;               \
  WHERE template class heddle::run_room::TrainedRanks<heddle::CpuThreads::Session, float>;                      \
  WHERE template class heddle::run_room::TrainedRanks<heddle::CpuThreads::Session, std::int32_t, std::int32_t>; \
  WHERE template class heddle::run_room::NamedTensors<heddle::CpuThreads::Session>;                             \
  WHERE template class heddle::run_room::Executor<heddle::CpuThreads::Session::Endpoint>
// NOLINTEND(bugprone-macro-parentheses)
HEDDLE_SHARED_RANKS(extern);
