// SPDX-License-Identifier: MIT
// Room: cost. Where devices meet in virtual time: transfers between two of them, collectives of a group, and the clock of each.
// Sees: plan/program, cost/{price_list, devices}.  Does not see: processes, threads, kernels.
// In: who starts and waits for what.  Out: Meetings: when that is there.
#pragma once

#include <initializer_list>

#include "heddle/cost/cells.hpp"
#include "heddle/cost/devices.hpp"
#include "heddle/cost/price_list.hpp"

namespace heddle::cost_room {

/// Is told of nothing.
struct NoEvents {
  static constexpr bool on = false;
};

/// A transfer begins when both sides have started it and the bytes of the one before it have left their link; its latency passes beside the next one.
/// What a device reduces and gathers over its groups it does one after another, in the order in which it started that; values between parts of a
/// layer, and norms over stages, have links of their own. Two messages of 100 bytes at 1 s a byte and 10 s of latency arrive after 110 and 210 s.
///
/// Tested  cost/meetings_test
template <class Events> class Meetings {
 public:
  constexpr Meetings(const Program& p, const Machine& m, const Devices& devices, const PriceList& prices, Events& events)
      : p_(p), m_(m), devices_(devices), prices_(prices), events_(events), now_(devices.count()), busy_(devices.count()), sending_(devices.count()),
        wire_(devices.count()), first_(devices.count(), -1), last_(devices.count(), -1), local_(p.roles * p.collective_count, -1) {
    for (int r = 0; r < p.roles; ++r) number_collectives(r);
    global_ = Cells<int>{p.roles * most_, -1};
    for (int r = 0; r < p.roles; ++r)
      for (int c = 0; c < p.collective_count; ++c)
        if (const int local = local_[r * p.collective_count + c]; local >= 0) global_[r * most_ + local] = c;
    const int slots = devices.count() * most_;
    done_ = Cells<double>{slots, -1};
    begin_ = Cells<double>{slots};
    come_ = Cells<int>{slots};
    next_ = Cells<int>{slots, -1};
    transfers_ = p.transfer_count * p.batch.total_micro_batches();
    posted_ = Cells<double>{2 * devices.pipelines() * transfers_, -1};
    arrival_ = Cells<double>{devices.pipelines() * transfers_, -1};
    link_ = Cells<double>{devices.pipelines() * p.roles * p.roles};
    level_ = Cells<int>{p.transfer_count};
    for (int t = 0; t < p.transfer_count; ++t) level_[t] = worst_level(p.transfers[t]);
  }
  [[nodiscard]] constexpr double now(int d) const { return now_[d]; }
  [[nodiscard]] constexpr double busy(int d) const { return busy_[d]; }
  [[nodiscard]] constexpr double sending(int d) const { return sending_[d]; }
  [[nodiscard]] constexpr double bytes(int level) const { return bytes_[level]; }  ///< that all ranks send over links of a level

  /// A device computes; `entry` is -1 for all of the line.
  constexpr void work(int d, double seconds, int line, int entry) {
    if constexpr (Events::on) events_.computed(d, line, entry, now_[d], now_[d] + seconds);
    now_[d] += seconds;
    busy_[d] += seconds;
  }
  constexpr void ended([[maybe_unused]] int d, [[maybe_unused]] int line) {
    if constexpr (Events::on) events_.ended(d, line, now_[d]);
  }

  // ---- transfers
  constexpr void post(int d, int line_number) {
    const Instruction& line = p_.instructions[line_number];
    if (m_.per_message > 0) own_time(d, line_number);
    const bool send = line.op == ListOp::send_start;
    const int slot = slot_of(d, line);
    posted_[2 * slot + (send ? 1 : 0)] = now_[d];
    if constexpr (Events::on) events_.posted(d, slot, send, line_number);
    if (posted_[2 * slot] >= 0 && posted_[2 * slot + 1] >= 0)
      fly(send ? d : devices_.peer(d, line.peer), send ? devices_.peer(d, line.peer) : d, slot, p_.transfers[line.transfer]);
  }
  constexpr bool arrived(int d, const Instruction& line) {
    const int slot = slot_of(d, line);
    if (arrival_[slot] < 0) return false;
    const double there = arrival_[slot] + (line.op == ListOp::send_wait ? m_.acknowledgement : 0);
    if (there <= now_[d]) return true;
    now_[d] = there;
    if constexpr (Events::on) events_.waited_for_transfer(d, slot, line.op == ListOp::send_wait);
    return true;
  }

  // ---- collectives
  constexpr void join(int d, int collective, int line, int entry) {
    if (m_.per_message > 0) own_time(d, line);
    const Axis axis = p_.collectives[collective].axis;
    const int group = slot_of(devices_.member(d, axis, 0), collective), own = slot_of(d, collective);
    done_[own] = -1;
    if (come_[group]++ == 0 || now_[d] > begin_[group]) {
      begin_[group] = now_[d];
      if constexpr (Events::on) events_.latest(group, d);
    }
    if constexpr (Events::on) events_.joined(own, line, entry);
    if (!queued(collective)) {
      if (come_[group] == devices_.members(axis)) settle(d, collective, begin_[group]);
      return;
    }
    if (last_[d] >= 0)
      next_[d * most_ + last_[d]] = local(d, collective);
    else
      first_[d] = local(d, collective);
    last_[d] = local(d, collective);
    serve(d);
  }
  constexpr bool done(int d, int collective) {
    const int own = slot_of(d, collective);
    if (done_[own] < 0) return false;
    if (done_[own] <= now_[d]) return true;
    now_[d] = done_[own];
    if constexpr (Events::on) events_.waited_for_collective(d, own);
    return true;
  }

 private:
  constexpr void number_collectives(int role) {
    int count = 0;
    const auto number = [&](int c) {
      int& local = local_[role * p_.collective_count + c];
      if (local < 0) local = count++;
    };
    for (int i = p_.lists[role].begin; i < p_.lists[role].end; ++i)
      if (p_.instructions[i].collective >= 0) number(p_.instructions[i].collective);
    for (int c = 0; c < p_.chunks; ++c) {
      if (p_.device_of_chunk[c] != role) continue;
      for (const IndexRange* bodies : {p_.forward_bodies, p_.backward_bodies, p_.weight_bodies})
        for (int e = bodies[c].begin; e < bodies[c].end && (p_.training || bodies == p_.forward_bodies); ++e)
          if (p_.entries[e].collective >= 0) number(p_.entries[e].collective);
    }
    if (count > most_) most_ = count;
  }
  [[nodiscard]] constexpr int local(int d, int collective) const { return local_[devices_.role(d) * p_.collective_count + collective]; }
  [[nodiscard]] constexpr int slot_of(int d, int collective) const { return d * most_ + local(d, collective); }
  [[nodiscard]] constexpr int slot_of(int d, const Instruction& line) const {
    return devices_.pipeline(d) * transfers_ + line.transfer * p_.batch.total_micro_batches() + line.micro_batch;
  }
  [[nodiscard]] constexpr bool queued(int collective) const {
    const Collective& c = p_.collectives[collective];
    return !c.at_once() && c.axis != Axis::stage;
  }
  constexpr void own_time(int d, int line) {
    if constexpr (Events::on) events_.started(d, line, now_[d], now_[d] + m_.per_message);
    now_[d] += m_.per_message;
    busy_[d] += m_.per_message;
  }
  /// By role the slowest of all pipelines counts.
  [[nodiscard]] constexpr int worst_level(const Transfer& t) const {
    if (devices_.by_rank() || m_.level_count() == 0) return 0;
    int worst = 0;
    for (int g = 0; g < p_.mesh.ranks() / p_.roles && worst < m_.level_count(); ++g) {
      const int from = p_.mesh.member(g, Axis::stage, t.from_role).value, to = p_.mesh.member(g, Axis::stage, t.to_role).value;
      if (const int level = level_between(m_, from, to); level > worst) worst = level;
    }
    return worst;
  }
  constexpr void fly(int from, int to, int slot, const Transfer& t) {
    const int level = devices_.by_rank() ? level_between(m_, from, to) : level_[static_cast<int>(&t - p_.transfers)];
    const Link link = m_.link(level);
    const auto bytes = static_cast<double>(p_.bytes(t).value);
    double& free = link_[(devices_.pipeline(from) * p_.roles + t.from_role) * p_.roles + t.to_role];
    const double sent = posted_[2 * slot + 1], received = posted_[2 * slot];
    const double both = sent > received ? sent : received;
    const double begin = free > both ? free : both;
    free = begin + bytes * link.beta;
    arrival_[slot] = begin + (link.alpha + link.beta * bytes);
    sending_[from] += link.alpha + link.beta * bytes;
    bytes_[level] += bytes * devices_.copies();
    if constexpr (Events::on)
      events_.moved(from, to, slot, begin, arrival_[slot], p_.bytes(t), begin > both ? 2 : sent >= received ? 0 : 1, &free - &link_[0]);
  }
  /// What is next on the wires of all members of its group begins.
  constexpr void serve(int d) {
    while (first_[d] >= 0) {
      const int c = global_[devices_.role(d) * most_ + first_[d]];
      const Axis axis = p_.collectives[c].axis;
      const int group = slot_of(devices_.member(d, axis, 0), c), members = devices_.members(axis);
      if (come_[group] < members) return;
      double begin = begin_[group];
      int late = -1;
      for (int k = 0; k < members; ++k) {
        const int other = devices_.member(d, axis, k);
        if (first_[other] < 0 || global_[devices_.role(other) * most_ + first_[other]] != c) return;
        if (wire_[other] > begin) begin = wire_[other], late = other;
      }
      if constexpr (Events::on)
        if (late >= 0) events_.behind(group, late);
      settle(d, c, begin);
      for (int k = 0; k < members; ++k) {
        const int other = devices_.member(d, axis, k);
        const int next = next_[other * most_ + first_[other]];
        next_[other * most_ + first_[other]] = -1;
        first_[other] = next;
        if (next < 0) last_[other] = -1;
        wire_[other] = done_[slot_of(other, c)];
      }
      for (int k = 0; k < members; ++k)
        if (const int other = devices_.member(d, axis, k); other != d) serve(other);
    }
  }
  constexpr void settle(int d, int collective, double begin) {
    const CollectiveCost& cost = prices_.collective(collective);
    const Axis axis = p_.collectives[collective].axis;
    const int group = slot_of(devices_.member(d, axis, 0), collective);
    come_[group] = 0;
    for (int k = 0; k < devices_.members(axis); ++k) {
      const int other = devices_.member(d, axis, k);
      const int own = slot_of(other, collective);
      done_[own] = begin + cost.seconds;
      sending_[other] += cost.seconds;
      for (int l = 0; l <= m_.level_count(); ++l) bytes_[l] += cost.bytes[l] * devices_.copies();
      if constexpr (Events::on) events_.reduced(other, own, group, collective, begin, done_[own], cost.sent(), queued(collective));
    }
  }

  const Program& p_;
  const Machine& m_;
  const Devices& devices_;
  const PriceList& prices_;
  Events& events_;
  Cells<double> now_, busy_, sending_;
  Cells<double> wire_;              // by device: until when its collectives take
  Cells<int> first_, last_;         // by device: what waits for its wire, by local number
  Cells<int> local_, global_;       // collectives of a role, numbered from 0, and back
  int most_ = 0;                    // collectives of a role
  Cells<double> done_;              // by device and local number: when it is there; -1 before that is known
  Cells<double> begin_;             // of a group, in the slot of its first member: when the latest has come
  Cells<int> come_;                 // how many have come
  Cells<int> next_;                 // in the line for the wire
  int transfers_ = 0;               // of a pipeline
  Cells<double> posted_, arrival_;  // by pipeline, transfer and micro-batch, posted_ by side as well
  Cells<double> link_;              // by pipeline and pair of roles: when the bytes of the last message have left
  Cells<int> level_;                // of transfers by role
  double bytes_[Machine::most_levels + 1]{};
};

}  // namespace heddle::cost_room
