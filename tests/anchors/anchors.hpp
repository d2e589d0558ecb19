// SPDX-License-Identifier: MIT
// Room: tests. Failures that users of the best systems have met, in Heddle's terms: small plans, and what is asked of each.
// Sees: equivalence/any_plan, plan/plans.  Does not see: processes.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "equivalence/any_plan.hpp"
#include "heddle/heddle.hpp"
#include "plan/plans.hpp"
#include "says.hpp"

namespace anchors {

using namespace heddle;
using equivalence::any_plan;
using equivalence::AnyRun;
using equivalence::train_any;
using heddle::tests::says;

[[nodiscard]] inline std::string code_of(const Diagnosis& found) {
  return found.ok() ? "" : found.code.letter + std::string(found.code.number < 10 ? "0" : "") + std::to_string(found.code.number);
}
template <class ThePlan> [[nodiscard]] std::string refused() { return code_of(check<ThePlan>()); }

// ---- One model for all that trains: three parts, the middle one a residual, so that a cut has an edge that skips a stage.

using Inner = Sequential<Linear<6, 6>, GELU>;
using Outer = Linear<6, 6>;
struct First : Sequential<Linear<7, 6>> {};
struct Last : Sequential<Tanh, Linear<6, 4>> {};
struct Model : Sequential<First, Residual<Inner, Outer>, Last> {};
inline constexpr int rows = 32, grain = 2, some = 21;
template <class Policy, class... Options>
using Of = Plan<Model, CrossEntropy, Adam, Batch<rows, KeepLast>, Grain<grain>, Bucket<256_B>, Policy, Options...>;

/// Bits, bytes and memory of four steps, one of them of a part of the batch and one of a single row, are those of one device.
template <class ThePlan> void trains_as_one_device() {
  static_assert(is_reproducible<ThePlan>);
  constexpr bool clips = ThePlan::training.clips;
  static const equivalence::Work work = equivalence::work_of<Model, CrossEntropy, Adam>(3 * rows, 0.3);
  using Alone = std::conditional_t<clips, Of<Single, Clip<GlobalNorm>>, Of<Single>>;
  static const AnyRun alone[] = {train_any(any_plan<Of<Single>>(), work, rows, some),
                                 train_any(any_plan<Of<Single, Clip<GlobalNorm>>>(), work, rows, some)};
  static_assert(devices<Alone> == 1);
  equivalence::check_same_run(train_any(any_plan<ThePlan>(), work, rows, some), alone[clips ? 1 : 0]);
}

/// Lines of all lists, and entries of all bodies, for which `wanted` holds.
template <class Wanted> [[nodiscard]] int lines_where(const Program& p, Wanted wanted) {
  int n = 0;
  for (int i = 0; i < p.lists[p.roles - 1].end; ++i) n += wanted(p.instructions[i]) ? 1 : 0;
  return n;
}
template <class Wanted> [[nodiscard]] int entries_where(const Program& p, Wanted wanted) {
  int n = 0;
  for (const IndexRange* const bodies : {p.forward_bodies, p.backward_bodies, p.weight_bodies})
    for (int c = 0; c < p.chunks; ++c)
      for (int e = bodies[c].begin; e < bodies[c].end; ++e) n += wanted(p.entries[e]) ? 1 : 0;
  return n;
}

/// Takes away, one at a time, every line and entry for which the two predicates hold; each Program that is left must be refused. Returns how many.
template <class OfLines, class OfEntries> [[nodiscard]] int refused_without(const Program& original, OfLines of_lines, OfEntries of_entries) {
  tests::Copy copy{original};
  CHECK(check(copy.view()).ok());
  int taken = 0;
  for (auto& list : copy.lists)
    for (std::size_t i = 0; i < list.size(); ++i) {
      const Instruction line = list[i];
      if (!of_lines(line)) continue;
      ++taken;
      list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
      CHECK_FALSE(check(copy.view()).ok());
      list.insert(list.begin() + static_cast<std::ptrdiff_t>(i), line);
    }
  for (Entry& entry : copy.entries) {
    const Entry kept = entry;
    if (!of_entries(kept)) continue;
    ++taken;
    entry = Entry{};
    CHECK_FALSE(check(copy.view()).ok());
    entry = kept;
  }
  return taken;
}

[[nodiscard]] inline bool reduces(const Instruction& line) { return line.op == ListOp::reduce_start || line.op == ListOp::reduce_wait; }
[[nodiscard]] inline bool reduces(const Entry& entry) {
  return entry.what == BodyOp::reduce_start || entry.what == BodyOp::reduce_wait || entry.what == BodyOp::reduce_value ||
         entry.what == BodyOp::reduce_parameter;
}

}  // namespace anchors
