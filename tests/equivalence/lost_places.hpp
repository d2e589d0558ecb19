// SPDX-License-Identifier: MIT
// The places of a step at which a rank may be lost, and an observer that loses it there.
#pragma once

#include <stdexcept>
#include <vector>

#include "heddle/plan/program.hpp"
#include "heddle/run/observer.hpp"

namespace equivalence {

using namespace heddle;

struct Place {
  int instruction = -1;
  int entry = -1;
};

/// Whether a line is a transfer or a collective, its start or its wait.
[[nodiscard]] inline bool communicates(const Observation& seen) {
  if (seen.entry < 0) {
    const Op op = seen.program->instructions[seen.instruction].op;
    return (op >= Op::send_start && op <= Op::reduce_wait) || op == Op::gather_start || op == Op::gather_wait;
  }
  switch (seen.program->entries[seen.entry].what) {
    case Do::reduce_start:
    case Do::reduce_wait:
    case Do::gather_start:
    case Do::gather_wait:
    case Do::reduce_value:
    case Do::gather_value:
    case Do::scatter_value:
    case Do::reduce_parameter: return true;
    default: return false;
  }
}

/// Notes the places of a step, by rank: all of them, or those that communicate.
struct Places : Observer {
  explicit Places(int ranks, bool only_communication) : by_rank(static_cast<std::size_t>(ranks)), only_communication_(only_communication) {}
  void started(const Observation& seen) override {
    if (!only_communication_ || communicates(seen)) by_rank[static_cast<std::size_t>(seen.rank.value)].push_back({seen.instruction, seen.entry});
  }
  std::vector<std::vector<Place>> by_rank;

 private:
  bool only_communication_;
};

/// Throws on one rank at one place, before it is executed or after.
struct Thrower : Observer {
  int rank = -1;
  Place at;
  bool after = false;
  void started(const Observation& seen) override {
    if (!after) meet(seen);
  }
  void finished(const Observation& seen) override {
    if (after) meet(seen);
  }
  virtual void lose() const { throw std::runtime_error("the disk is on fire"); }

 private:
  void meet(const Observation& seen) const {
    if (seen.rank.value == rank && seen.instruction == at.instruction && seen.entry == at.entry) lose();
  }
};

}  // namespace equivalence
