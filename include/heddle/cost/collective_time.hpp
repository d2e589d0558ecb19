// SPDX-License-Identifier: MIT
// Room: cost. Time and bytes of one collective, by algorithm, over a group whose ranks lie on several levels of the network.
// Sees: plan/program/collective, mesh, cost/machine.  Does not see: programs, processes, threads.
// In: a Machine, where a group lies, bytes.  Out: GroupLevels, levels_of, CollectiveCost.
#pragma once

#include <initializer_list>

#include "heddle/cost/machine.hpp"
#include "heddle/mesh/mesh.hpp"
#include "heddle/plan/program/collective.hpp"

namespace heddle::cost_room {

/// How many members of a group lie within one block of each level, the group itself last: 16 ranks in nodes of 8 are {8, 16}.
struct GroupLevels {
  int members = 1;
  int levels = 0;                          ///< of the machine
  int within[Machine::most_levels + 1]{};  ///< the last is `members`

  /// The level whose links join members at this distance: the innermost that holds both.
  [[nodiscard]] constexpr int level_at(int distance) const {
    int level = 0;
    while (level < levels && within[level] <= distance) ++level;
    return level;
  }
  [[nodiscard]] constexpr int outermost() const { return level_at(members - 1); }
  /// The innermost level that holds two members, counted along the group.
  [[nodiscard]] constexpr int level_of(int a, int b) const {
    int level = 0;
    while (level < levels && a / within[level] != b / within[level]) ++level;
    return level;
  }
  /// Blocks of powers of two, and so many members: members whose numbers differ in one bit lie as far apart as the bit says.
  [[nodiscard]] constexpr bool doubles_evenly() const {
    for (int l = 0; l <= levels; ++l)
      if ((within[l] & (within[l] - 1)) != 0) return false;
    return true;
  }
};

/// Where the groups along an axis lie: the stride of the axis in the mesh says which levels they cross. A group that is not cut evenly by the blocks
/// of a level is taken to lie beyond it.
///
/// Tested  cost/collective_time_test
[[nodiscard]] constexpr GroupLevels levels_of(const Machine& m, const Mesh& mesh, Axis axis) {
  const int n = mesh.size(axis), stride = mesh.stride(axis), ranks = mesh.ranks();
  GroupLevels spread{n, m.level_count(), {}};
  for (int l = 0; l < spread.levels; ++l) {
    const int block = m.levels[l].ranks;
    const int group = stride * n;
    const bool inside = ranks <= block || block % group == 0;
    const bool even = block % stride == 0 && group % block == 0;
    const int below = l > 0 ? spread.within[l - 1] : 1;
    const int here = inside ? n : even ? block / stride : 1;
    spread.within[l] = here > below ? here : below;
  }
  spread.within[spread.levels] = n;
  return spread;
}

/// What a collective takes, and what a mean rank sends over the links of each level: an all-reduce of 1,000 bytes as a ring of 4 sends 1,500.
struct CollectiveCost {
  double seconds = 0;
  double bytes[Machine::most_levels + 1]{};

  [[nodiscard]] constexpr double sent() const {
    double sum = 0;
    for (const double b : bytes) sum += b;
    return sum;
  }
};

/// The formulas, step by step, for `bytes` of the whole.
class CollectiveClock {
 public:
  constexpr CollectiveClock(const Machine& machine, const GroupLevels& spread) : m_(machine), s_(spread) {}

  /// (p-1) messages of a p-th in each half; each step takes as long as the slowest link of the ring.
  [[nodiscard]] constexpr CollectiveCost ring(CollectiveKind kind, double bytes) const {
    CollectiveCost cost;
    const int p = s_.members;
    const int halves = kind == CollectiveKind::all_reduce ? 2 : 1;
    double slowest = 0;
    for (int l = 0; l <= s_.outermost(); ++l)
      if (s_.within[l] > (l == 0 ? 1 : s_.within[l - 1])) slowest = longer(slowest, message(l, bytes / p));
    cost.seconds = static_cast<double>(halves) * (p - 1) * slowest + added(kind, bytes * (p - 1) / p);
    const double all = static_cast<double>(halves) * (p - 1) / p * bytes;
    double beyond = 1;  // share of the ring's links that leave the blocks below
    for (int l = 0; l < s_.outermost(); ++l) {
      cost.bytes[l] = all * (beyond - 1.0 / s_.within[l]);
      beyond = 1.0 / s_.within[l];
    }
    cost.bytes[s_.outermost()] = all * beyond;
    return cost;
  }
  /// lg p exchanges of all bytes. Ranks beyond a power of two hand theirs over first and get the sum last. Halves are as by halving and doubling.
  [[nodiscard]] constexpr CollectiveCost recursive_doubling(CollectiveKind kind, double bytes) const {
    if (kind != CollectiveKind::all_reduce) return halving_doubling(kind, bytes);
    CollectiveCost cost;
    const int power = fold(cost, bytes);
    for (int distance = 1; distance < power; distance *= 2) exchange(cost, distance, power, bytes, bytes);
    return cost;
  }
  /// lg p exchanges of a half, a quarter, ... and back. A reduce-scatter or an all-gather of other numbers than powers of two is a ring.
  [[nodiscard]] constexpr CollectiveCost halving_doubling(CollectiveKind kind, double bytes) const {
    CollectiveCost cost;
    int power = 1;
    while (2 * power <= s_.members) power *= 2;
    if (power != s_.members && kind != CollectiveKind::all_reduce) return ring(kind, bytes);
    fold(cost, bytes);
    for (int distance = power / 2; distance >= 1; distance /= 2) {
      const double part = bytes * distance / power;
      if (kind != CollectiveKind::all_gather) exchange(cost, distance, power, part, part);
      if (kind != CollectiveKind::reduce_scatter) exchange(cost, distance, power, part, 0);
    }
    return cost;
  }
  /// Rings inside each block of the smallest level, between those of the next on what is left, and back.
  [[nodiscard]] constexpr CollectiveCost hierarchical(CollectiveKind kind, double bytes) const {
    CollectiveCost cost;
    const int halves = kind == CollectiveKind::all_reduce ? 2 : 1;
    int below = 1;
    for (int l = 0; l <= s_.levels; ++l) {
      const int k = s_.within[l] / below;
      if (k <= 1) continue;
      const double here = bytes / below;
      cost.seconds += static_cast<double>(halves) * (k - 1) * message(l, here / k) + added(kind, here * (k - 1) / k);
      cost.bytes[l] += static_cast<double>(halves) * (k - 1) / k * here;
      below = s_.within[l];
    }
    return cost;
  }
  /// Each rank works on a p-th of the elements, in the memory of all. Seconds are those of the bytes that it fetches: all that it reads, and what it
  /// writes over without having read it. A message fetches two for each of its bytes. What is sent elsewhere counts as sent.
  [[nodiscard]] constexpr CollectiveCost shared_memory(CollectiveKind kind, double bytes, bool apart) const {
    CollectiveCost cost = ring(kind, bytes);
    const double own = apart && kind != CollectiveKind::all_reduce ? bytes / s_.members : 0;
    const Link link = m_.link(s_.outermost());
    cost.seconds = link.alpha + m_.acknowledgement + (bytes + own) * link.beta / 2;
    return cost;
  }

 private:
  [[nodiscard]] static constexpr double longer(double a, double b) { return a > b ? a : b; }
  [[nodiscard]] constexpr double message(int level, double bytes) const {
    const Link link = m_.link(level);
    return link.alpha + m_.acknowledgement + bytes * link.beta;
  }
  [[nodiscard]] constexpr double added(CollectiveKind kind, double bytes) const { return kind == CollectiveKind::all_gather ? 0 : bytes * m_.gamma; }
  /// Pairs of those that a fold has left exchange so many bytes each. It takes as long as the slowest pair.
  constexpr void exchange(CollectiveCost& cost, int distance, int power, double bytes, double sum) const {
    double slowest = 0;
    if (s_.doubles_evenly()) {
      const int level = s_.level_at(distance);
      slowest = message(level, bytes);
      cost.bytes[level] += bytes;
    } else {
      const int folded = s_.members - power;
      const auto member = [&](int left) { return left < folded ? 2 * left + 1 : left + folded; };
      for (int i = 0; i < power; ++i) {
        const int level = s_.level_of(member(i), member(i ^ distance));
        slowest = longer(slowest, message(level, bytes));
        cost.bytes[level] += bytes / s_.members;
      }
    }
    cost.seconds += slowest + sum * m_.gamma;
  }
  /// The largest power of two of ranks is left: each of the others hands its bytes to the neighbour behind it, and has the sum from it at the end.
  constexpr int fold(CollectiveCost& cost, double bytes) const {
    int power = 1;
    while (2 * power <= s_.members) power *= 2;
    if (power == s_.members) return power;
    double slowest = 0;
    for (int i = 0; i < s_.members - power; ++i) {
      const int level = s_.level_of(2 * i, 2 * i + 1);
      slowest = longer(slowest, message(level, bytes));
      cost.bytes[level] += 2 * bytes / s_.members;
    }
    cost.seconds += 2 * slowest + bytes * m_.gamma;
    return power;
  }

  const Machine& m_;
  const GroupLevels& s_;
};

/// By the algorithm of the machine. `apart`: slices lie elsewhere than in the whole, so the own one is written as well.
///
/// Source  sources.md#allreduce, sources.md#collectives
/// Tested  cost/collective_time_test, oracle/collective_formulas_test
[[nodiscard]] constexpr CollectiveCost collective_cost(const Machine& m, const GroupLevels& spread, CollectiveKind kind, double bytes,
                                                       bool apart = false) {
  if (spread.members == 1) return {};
  const CollectiveClock clock{m, spread};
  CollectiveCost best;
  switch (m.collectives) {
    case CollectiveAlgorithm::ring: best = clock.ring(kind, bytes); break;
    case CollectiveAlgorithm::recursive_doubling: best = clock.recursive_doubling(kind, bytes); break;
    case CollectiveAlgorithm::halving_doubling: best = clock.halving_doubling(kind, bytes); break;
    case CollectiveAlgorithm::hierarchical: best = clock.hierarchical(kind, bytes); break;
    case CollectiveAlgorithm::shared_memory: best = clock.shared_memory(kind, bytes, apart); break;
    case CollectiveAlgorithm::fastest:
      best = clock.ring(kind, bytes);
      for (const CollectiveCost& other :
           {clock.recursive_doubling(kind, bytes), clock.halving_doubling(kind, bytes), clock.hierarchical(kind, bytes)})
        if (other.seconds < best.seconds) best = other;
      break;
  }
  best.seconds += m.per_collective;
  return best;
}

/// The level that joins two ranks, and so their link: the innermost with a block that has both.
///
/// Tested  cost/collective_time_test
[[nodiscard]] constexpr int level_between(const Machine& m, int a, int b) {
  int level = 0;
  while (level < m.level_count() && a / m.levels[level].ranks != b / m.levels[level].ranks) ++level;
  return level;
}

}  // namespace heddle::cost_room
