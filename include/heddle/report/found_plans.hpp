// SPDX-License-Identifier: MIT
// Room: report. What a search for a plan has found, for a terminal: a table, why the first is faster than the second, and the type to paste.
// Sees: cost/search, core.  Does not see: threads, kernels.
// In: a SearchedModel, Wishes, a SearchResult.  Out: text.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/grouped_digits.hpp"
#include "heddle/core/written.hpp"
#include "heddle/cost/search/search.hpp"
#include "heddle/report/fixed_point.hpp"
#include "heddle/report/table.hpp"

namespace heddle::report_room {

/// Seconds with three digits in the unit that suits them: 0.01234 is "12.3 ms".
[[nodiscard]] inline std::string seconds_words(Seconds seconds) {
  constexpr const char* units[] = {"s", "ms", "us", "ns"};
  double x = seconds.value;
  int unit = 0;
  for (; x > 0 && x < 0.9995 && unit < 3; ++unit) x *= 1000;
  return fixed_point(x, x < 9.995 ? 2 : x < 99.95 ? 1 : 0) + " " + units[unit];
}

/// Why the first of two plans is faster: what their devices compute, or how long they wait, whichever differs more.
///
/// Tested  report/found_plans_test
[[nodiscard]] inline std::string reason_words(const FoundPlan& first, const FoundPlan& second) {
  std::string text = policy_text(second.choice) + " takes " + fixed_point(second.step.value / first.step.value, 2) + " times as long: ";
  const auto waits = [](const FoundPlan& plan) { return Seconds{plan.step.value - plan.computing.value}; };
  if (second.computing.value - first.computing.value > waits(second).value - waits(first).value)
    return text + "its devices compute for " + seconds_words(second.computing) + " on average, those of the best for " +
           seconds_words(first.computing) + ".";
  return text + "its devices wait for " + seconds_words(waits(second)) + " of a step on average, those of the best for " +
         seconds_words(waits(first)) + ".";
}

/// A plan as a row: what takes no part is left empty.
inline void add_row(const FoundPlan& plan, Grid& grid) {
  const PlanChoice& c = plan.choice;
  const std::string tensor = c.tensor > 1 ? written({c.tensor, c.splits_sequences ? " SP" : ""}) : "";
  const std::string stages = c.stages > 1   ? written({c.stages, " ", name_of(c.order), " ", c.micro_batches, c.cuts > 0 ? " by times" : ""})
                             : c.rounds > 1 ? written({c.rounds, " rounds"})
                                            : "";
  constexpr std::string_view of[] = {" states", " gradients", " all"};
  const std::string slices = c.shard > 1 ? written({c.shard, of[static_cast<int>(c.slices)], c.slices_inside ? " inside" : ""}) : "";
  std::string beside;
  const auto add = [&](const std::string& word) { beside += (beside.empty() ? "" : ", ") + word; };
  if (c.again) add("recompute");
  if (c.rounds_values) add("bf16");
  grid.add({seconds_words(plan.step), cost_room::bytes_words(plan.memory), percent_words(plan.waiting), tensor, stages, slices,
            c.data > 1 ? std::to_string(c.data) : "", beside});
}

/// What the fastest plan with stages takes where it is cut by measured times, and by counted operations; both under the measured times. Of a cut that
/// is no plan of so much memory the row says why.
///
/// Tested  report/found_plans_test
[[nodiscard]] inline std::string cut_words(const ComparedCut& cut, Bytes memory) {
  const auto row = [&](const char* by, const FoundPlan& plan, const Diagnosis& refused) {
    const std::string head = by + cut_text(plan.choice) + ": ";
    const bool too_large = memory.value > 0 && plan.memory > memory;
    if (!refused.ok() && !too_large) return head + "refused: " + std::string{refused.sentence().view()} + "\n";
    return head +
           written({"a step of ", seconds_words(plan.step), ", ", percent_words(plan.waiting), " waiting, ", cost_room::bytes_words(plan.memory),
                    too_large ? ", which does not fit in " + cost_room::memory_text(memory) + " a device" : std::string{}, "\n"});
  };
  std::string text = row("Cut by measured times,     ", cut.by_times, cut.times_refused) +
                     row("cut by counted operations, ", cut.by_operations, cut.operations_refused);
  if (!cut.times_refused.ok() || !cut.operations_refused.ok()) return text;
  const double times = cut.by_operations.step.value / cut.by_times.step.value;
  if (times > 0.995 && times < 1.005) return text + "under those times both take as long.\n";
  return text + written({"under those times the second takes ", fixed_point(times, 2), " times as long.\n"});
}

/// What a search has found, or the sentence that nothing was.
///
/// Tested  report/found_plans_test
[[nodiscard]] inline std::string describe(const SearchedModel& model, const Wishes& wishes, const SearchResult& found) {
  if (!found.fault.ok()) return std::string{found.fault.sentence().view()} + "\n";
  Grid grid{"rrrrllrll"};
  grid.add({"step", "memory", "waiting", "tensor", "stages or rounds", "shard", "data", "beside", ""});
  for (const FoundPlan& plan : found.plans) add_row(plan, grid);
  std::string text = grid.text();
  if (found.plans.size() > 1) text += "\n" + reason_words(found.plans[0], found.plans[1]) + "\n";
  if (found.cut) text += "\n" + cut_words(*found.cut, wishes.memory);
  if (!found.cut && !model.times.layers.empty()) text += "\nNone of these plans has stages that could be cut by the measured times.\n";
  text += "\n" + plan_text(model, found.plans[0].choice, wishes.batch, wishes.memory) + "\n\n";
  text += grouped_digits(found.candidates) + " candidates: " + grouped_digits(found.simulated) + " simulated, " + grouped_digits(found.slower) +
          " slower by a bound, " + grouped_digits(found.too_large) + " too large, " + grouped_digits(found.refused) + " refused by a rule.\n";
  return text;
}

}  // namespace heddle::report_room

namespace heddle::extending {
using report_room::describe;
}  // namespace heddle::extending
