// SPDX-License-Identifier: MIT
// Room: cost. Time of one step under a Machine: the lists of a Program are walked, nothing is run.
// Sees: plan, cost/machine.  Does not see: processes, threads, kernels.
// In: a Program, a Machine.  Out: Estimate.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "heddle/core/units.hpp"
#include "heddle/cost/machine.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/plan/read/each_collective.hpp"
#include "heddle/plan/read/work.hpp"

namespace heddle::cost_room {

/// What a step takes. Roles are pipeline positions; replicas of a role do the same at the same time: that of the largest share stands for all,
/// as if the devices of smaller shares were slower by as much. Batch<128> over WeightedDataParallel<3, 1> takes as long as 96 rows.
struct Estimate {
  Seconds step;                  ///< until the last role has done its last instruction
  std::vector<Seconds> busy;     ///< computing, by role
  std::vector<Seconds> idle;     ///< step - busy, by role
  std::vector<Seconds> sending;  ///< by role, of a mean rank: all messages one after another, also those that leave while it computes

  /// Share of the time of all roles that is not spent computing: (p-1)/(m+p-1) for GPipe and 1F1B of equal stages.
  [[nodiscard]] double bubble() const {
    double sum = 0;
    for (const Seconds& s : idle) sum += s.value;
    return step.value > 0 ? sum / (step.value * static_cast<double>(idle.size())) : 0;
  }
};

/// Walks all lists at once; a transfer begins when both sides have started it and nothing else delays it.
class Simulation {
 public:
  Simulation(const Program& p, const Machine& machine) : p_(p), machine_(machine) {
    const auto roles = static_cast<std::size_t>(p.roles);
    clock_.resize(roles);
    position_.resize(roles);
    for (std::size_t r = 0; r < roles; ++r) position_[r] = p.lists[r].begin;
    const auto transfers = static_cast<std::size_t>(p.transfer_count * p.batch.total_micro_batches());
    posted_.assign(2 * transfers, -1);
    done_.resize(roles * static_cast<std::size_t>(p.collective_count));
    joined_.assign(roles, -1);
    wire_.resize(roles);
    result_.busy.resize(roles);
    result_.idle.resize(roles);
    result_.sending.resize(roles);
  }
  [[nodiscard]] Estimate run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int r = 0; r < p_.roles; ++r)
        while (position(r) < p_.lists[r].end && advance(r, p_.instructions[position(r)])) {
          ++position(r);
          moved = true;
        }
    }
    for (const double t : clock_) result_.step.value = std::max(result_.step.value, t);
    for (std::size_t r = 0; r < clock_.size(); ++r) result_.idle[r].value = result_.step.value - result_.busy[r].value;
    return result_;
  }

 private:
  [[nodiscard]] static std::size_t at(int number) { return static_cast<std::size_t>(number); }
  [[nodiscard]] int& position(int role) { return position_[at(role)]; }
  [[nodiscard]] double& now(int role) { return clock_[at(role)]; }
  [[nodiscard]] double& done(int role, int collective) { return done_[at(role * p_.collective_count + collective)]; }
  [[nodiscard]] bool over_stages(const Instruction& line) const { return p_.collectives[line.collective].axis == Axis::stage; }
  [[nodiscard]] double& posted(const Instruction& line, bool send) {
    return posted_[static_cast<std::size_t>(2 * (line.transfer * p_.batch.total_micro_batches() + line.micro_batch) + (send ? 1 : 0))];
  }
  /// False if the role must wait for another first.
  bool advance(int role, const Instruction& line) {
    switch (line.op) {
      case ListOp::forward:
      case ListOp::backward:
      case ListOp::backward_input:
      case ListOp::backward_weight: compute(role, line); return true;
      case ListOp::send_start:
      case ListOp::receive_start: posted(line, line.op == ListOp::send_start) = now(role); return true;
      case ListOp::send_wait:
      case ListOp::receive_wait: return wait(role, line);
      case ListOp::reduce_start:
        if (over_stages(line))
          joined_[at(role)] = now(role);
        else if (line.when != When::reporting)
          start(role, line.collective);
        return true;
      case ListOp::reduce_wait:
        if (over_stages(line)) return join(role, p_.collectives[line.collective]);
        if (line.when != When::reporting) finish(role, line.collective);
        return true;
      case ListOp::gather_start: start(role, line.collective); return true;
      case ListOp::gather_wait: finish(role, line.collective); return true;
      case ListOp::norm:
      case ListOp::clip:
      case ListOp::unscale:
      case ListOp::skip:
      case ListOp::guard:
      case ListOp::tie:
      case ListOp::report:
      case ListOp::step: return true;
    }
    return true;
  }
  /// Layers one after another; gathers and reductions run beside them, one at a time on the wire of the role.
  void compute(int role, const Instruction& line) {
    const IndexRange& body = p_.body(line);
    for (int e = body.begin; e < body.end; ++e) {
      const Entry& entry = p_.entries[e];
      if (!runs_in(p_, entry.when, line.micro_batch)) continue;
      switch (entry.what) {
        case BodyOp::leaf_forward:
        case BodyOp::add:
        case BodyOp::leaf_backward:
        case BodyOp::leaf_backward_input:
        case BodyOp::leaf_backward_weight: work(role, flops_of(p_, entry)); break;
        case BodyOp::reduce_start:
        case BodyOp::gather_start: start(role, entry.collective); break;
        case BodyOp::reduce_wait:
        case BodyOp::gather_wait: finish(role, entry.collective); break;
        case BodyOp::reduce_value:
        case BodyOp::gather_value:
        case BodyOp::scatter_value:
        case BodyOp::reduce_phase:
        case BodyOp::reduce_parameter: now(role) += ring(role, p_.collectives[entry.collective]); break;  // the next entry waits for it
        case BodyOp::load_input:
        case BodyOp::load_targets:
        case BodyOp::copy:
        case BodyOp::loss:
        case BodyOp::loss_terms:
        case BodyOp::store_output:
        case BodyOp::zero_gaps:
        case BodyOp::add_slice:
        case BodyOp::sum_grains:
        case BodyOp::slice_value: break;
      }
    }
  }
  void work(int role, std::int64_t flops) {
    const double seconds = static_cast<double>(flops) * p_.batch.micro_rows * machine_.per_flop;
    result_.busy[at(role)].value += seconds;
    now(role) += seconds;
  }
  /// As a ring: (N-1) messages of an N-th in each half.
  [[nodiscard]] double ring(int role, const Collective& c) {
    const int n = p_.mesh.size(c.axis);
    const double bytes = float_bytes * static_cast<double>(c.floats());
    const double seconds = static_cast<double>(c.halves()) * (n - 1) * (machine_.alpha + bytes / n * machine_.beta);
    result_.sending[at(role)].value += seconds;
    return seconds;
  }
  bool wait(int role, const Instruction& line) {
    const double sent = posted(line, true);
    const double received = posted(line, false);
    if (sent < 0 || received < 0) return false;
    const double seconds = machine_.alpha + machine_.beta * static_cast<double>(p_.bytes(p_.transfers[line.transfer]).value);
    if (line.op == ListOp::send_wait) result_.sending[at(role)].value += seconds;
    now(role) = std::max(now(role), std::max(sent, received) + seconds);
    return true;
  }
  /// A norm over all stages begins when the last of them has its own.
  bool join(int role, const Collective& norm) {
    double begin = 0;
    for (const double joined : joined_) {
      if (joined < 0) return false;
      begin = std::max(begin, joined);
    }
    now(role) = begin + ring(role, norm);
    return true;
  }
  /// Begins when it is started and the wire of the role is free.
  void start(int role, int collective) {
    double& wire = wire_[at(role)];
    wire = std::max(wire, now(role)) + ring(role, p_.collectives[collective]);
    done(role, collective) = wire;
  }
  void finish(int role, int collective) { now(role) = std::max(now(role), done(role, collective)); }

  const Program& p_;
  const Machine& machine_;
  std::vector<double> clock_;
  std::vector<int> position_;
  std::vector<double> posted_;  // by transfer, micro-batch and side; -1 before the start
  std::vector<double> done_;    // by role and collective
  std::vector<double> joined_;  // by role: when it has started the norm over all stages; -1 before
  std::vector<double> wire_;    // by role: until when its collectives take
  Estimate result_;
};

/// Estimates one training or evaluation step. What only a step that reports its loss does is left out, and so is the arithmetic of closing lines:
/// norms, clipping, sums of tied gradients and the optimizer take no time, whatever there is to step.
///
/// Errors  none
/// Tested  cost/simulate_test, oracle/schedules_test
[[nodiscard]] inline Estimate simulate(const Program& program, const Machine& machine) { return Simulation{program, machine}.run(); }

}  // namespace heddle::cost_room

namespace heddle::extending {
using cost_room::Estimate, cost_room::simulate;
}  // namespace heddle::extending
