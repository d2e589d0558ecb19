// SPDX-License-Identifier: MIT
// Room: plan. The rendezvous check: runs the lists to their one least fixed point; what is left over is the witness.
// Sees: plan/lists, core/rule.  Does not see: policies, processes, threads.
// In: EventLists and a lane model.  Out: ok, S03 with a witness, or S04 for transfers that do not match.
#pragma once

#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/plan/lists.hpp"

namespace heddle::inline plan_room {

/// What the execution writes, so that the same code runs in constant expressions and on lists made at run time. All zero at first.
struct RendezvousState {
  int* position = nullptr;   ///< (roles) next event of each role
  int* head = nullptr;       ///< (roles x roles) oldest start of each lane that is not complete
  int* cursor = nullptr;     ///< (roles x roles) where the search for the next receive of a channel goes on
  bool* complete = nullptr;  ///< (events) by start
  int* partner = nullptr;    ///< (events) by start: the start at the other end, -1 if there is none
  int* role = nullptr;       ///< (events)
};

template <int Events, int Roles> struct RendezvousBuffers {
  int position[Roles]{};
  int head[Roles * Roles]{};
  int cursor[Roles * Roles]{};
  bool complete[Events]{};
  int partner[Events]{};
  int role[Events]{};
  constexpr RendezvousState view() { return {position, head, cursor, complete, partner, role}; }
};

/// What orders the events. A test leaves out one class at a time and must see the check err; nothing else names one.
enum class Edge : std::uint8_t { none, program_order, start_of_send, start_of_receive, wait_of_send, wait_of_receive, lane_order };

/// Executes lists under rendezvous: the k-th send start from a to b meets the k-th receive start of b from a; a channel is the ordered pair.
template <Edge LeftOut = Edge::none> struct RendezvousWithout {
  const EventLists& in;
  Lanes lanes;
  RendezvousState s;

  [[nodiscard]] constexpr const Event& event(int index) const { return in.events[index]; }
  [[nodiscard]] static constexpr bool starts(EventKind k) { return k == EventKind::send_start || k == EventKind::receive_start; }
  [[nodiscard]] static constexpr bool waits(EventKind k) { return k == EventKind::send_wait || k == EventKind::receive_wait; }

  /// Finds for each start the start it meets; what stays alone is a leftover.
  constexpr void match() {
    for (int a = 0; a < in.roles; ++a) {
      for (int i = in.begins[a]; i < in.begins[a + 1]; ++i) {
        s.partner[i] = -1;
        s.role[i] = a;
      }
      for (int b = 0; b < in.roles; ++b) s.cursor[a * in.roles + b] = in.begins[b];
      s.position[a] = in.begins[a];
      for (int l = 0; l < lanes_of_a_role(); ++l) s.head[a * lanes_of_a_role() + l] = in.begins[a];
    }
    for (int a = 0; a < in.roles; ++a)
      for (int i = in.begins[a]; i < in.begins[a + 1]; ++i)
        if (event(i).kind == EventKind::send_start) meet(a, i);
  }
  constexpr void meet(int a, int i) {
    const int b = event(i).peer;
    int& other = s.cursor[a * in.roles + b];
    while (other < in.begins[b + 1] && !(event(other).kind == EventKind::receive_start && event(other).peer == a)) ++other;
    if (other == in.begins[b + 1]) return;
    s.partner[i] = other;
    s.partner[other++] = i;
  }
  [[nodiscard]] constexpr bool posted(int index) const {
    if constexpr (LeftOut == Edge::program_order) return true;
    if constexpr (LeftOut == Edge::start_of_send)
      if (event(index).kind == EventKind::send_start) return true;
    if constexpr (LeftOut == Edge::start_of_receive)
      if (event(index).kind == EventKind::receive_start) return true;
    return index < s.position[s.role[index]];
  }

  // A communicator is a pair of roles, so a role has a lane for each peer.
  [[nodiscard]] constexpr int lanes_of_a_role() const { return lanes == Lanes::per_communicator ? in.roles : 1; }
  [[nodiscard]] constexpr int& head(int role, int peer) const { return s.head[lanes == Lanes::per_communicator ? role * in.roles + peer : role]; }

  /// In a lane a start completes only when every earlier start of both devices has.
  [[nodiscard]] constexpr bool heads_lane(int index, int role) const {
    if constexpr (LeftOut == Edge::lane_order) return true;
    return lanes == Lanes::free || head(role, event(index).peer) == index;
  }

  constexpr bool try_complete(int index) {
    const int other = s.partner[index];
    if (s.complete[index] || other < 0 || !posted(index) || !posted(other)) return false;
    const int here = s.role[index];
    const int there = s.role[other];
    if (!heads_lane(index, here) || !heads_lane(other, there)) return false;
    s.complete[index] = s.complete[other] = true;
    pass_head(here, there);
    pass_head(there, here);
    return true;
  }
  constexpr void pass_head(int role, int peer) {
    int& next = head(role, peer);
    while (next < in.begins[role + 1] && (!starts(event(next).kind) || s.complete[next] || in_another_lane(next, peer))) ++next;
  }
  [[nodiscard]] constexpr bool in_another_lane(int index, int peer) const { return lanes == Lanes::per_communicator && event(index).peer != peer; }

  /// What a transport does by itself: completes heads of lanes until none can be.
  constexpr void progress() {
    for (bool moved = true; moved;) {
      moved = false;
      for (int r = 0; r < in.roles; ++r)
        for (int l = 0; l < lanes_of_a_role(); ++l) {
          const int& next = s.head[r * lanes_of_a_role() + l];
          while (next < in.begins[r + 1] && try_complete(next)) moved = true;
        }
    }
  }
  /// One role goes on as far as it can; returns whether anything happened.
  constexpr bool advance(int role) {
    bool moved = false;
    while (s.position[role] < in.begins[role + 1]) {
      const Event& e = event(s.position[role]);
      if (waits(e.kind) && !s.complete[e.start]) {
        if (lanes == Lanes::free)
          try_complete(e.start);
        else
          progress();
        if (!s.complete[e.start] && !passes_anyway(e.kind)) break;
      }
      ++s.position[role];
      moved = true;
    }
    return moved;
  }
  [[nodiscard]] static constexpr bool passes_anyway(EventKind wait) {
    return (LeftOut == Edge::wait_of_send && wait == EventKind::send_wait) || (LeftOut == Edge::wait_of_receive && wait == EventKind::receive_wait);
  }
  constexpr void run() {
    match();
    for (int r = 0; r < in.roles; ++r)
      for (int l = 0; l < lanes_of_a_role(); ++l) pass_head(r, l);
    for (bool moved = true; moved;) {
      moved = false;
      for (int r = 0; r < in.roles; ++r) moved = advance(r) || moved;
    }
  }
};

using Rendezvous = RendezvousWithout<>;

[[nodiscard]] constexpr std::string_view name_of(EventKind k) {
  constexpr std::string_view names[] = {"compute", "send start", "send", "receive start", "receive", "reduce start", "reduce"};
  return names[static_cast<int>(k)];
}

/// The sentence of a stuck execution: every role that waits, at which instruction and for whom.
template <Edge LeftOut> [[nodiscard]] constexpr Diagnosis witness(const RendezvousWithout<LeftOut>& state) {
  Diagnosis found{Code{'S', 3}, "the schedule deadlocks under rendezvous: "};
  bool first = true;
  for (int r = 0; r < state.in.roles; ++r) {
    const int at = state.s.position[r];
    if (at == state.in.begins[r + 1]) continue;
    if (!first) found << ", ";
    first = false;
    const Event& e = state.event(at);
    found << "rank " << r << " at instruction " << at - state.in.begins[r] << " waits to " << name_of(e.kind)
          << (e.kind == EventKind::send_wait ? " to rank " : " from rank ") << e.peer;
  }
  found << ". Fix: post each send and its receive in one order on both ranks, or start both before waiting.";
  return found;
}

/// Executes, then looks for what is stuck, left over or of two sizes. `state` is zeroed by the caller.
/// Errors  S03 deadlock with a witness, S04 a transfer without its other end or with another payload
template <Edge LeftOut = Edge::none>
[[nodiscard]] constexpr Diagnosis check_rendezvous(const EventLists& in, Lanes lanes, const RendezvousState& state) {
  RendezvousWithout<LeftOut> run{in, lanes, state};
  run.run();
  const auto alone = [&](int r, int index) {
    return Diagnosis{Code{'S', 4}, ""} << "rank " << r << " starts at instruction " << index - in.begins[r] << " a transfer with rank "
                                       << run.event(index).peer << " that rank " << run.event(index).peer
                                       << " never starts. Fix: give every send its receive.";
  };
  for (int r = 0; r < in.roles; ++r)
    for (int i = in.begins[r]; i < in.begins[r + 1]; ++i) {
      if (!Rendezvous::starts(run.event(i).kind)) continue;
      if (state.partner[i] < 0) return alone(r, i);
      if (run.event(i).elements != run.event(state.partner[i]).elements)
        return Diagnosis{Code{'S', 4}, ""} << "rank " << r << " and rank " << run.event(i).peer << " exchange " << run.event(i).elements << " and "
                                           << run.event(state.partner[i]).elements
                                           << " elements in one transfer. Fix: let both ends name the same tensor.";
    }
  for (int r = 0; r < in.roles; ++r)
    if (state.position[r] < in.begins[r + 1]) return witness(run);
  return {};
}

}  // namespace heddle::inline plan_room
