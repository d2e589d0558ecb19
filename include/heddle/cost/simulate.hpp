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
#include "heddle/plan/program.hpp"
#include "heddle/plan/work.hpp"

namespace heddle::inline cost_room {

/// What a step takes. Roles are pipeline positions; replicas of a role do the same at the same time.
struct Estimate {
  Seconds step;               ///< until the last role has done its last instruction
  std::vector<Seconds> busy;  ///< computing, by role
  std::vector<Seconds> idle;  ///< step - busy, by role

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
    reduced_.resize(static_cast<std::size_t>(p.bucket_count));
    gathered_.resize(reduced_.size());
    wire_.resize(roles);
    result_.busy.resize(roles);
    result_.idle.resize(roles);
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
  [[nodiscard]] int& position(int role) { return position_[static_cast<std::size_t>(role)]; }
  [[nodiscard]] double& now(int role) { return clock_[static_cast<std::size_t>(role)]; }
  [[nodiscard]] double& posted(const Instruction& line, bool send) {
    return posted_[static_cast<std::size_t>(2 * (line.transfer * p_.batch.total_micro_batches() + line.micro_batch) + (send ? 1 : 0))];
  }
  /// False if the role must wait for another first.
  bool advance(int role, const Instruction& line) {
    switch (line.op) {
      case Op::forward:
      case Op::backward:
      case Op::backward_input:
      case Op::backward_weight: compute(role, line); return true;
      case Op::send_start:
      case Op::receive_start: posted(line, line.op == Op::send_start) = now(role); return true;
      case Op::send_wait:
      case Op::receive_wait: return wait(role, line);
      case Op::reduce_start:
        if (line.bucket >= 0) start(role, reduced_, line.bucket, line.axis, slices(line.axis) ? 1 : 2);
        return true;
      case Op::gather_start: start(role, gathered_, line.bucket, line.axis, 1); return true;
      case Op::reduce_wait:
        if (line.bucket >= 0) finish(role, reduced_, line.bucket);
        return true;
      case Op::gather_wait: finish(role, gathered_, line.bucket); return true;
      case Op::norm:
      case Op::clip:
      case Op::unscale:
      case Op::skip:
      case Op::tie:
      case Op::report:
      case Op::step: return true;
    }
    return true;
  }
  /// Layers one after another; gathers and reductions run beside them, one at a time on the wire of the role.
  void compute(int role, const Instruction& line) {
    const IndexRange& body = p_.body(line);
    for (int e = body.begin; e < body.end; ++e) {
      const Entry& entry = p_.entries[e];
      if (entry.when == When::last_micro_batch && line.micro_batch + 1 != p_.batch.total_micro_batches()) continue;
      if (entry.when == When::first_micro_batch && line.micro_batch != 0) continue;
      switch (entry.what) {
        case Do::leaf_forward:
        case Do::add:
        case Do::leaf_backward:
        case Do::leaf_backward_input:
        case Do::leaf_backward_weight: work(role, flops_of(p_, entry)); break;
        case Do::reduce_start: start(role, reduced_, entry.bucket, entry.axis, slices(entry.axis) ? 1 : 2); break;
        case Do::reduce_wait: finish(role, reduced_, entry.bucket); break;
        case Do::gather_start: start(role, gathered_, entry.bucket, entry.axis, 1); break;
        case Do::gather_wait: finish(role, gathered_, entry.bucket); break;
        case Do::reduce_value: now(role) += collective(entry, 2); break;
        case Do::gather_value:
        case Do::scatter_value: now(role) += collective(entry, 1); break;
        default: break;
      }
    }
  }
  void work(int role, std::int64_t flops) {
    const double seconds = static_cast<double>(flops) * p_.batch.micro_rows * machine_.per_flop;
    result_.busy[static_cast<std::size_t>(role)].value += seconds;
    now(role) += seconds;
  }
  /// A collective over axis tensor inside a body, a ring that the next entry waits for.
  [[nodiscard]] double collective(const Entry& entry, int ways) const {
    const int n = p_.mesh.size(entry.axis);
    const double bytes = 4 * static_cast<double>(p_.grain_stride(entry.features) * p_.batch.grains());
    return ways * (n - 1) * (machine_.alpha + bytes / n * machine_.beta);
  }
  bool wait(int role, const Instruction& line) {
    const double sent = posted(line, true);
    const double received = posted(line, false);
    if (sent < 0 || received < 0) return false;
    const double bytes = 4 * static_cast<double>(p_.transfers[line.transfer].elements);
    now(role) = std::max(now(role), std::max(sent, received) + machine_.alpha + machine_.beta * bytes);
    return true;
  }
  [[nodiscard]] bool slices(Axis a) const { return p_.storage.parts > 1 && a == p_.storage.axis; }
  /// A collective as a ring: `passes` times (N-1) messages of an N-th; it begins when it is started and the wire of the role is free.
  void start(int role, std::vector<double>& done, int bucket, Axis a, int passes) {
    const int n = p_.mesh.size(a);
    const int parts = slices(a) ? 1 : p_.storage.state_parts();  // along the other axes slices are reduced
    const double bytes = 4 * static_cast<double>(p_.buckets[bucket].elements) / parts;
    double& wire = wire_[static_cast<std::size_t>(role)];
    wire = std::max(wire, now(role)) + passes * (n - 1) * (machine_.alpha + bytes / n * machine_.beta);
    done[static_cast<std::size_t>(bucket)] = wire;
  }
  void finish(int role, const std::vector<double>& done, int bucket) { now(role) = std::max(now(role), done[static_cast<std::size_t>(bucket)]); }

  const Program& p_;
  const Machine& machine_;
  std::vector<double> clock_;
  std::vector<int> position_;
  std::vector<double> posted_;    // by transfer, micro-batch and side; -1 before the start
  std::vector<double> reduced_;   // by bucket
  std::vector<double> gathered_;  // by bucket
  std::vector<double> wire_;      // by role: until when its collectives take
  Estimate result_;
};

/// Estimates one training or evaluation step.
///
/// Errors  none
/// Tested  cost/simulate_test, oracle/schedules_test
[[nodiscard]] inline Estimate simulate(const Program& program, const Machine& machine) { return Simulation{program, machine}.run(); }

}  // namespace heddle::inline cost_room
