// SPDX-License-Identifier: MIT
// Room: run. Whoever wants to see a step go by: every instruction and every entry of a body, with start and end.
// Sees: plan/program, core.  Does not see: threads, compute, transport.
// In: what the executor does.  Out: Observation, Observer.
#pragma once

#include <chrono>
#include <cstdint>

#include "heddle/plan/program/program.hpp"

namespace heddle::run_room {

/// One line of the Program as it was executed by one rank. The forward of micro-batch 2 in step 5 says 2 and 5, and when it began and ended.
struct Observation {
  Rank rank;
  const Program* program = nullptr;
  std::int32_t instruction = 0;  ///< index in Program::instructions
  std::int32_t entry = -1;       ///< index in Program::entries, or -1 for the instruction itself
  std::int16_t micro_batch = -1;
  std::int64_t step = 0;
  std::chrono::steady_clock::time_point start;
  std::chrono::steady_clock::time_point end;  ///< set when `finished` is called
};

/// Called from the threads of the ranks, several at once: an observer keeps what it writes apart by rank.
///
/// Tested  run/observer_test, run/executor_test
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void started(const Observation&) {}
  virtual void finished(const Observation&) {}
};

}  // namespace heddle::run_room

namespace heddle::extending {
using run_room::Observation, run_room::Observer;
}  // namespace heddle::extending
