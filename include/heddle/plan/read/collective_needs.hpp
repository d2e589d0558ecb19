// SPDX-License-Identifier: MIT
// Room: plan. What the collectives of a plan ask along each axis: which kinds, how large, how many at a time.
// Sees: plan/program.  Does not see: policies, processes, threads.
// In: training and evaluation.  Out: CollectiveNeeds and starts_under_way, which a transport is made for.
#pragma once

#include <cstdint>

#include "heddle/plan/program/program.hpp"
#include "heddle/plan/read/each_collective.hpp"

namespace heddle::plan_room {

/// What the collectives along one axis ask. DataParallel<2> of Linear<16, 16> asks for all-reduces of at most 1,024 elements along axis data.
struct AxisNeeds {
  std::int64_t largest[collective_kinds]{};  ///< [floats], by kind, of the whole; 0: none is of that kind

  [[nodiscard]] constexpr bool any() const {
    for (const std::int64_t most : largest)
      if (most > 0) return true;
    return false;
  }
  [[nodiscard]] constexpr std::int64_t of(CollectiveKind kind) const { return largest[static_cast<int>(kind)]; }
  [[nodiscard]] constexpr std::int64_t largest_sum() const {
    const std::int64_t whole = of(CollectiveKind::all_reduce), scattered = of(CollectiveKind::reduce_scatter);
    return whole > scattered ? whole : scattered;
  }
};

/// The same by axis. Pipeline<Balanced<2>> alone asks for nothing along any.
struct CollectiveNeeds {
  AxisNeeds along[axis_count]{};
  [[nodiscard]] constexpr const AxisNeeds& on(Axis a) const { return along[static_cast<int>(a)]; }
};

/// Read off both tables.
///
/// Tested  plan/read/collective_needs_test, run/transport_needs_test
[[nodiscard]] constexpr CollectiveNeeds collective_needs(const Program& training, const Program& evaluation) {
  CollectiveNeeds needs;
  for (const Program* p : {&training, &evaluation}) {
    for (int i = 0; i < p->collective_count; ++i) {
      const Collective& c = p->collectives[i];
      const int a = static_cast<int>(c.axis);
      std::int64_t& most = needs.along[a].largest[static_cast<int>(c.kind)];
      if (c.floats() > most) most = c.floats();
    }
  }
  return needs;
}

/// How many starts along an axis a rank of one role has behind it since the oldest that it has not waited for, at most: a transport keeps a place for
/// each of them, also for those that were waited for meanwhile. Of two buckets whose sums start in a body and are waited for at its end, and three
/// sums of values between, it is 5.
class StartsUnderWay {
 public:
  constexpr explicit StartsUnderWay(const Program& p) : p_(p), begun_(new std::int64_t[static_cast<std::size_t>(p.collective_count) + 1]()) {
    for (int r = 0; r < p.roles; ++r)
      for (int i = p.lists[r].begin; i < p.lists[r].end; ++i) line(p.instructions[i]);
  }
  StartsUnderWay(const StartsUnderWay&) = delete;
  StartsUnderWay& operator=(const StartsUnderWay&) = delete;
  constexpr ~StartsUnderWay() { delete[] begun_; }

  [[nodiscard]] constexpr int most() const { return static_cast<int>(most_); }

 private:
  constexpr void line(const Instruction& line) {
    if (starts_collective(line.op)) return begin(line.collective);
    if (line.op == ListOp::reduce_wait || line.op == ListOp::gather_wait) return end(line.collective);
    if (!computes(line.op)) return;
    const IndexRange& body = p_.body(line);
    for (int e = body.begin; e < body.end; ++e)
      if (const Entry& entry = p_.entries[e]; runs_in(p_, entry.when, line.micro_batch)) this->entry(entry);
  }
  constexpr void entry(const Entry& entry) {
    const bool waits = entry.what == BodyOp::reduce_wait || entry.what == BodyOp::gather_wait;
    if (!waits && !starts_collective(entry.what)) return;
    if (!waits) begin(entry.collective);
    if (waits || p_.collectives[entry.collective].at_once()) end(entry.collective);
  }
  constexpr void begin(int collective) { begun_[collective] = count_[static_cast<int>(p_.collectives[collective].axis)]++; }
  constexpr void end(int collective) {
    const std::int64_t since = count_[static_cast<int>(p_.collectives[collective].axis)] - begun_[collective];
    if (since > most_) most_ = since;
  }

  const Program& p_;
  std::int64_t* begun_;
  std::int64_t count_[axis_count]{};
  std::int64_t most_ = 0;
};

/// The larger number of both Programs.
///
/// Tested  plan/read/collective_needs_test, equivalence/synchronised_test
[[nodiscard]] constexpr int starts_under_way(const Program& training, const Program& evaluation) {
  const int of_training = StartsUnderWay{training}.most();
  const int of_evaluation = StartsUnderWay{evaluation}.most();
  return of_training > of_evaluation ? of_training : of_evaluation;
}

}  // namespace heddle::plan_room
