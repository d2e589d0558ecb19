// SPDX-License-Identifier: MIT
// Room: plan. AdviceReport: remarks on a plan as values, and the limits from which on something is worth one.
// Sees: core.  Does not see: plans, policies, machines, processes, threads.
// In: remarks.  Out: AdviceLimits, AdviceReport, RefusedAdvice.
#pragma once

#include "heddle/core/refused.hpp"
#include "heddle/core/rule.hpp"
#include "heddle/core/units.hpp"

namespace heddle::plan_room {

/// From where on something is worth a remark. A micro-batch of 2 rows gets A01 under the usual limit of 4.
struct AdviceLimits {
  int rows = 4;                  ///< A01: a micro-batch on one rank has fewer rows; a product of r rows uses each weight that it reads r times
  int unused_rows_percent = 10;  ///< A02: of the rows that the ranks could take, or of the batch
  int imbalance_percent = 25;    ///< A03: of the time that the slowest stage takes, the stages on average wait for it
  int bubble_percent = 50;       ///< A04: of a step; stages of equal work reach it with fewer micro-batches than stages
  Bytes overlap{1024 * 1024};    ///< A07: gradients of a stage behind its first layer, which could be reduced while the backward still runs
  int interleaving_percent = 5;  ///< A09: of a step, by which Interleaved makes the idle share of equal stages less
  int padding_percent = 25;      ///< A08: of what a reduction of gradients moves
  int whole_percent = 5;         ///< A10: of what a rank of axis tensor computes, a layer that all ranks compute alike
};

/// Remarks in the order of their codes; each has numbers, one sentence and one remedy. Of a plan that gets A01 and A04 the count is 2.
struct AdviceReport {
  static constexpr int most_remarks = 16;
  Diagnosis remarks[most_remarks];
  int count = 0;

  [[nodiscard]] constexpr bool empty() const { return count == 0; }
  [[nodiscard]] constexpr const Diagnosis* begin() const { return remarks; }
  [[nodiscard]] constexpr const Diagnosis* end() const { return remarks + count; }
  /// has("A04"), or has(Code{'A', 4}).
  [[nodiscard]] constexpr bool has(const auto& code) const {
    for (const Diagnosis& d : *this)
      if (d.code == code) return true;
    return false;
  }
  constexpr void add(const Diagnosis& remark) {
    if (count < most_remarks) remarks[count++] = remark;
  }
};

/// Of a refused plan: no remarks.
struct RefusedAdvice : RefusedAnswer, AdviceReport {
  RefusedNumber count;
  RefusedWord<RefusedFact> empty, has;
};

}  // namespace heddle::plan_room

namespace heddle::extending {
using plan_room::AdviceLimits;
}  // namespace heddle::extending
