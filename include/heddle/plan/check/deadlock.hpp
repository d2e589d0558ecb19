// SPDX-License-Identifier: MIT
// Room: plan. The rendezvous check: runs the lists to their one least fixed point; what is left over is the witness.
// Sees: plan/check/lists, core/rule.  Does not see: policies, processes, threads.
// In: EventLists and a lane model.  Out: ok, S03 with a witness, or S04 for transfers that do not match.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/plan/check/lists.hpp"

namespace heddle::plan_room {

/// What the execution writes, so that the same code runs in constant expressions and on lists made at run time. All zero at first.
struct RendezvousState {
  int* position = nullptr;   ///< (roles) next event of each role
  int* head = nullptr;       ///< (2 x roles x roles) by lane: the oldest start that is not complete and the last start, -1 if there is none
  int* unmet = nullptr;      ///< (2 x roles x roles) by channel: first and last start that no start of the other side has met
  int* in_lane = nullptr;    ///< (events) by start: the next start of its lane
  int* partner = nullptr;    ///< (events) by start: the start at the other end, -1 if there is none
  bool* complete = nullptr;  ///< (events) by start
  bool* active = nullptr;    ///< (roles) may be able to go on
};

/// Owns the tables of a RendezvousState that is a constant: for 3 roles head and unmet have 18 entries each, one for each pair and direction.
template <int Events, int Roles> struct RendezvousBuffers {
  int position[std::size_t{Roles}]{};
  int head[std::size_t{2 * Roles * Roles}]{};
  int unmet[std::size_t{2 * Roles * Roles}]{};
  int in_lane[std::size_t{Events}]{};
  int partner[std::size_t{Events}]{};
  bool complete[std::size_t{Events}]{};
  bool active[std::size_t{Roles}]{};
  constexpr RendezvousState view() { return {position, head, unmet, in_lane, partner, complete, active}; }
};

/// What orders the events. A test leaves out one class at a time and must see the check err; nothing else names one.
enum class Edge : std::uint8_t { none, program_order, start_of_send, start_of_receive, wait_of_send, wait_of_receive, lane_order };

/// The two ends of a transfer are of one size; in lists that know more, of one tensor and micro-batch.
template <class Lists> [[nodiscard]] constexpr bool agree(const Lists& in, int a, int b) {
  if constexpr (requires { in.same(a, b); })
    return in.same(a, b);
  else
    return in.elements(a) == in.elements(b);
}

/// Executes lists under rendezvous: the k-th send start from a to b meets the k-th receive start of b from a; a channel is the ordered pair.
/// Lists are EventLists or what else names begin, end, kind, peer, start and elements of its events.
template <class Lists, Edge LeftOut = Edge::none> struct Rendezvous {
  const Lists& in;
  Lanes lanes;
  RendezvousState s;

  /// Finds for each start the start it meets; false if one stays alone or meets another payload. Starts of a channel wait in a list.
  constexpr bool match() {
    bool sound = true;
    int open = 0;
    for (int i = 0; i < 2 * in.roles * in.roles; ++i) s.unmet[i] = s.head[i] = -1;
    for (int a = 0; a < in.roles; ++a) {
      const int end = in.end(a);
      s.position[a] = in.begin(a);
      for (int i = in.begin(a); i < end; ++i) {
        const EventKind kind = in.kind(i);
        if (kind != EventKind::send_start && kind != EventKind::receive_start) continue;
        const int b = in.peer(i);
        int* const lane = s.head + lane_of(a, b);
        (lane[0] < 0 ? lane[0] : s.in_lane[lane[1]]) = i;
        lane[1] = i;
        s.in_lane[i] = -1;
        int* const unmet = s.unmet + 2 * (kind == EventKind::send_start ? a * in.roles + b : b * in.roles + a);
        const int first = unmet[0];
        if (first >= 0 && in.kind(first) != kind) {
          unmet[0] = s.partner[first];
          s.partner[first] = i;
          s.partner[i] = first;
          sound = sound && agree(in, i, first);
          --open;
        } else {
          s.partner[i] = -1;
          (first < 0 ? unmet[0] : s.partner[unmet[1]]) = i;
          unmet[1] = i;
          ++open;
        }
      }
    }
    for (int channel = 0; channel < in.roles * in.roles && open > 0; ++channel)
      for (int i = s.unmet[2 * channel]; i >= 0;) {
        const int next = s.partner[i];
        s.partner[i] = -1;
        i = next;
      }
    return sound && open == 0;
  }
  /// A communicator is a pair of roles, so a role has a lane for each peer; with one lane it has the first of them.
  [[nodiscard]] constexpr int lane_of(int role, int peer) const { return 2 * (role * in.roles + (lanes == Lanes::per_communicator ? peer : 0)); }
  [[nodiscard]] constexpr bool ordered() const { return lanes != Lanes::free && LeftOut != Edge::lane_order; }

  [[nodiscard]] constexpr bool posted(int index, int role) const {
    if constexpr (LeftOut == Edge::program_order) return true;
    if constexpr (LeftOut == Edge::start_of_send)
      if (in.kind(index) == EventKind::send_start) return true;
    if constexpr (LeftOut == Edge::start_of_receive)
      if (in.kind(index) == EventKind::receive_start) return true;
    return index < s.position[role];
  }
  /// Both sides have posted, and in a lane every earlier start of both devices is complete.
  constexpr bool try_complete(int index, int role) {
    const int other = s.partner[index];
    if (s.complete[index] || other < 0) return false;
    const int there = in.peer(index);
    if constexpr (LeftOut == Edge::none) {
      if (index >= s.position[role] || other >= s.position[there]) return false;
    } else if (!posted(index, role) || !posted(other, there)) {
      return false;
    }
    if (ordered()) {
      int& here_next = s.head[lane_of(role, there)];
      int& there_next = s.head[lane_of(there, role)];
      if (here_next != index || there_next != other) return false;
      here_next = s.in_lane[index];
      there_next = s.in_lane[other];
    }
    s.complete[index] = s.complete[other] = s.active[there] = true;
    return true;
  }
  constexpr bool complete_heads(int role) {
    bool any = false;
    const int peers = lanes == Lanes::per_communicator ? in.roles : 1;
    for (int peer = 0; peer < peers; ++peer) {
      const int& next = s.head[lane_of(role, peer)];
      while (next >= 0 && try_complete(next, role)) any = true;
    }
    return any;
  }
  [[nodiscard]] static constexpr bool passes_anyway(EventKind wait) {
    return (LeftOut == Edge::wait_of_send && wait == EventKind::send_wait) || (LeftOut == Edge::wait_of_receive && wait == EventKind::receive_wait);
  }
  /// One role goes on as far as it can, and completes what its lanes let it.
  constexpr void advance(int role) {
    const int end = in.end(role);
    const bool each_by_itself = !ordered();
    do {
      int at = s.position[role];
      for (; at < end; ++at) {
        const EventKind kind = in.kind(at);
        if (kind == EventKind::send_wait || kind == EventKind::receive_wait) {
          if (!s.complete[in.start(at)] && !passes_anyway(kind)) break;
        } else if (each_by_itself && is_start(kind)) {
          s.position[role] = at + 1;
          try_complete(at, role);
        }
      }
      s.position[role] = at;
    } while (!each_by_itself && complete_heads(role));
  }
  /// Until nothing moves. What two roles can complete is found by whichever posts last, or gets its start to the head of its lane last;
  /// the other then has to go on.
  constexpr void run() {
    for (int r = 0; r < in.roles; ++r) s.active[r] = true;
    for (bool moved = true; moved;) {
      moved = false;
      for (int r = 0; r < in.roles; ++r) {
        if (!s.active[r]) continue;
        s.active[r] = false;
        advance(r);
        moved = true;
      }
    }
  }
};

/// Who waits for whom in a stuck execution. A transfer that is not complete waits for one other: that for which the rank at its other end waits
/// before it posts its own end, or the one that stands before it in a lane. So each has one successor, and the way from any of them ends in a circle.
template <class Run> struct WaitGraph {
  const Run& run;

  /// A rank, the line of its list at which it stands, and the start whose completion it waits for there; start < 0: there is none.
  struct Waiter {
    int role = 0;
    int line = 0;
    int start = -1;
    [[nodiscard]] constexpr bool waits() const { return line != start; }  ///< else a start that is first in its lane
  };
  [[nodiscard]] constexpr Waiter stuck(int role) const {
    const int line = run.s.position[role];
    return line < run.in.end(role) && is_wait(run.in.kind(line)) ? Waiter{role, line, run.in.start(line)} : Waiter{};
  }
  [[nodiscard]] constexpr Waiter after(const Waiter& w) const {
    const int other = run.s.partner[w.start];
    const int there = run.in.peer(w.start);
    if (other >= run.s.position[there]) return stuck(there);
    if (!run.ordered()) return {};
    const int ahead = run.s.head[run.lane_of(w.role, there)];
    if (ahead >= 0 && ahead != w.start) return {w.role, ahead, ahead};
    const int ahead_there = run.s.head[run.lane_of(there, w.role)];
    return ahead_there == other ? Waiter{} : Waiter{there, ahead_there, ahead_there};
  }
  /// One of the circle that the lowest rank which waits leads to; the way there may be as long as the circle (Brent).
  [[nodiscard]] constexpr Waiter in_circle() const {
    Waiter seen;
    for (int r = 0; r < run.in.roles && seen.start < 0; ++r) seen = stuck(r);
    if (seen.start < 0) return seen;
    Waiter next = after(seen);
    for (int power = 1, walked = 1; next.start >= 0 && next.start != seen.start; ++walked, next = after(next))
      if (walked == power) {
        seen = next;
        power *= 2;
        walked = 0;
      }
    return next;
  }
  /// "rank 0 [line 1 send to 1]"; a transfer of a Program says what it carries.
  template <int Capacity> constexpr void write(Text<Capacity>& text, const Waiter& w) const {
    const bool sends = run.in.kind(w.start) == EventKind::send_start;
    text << "rank " << w.role << " [line " << w.line - run.in.begin(w.role) << (sends ? " send " : " receive ");
    if constexpr (requires { run.in.payload(w.start); }) text << run.in.payload(w.start) << ' ';
    text << (sends ? "to " : "from ") << run.in.peer(w.start) << (w.waits() ? "] -> " : ", first in its lane] -> ");
  }
};

/// The sentence of a stuck execution: the circle of ranks that wait, from its lowest rank on. Of a long circle the first and the last are told, as
/// many as leave room for the remedy.
template <class Run> [[nodiscard]] constexpr Diagnosis witness(const Run& run) {
  using Graph = WaitGraph<Run>;
  const Graph graph{run};
  typename Graph::Waiter first = graph.in_circle();
  int length = 0;
  int ranks = 0;  // that wait, in the circle or behind it
  for (int r = 0; r < run.in.roles; ++r) ranks += run.s.position[r] < run.in.end(r) ? 1 : 0;
  for (typename Graph::Waiter w = first; first.start >= 0 && (length == 0 || w.start != first.start || w.role != first.role); ++length) {
    if (!run.s.active[w.role]) --ranks;
    run.s.active[w.role] = true;
    w = graph.after(w);
  }
  typename Graph::Waiter lowest = first;
  for (int i = 0; i < length; ++i, first = graph.after(first))
    if (first.role < lowest.role || (first.role == lowest.role && first.line < lowest.line)) lowest = first;
  Diagnosis found{Code{'S', 3}, "the schedule deadlocks under rendezvous, each rank waits for the next: "};
  Text<160> remedy;
  if (ranks > 0) remedy << "; " << ranks << (ranks == 1 ? " other rank waits" : " other ranks wait") << " for one of them";
  remedy << ". Fix: post each send and its receive in one order on both ranks, or start both before waiting.";
  Text<280> circle;
  for (int told = length; told > 0; --told) {
    circle = {};
    typename Graph::Waiter w = lowest;
    for (int i = 0; i < length; ++i, w = graph.after(w)) {
      if (i < (told + 1) / 2 || i >= length - told / 2) graph.write(circle, w);
      if (told < length && i == (told + 1) / 2) circle << "(" << length - told << " more) -> ";
    }
    circle << "rank " << lowest.role;
    if (!circle.cut && found.words.length + circle.length + remedy.length < static_cast<int>(sizeof(found.words.chars))) break;
  }
  return found << circle.view() << remedy.view();
}

/// The sentence of the first start that stays alone or meets another payload or tensor.
template <class Run> [[nodiscard]] constexpr Diagnosis mismatch_of(const Run& run) {
  for (int r = 0; r < run.in.roles; ++r)
    for (int i = run.in.begin(r); i < run.in.end(r); ++i) {
      if (!is_start(run.in.kind(i))) continue;
      const int peer = run.in.peer(i);
      const int other = run.s.partner[i];
      if (other < 0)
        return Diagnosis{Code{'S', 4}, ""} << "rank " << r << " starts at instruction " << i - run.in.begin(r) << " a transfer with rank " << peer
                                           << " that rank " << peer << " never starts. Fix: give every send its receive.";
      if (run.in.elements(i) != run.in.elements(other))
        return Diagnosis{Code{'S', 4}, ""} << "rank " << r << " and rank " << peer << " exchange " << run.in.elements(i) << " and "
                                           << run.in.elements(other) << " elements in one transfer. Fix: let both ends name the same tensor.";
      if (!agree(run.in, i, other))
        return Diagnosis{Code{'S', 4}, ""} << "the transfer that rank " << r << " starts at instruction " << i - run.in.begin(r) << " meets on rank "
                                           << peer << " the start of another, at instruction " << other - run.in.begin(peer)
                                           << ". Fix: start transfers in one order on both ranks.";
    }
  return {};
}

/// Looks for what is left over or of two sizes, then executes. `state` is zeroed by the caller.
/// Errors  S03 deadlock with a witness, S04 a transfer without its other end or with another payload
template <Edge LeftOut = Edge::none, class Lists = EventLists>
[[nodiscard]] constexpr Diagnosis check_rendezvous(const Lists& in, Lanes lanes, const RendezvousState& state) {
  Rendezvous<Lists, LeftOut> run{in, lanes, state};
  if (!run.match()) return mismatch_of(run);
  run.run();
  for (int r = 0; r < in.roles; ++r)
    if (state.position[r] < in.end(r)) return witness(run);
  return {};
}

}  // namespace heddle::plan_room
