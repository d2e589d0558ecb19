// SPDX-License-Identifier: MIT
// Room: cost. One step of a Program in virtual time: each device computes and moves at once, and waits where its list says so.
// Sees: plan/program, plan/read/each_collective, cost/{price_list, devices, meetings}.  Does not see: processes, threads, kernels.
// In: a Program, a Machine.  Out: StepWalk: when each device was done, how long it computed and sent.
#pragma once

#include "heddle/cost/cells.hpp"
#include "heddle/cost/devices.hpp"
#include "heddle/cost/meetings.hpp"
#include "heddle/cost/price_list.hpp"
#include "heddle/plan/read/each_collective.hpp"

namespace heddle::cost_room {

/// Walks all lists at once: a device goes on until it waits for another. A device that is a role stands for all of its replicas.
///
/// `Events` is told of everything that takes time, NoEvents of nothing: then the walk is a constant expression as well.
/// Tested  cost/step_walk_test, cost/simulate_test, oracle/schedules_test
template <class Events> class StepWalk {
 public:
  constexpr StepWalk(const Program& p, const Machine& m, bool by_rank, Events& events, const LayerFactors& factors = {})
      : p_(p), m_(with_working_set(m, largest_arena(p))), events_(events), devices_(p, by_rank), prices_(p, m_, by_rank, factors),
        meetings_(p, m_, devices_, prices_, events), line_(count()), entry_(count(), -1), joined_(count(), false), speed_(count(), 1),
        variant_(count()) {
    for (int d = 0; d < count(); ++d) {
      line_[d] = p.lists[devices_.role(d)].begin;
      if (!by_rank) continue;
      speed_[d] = m.speed(d);
      if (p.batch.share_count > 0) variant_[d] = prices_.variant(p.mesh.coordinate(Rank{d}, Axis::data));
    }
  }
  constexpr void run() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int d = 0; d < count(); ++d) moved = go_on(d) || moved;
    }
  }
  [[nodiscard]] constexpr int count() const { return devices_.count(); }
  [[nodiscard]] constexpr const WalkedDevices& devices() const { return devices_; }
  [[nodiscard]] constexpr const Meetings<Events>& meetings() const { return meetings_; }
  [[nodiscard]] constexpr double busy(int device) const { return meetings_.busy(device); }
  /// The first device whose list is not done though none can go on; -1 if all are done.
  [[nodiscard]] constexpr int standing() const {
    for (int d = 0; d < count(); ++d)
      if (line_[d] < p_.lists[devices_.role(d)].end) return d;
    return -1;
  }
  /// S03 for a Program that no check has seen: a device waits for what never comes.
  [[nodiscard]] constexpr Diagnosis fault() const {
    const int d = standing();
    if (d < 0) return {};
    return Diagnosis{Code{'S', 3}, "device "} << d << " waits at instruction " << line_[d] - p_.lists[devices_.role(d)].begin
                                              << " of its list for what no other device starts. Fix: ask check() of the plan, which says why.";
  }
  /// When the last device has done its last line.
  [[nodiscard]] constexpr double step() const {
    double last = 0;
    for (int d = 0; d < count(); ++d)
      if (meetings_.now(d) > last) last = meetings_.now(d);
    return last;
  }

 private:
  [[nodiscard]] static constexpr Bytes largest_arena(const Program& p) {
    Bytes most;
    for (int r = 0; r < p.roles; ++r)
      if (p.arenas[r].total > most.value) most = Bytes{p.arenas[r].total};
    return most;
  }
  /// Until the device must wait for another; false if it could do nothing.
  constexpr bool go_on(int d) {
    const int line = line_[d], entry = entry_[d];
    const bool joined = joined_[d];
    for (const int end = p_.lists[devices_.role(d)].end; line_[d] < end && advance(d, p_.instructions[line_[d]]);) ++line_[d];
    return line_[d] != line || entry_[d] != entry || joined_[d] != joined;
  }
  /// False if the device must wait for another first.
  constexpr bool advance(int d, const Instruction& line) {
    switch (line.op) {
      case ListOp::forward:
      case ListOp::backward:
      case ListOp::backward_input:
      case ListOp::backward_weight: return compute(d, line);
      case ListOp::send_start:
      case ListOp::receive_start: meetings_.post(d, line_[d]); return true;
      case ListOp::send_wait:
      case ListOp::receive_wait: return meetings_.arrived(d, line);
      case ListOp::reduce_start:
      case ListOp::gather_start:
        if (line.when != When::reporting) meetings_.join(d, line.collective, line_[d], -1);
        return true;
      case ListOp::reduce_wait:
      case ListOp::gather_wait: return line.when == When::reporting || meetings_.done(d, line.collective);
      case ListOp::norm:
      case ListOp::unscale:
      case ListOp::tie:
      case ListOp::step: meetings_.work(d, line_seconds(m_, p_, devices_.role(d), line) / speed_[d], line_[d], -1); return true;
      case ListOp::clip:
      case ListOp::skip:
      case ListOp::guard:
      case ListOp::report: return true;
    }
    return true;
  }
  /// Layers one after another; gathers and reductions run beside them.
  constexpr bool compute(int d, const Instruction& line) {
    const IndexRange& body = p_.body(line);
    int& at = entry_[d];
    if (at < 0) {
      if (const double whole = prices_.body(variant_[d], line); whole >= 0) {
        meetings_.work(d, whole / speed_[d], line_[d], -1);
        return true;
      }
      at = body.begin;
    }
    for (; at < body.end; ++at) {
      const Entry& entry = p_.entries[at];
      if (runs_in(p_, entry.when, line.micro_batch) && !advance(d, entry)) return false;
    }
    at = -1;
    meetings_.ended(d, line_[d]);
    return true;
  }
  constexpr bool advance(int d, const Entry& entry) {
    if (entry.what == BodyOp::reduce_start || entry.what == BodyOp::gather_start) {
      meetings_.join(d, entry.collective, line_[d], entry_[d]);
      return true;
    }
    if (entry.what == BodyOp::reduce_wait || entry.what == BodyOp::gather_wait) return meetings_.done(d, entry.collective);
    const double seconds = prices_.entry(variant_[d], entry_[d]) / speed_[d];
    if (starts_collective(entry.what)) {  // the next entry waits for it
      if (!joined_[d]) {
        if (entry.what == BodyOp::scatter_value) meetings_.work(d, seconds, line_[d], entry_[d]);
        meetings_.join(d, entry.collective, line_[d], entry_[d]);
      }
      joined_[d] = !meetings_.done(d, entry.collective);
      if (joined_[d]) return false;
      if (entry.what == BodyOp::scatter_value) return true;
    }
    meetings_.work(d, seconds, line_[d], entry_[d]);
    return true;
  }

  const Program& p_;
  Machine m_;  // as fast as memory is for what a device has
  Events& events_;
  WalkedDevices devices_;
  PriceList prices_;
  Meetings<Events> meetings_;
  Cells<int> line_;      // by device: which is next
  Cells<int> entry_;     // of the body in hand; -1 outside of one
  Cells<bool> joined_;   // the entry in hand has started what it waits for
  Cells<double> speed_;  // of what a device does for itself
  Cells<int> variant_;   // of the price list
};

}  // namespace heddle::cost_room
