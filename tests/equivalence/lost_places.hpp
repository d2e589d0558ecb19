// SPDX-License-Identifier: MIT
// The places of a step at which a rank may be lost, and an observer that loses it there.
#pragma once

#include <stdexcept>
#include <vector>

#include "heddle/plan/program/program.hpp"
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
    const ListOp op = seen.program->instructions[seen.instruction].op;
    return (op >= ListOp::send_start && op <= ListOp::reduce_wait) || op == ListOp::gather_start || op == ListOp::gather_wait;
  }
  switch (seen.program->entries[seen.entry].what) {
    case BodyOp::reduce_start:
    case BodyOp::reduce_wait:
    case BodyOp::gather_start:
    case BodyOp::gather_wait:
    case BodyOp::reduce_value:
    case BodyOp::gather_value:
    case BodyOp::scatter_value:
    case BodyOp::reduce_parameter: return true;
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
