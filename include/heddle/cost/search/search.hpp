// SPDX-License-Identifier: MIT
// Room: cost. The search for a plan: every product of axes that has so many devices, lowered and simulated unless a bound says that it cannot win.
// Sees: plan, cost/simulate, cost/search.  Does not see: processes, threads, kernels.
// In: a SearchedModel, Wishes, a Machine.  Out: SearchResult.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "heddle/core/units.hpp"
#include "heddle/cost/machine.hpp"
#include "heddle/cost/search/candidates.hpp"
#include "heddle/cost/search/measured_layers.hpp"
#include "heddle/cost/search/scale.hpp"
#include "heddle/cost/search/searched_model.hpp"
#include "heddle/cost/simulate.hpp"
#include "heddle/plan/lowered.hpp"

namespace heddle::cost_room {

/// A plan that was lowered and simulated. Of 8 devices that compute for 3 of 4 seconds each `waiting` is 0.25.
struct FoundPlan {
  PlanChoice choice;
  Seconds step;
  Seconds computing;   ///< of a device on average
  Bytes memory;        ///< of the device that needs most
  double waiting = 0;  ///< share of the time of all devices in which they do not compute

  [[nodiscard]] bool has_axes_of(const PlanChoice& c) const {
    return choice.tensor == c.tensor && choice.stages == c.stages && choice.shard == c.shard && choice.data == c.data;
  }
};

/// One plan of stages cut in two ways, under the times that its layers were measured to take: 0.9 s by them, 1.4 s by counted operations. One of them
/// is among the plans that were found; the other may be refused, as by C01 where it does not fit. No seconds are known of what cannot be lowered.
struct ComparedCut {
  FoundPlan by_times;
  FoundPlan by_operations;
  Diagnosis times_refused{};
  Diagnosis operations_refused{};
};

/// What a search has found. `plans`: of each product of axes the fastest that fits, the best first; none if none does, and `fault` says why. 1,224
/// candidates of which 200 were simulated have 1,024 that were refused, need too much, or cannot be as fast.
struct SearchResult {
  std::vector<FoundPlan> plans;
  std::int64_t candidates = 0;     ///< products of axes and options
  std::int64_t simulated = 0;      ///< of those, after they were lowered to the last instruction
  std::int64_t too_large = 0;      ///< for the memory
  std::int64_t refused = 0;        ///< by a rule
  std::int64_t slower = 0;         ///< by their bound, so they were not lowered
  Bytes least_memory;              ///< a bound below what any of them needs; 0: nothing was asked
  std::optional<ComparedCut> cut;  ///< of the fastest plan with stages, if layers were measured
  Diagnosis first_refused;         ///< what refuses the first of those that a rule refuses
  Diagnosis fault;
};

/// Searches the plan of a model that takes the least time under a machine. What it finds first is the best of all candidates: those that are left out
/// break a rule, need more memory, or have a lower bound above the time of those that were found. Layers of a model that were measured
/// (SearchedModel::times) take as long as that says.
///
/// Errors  M16 a machine or M19 a wish that cannot be, M17 more devices than the machine has, M20 no plan fits, M22 times of other layers
/// Tested  cost/search/search_test
class PlanSearch {
 public:
  PlanSearch(const SearchedModel& model, const Wishes& wishes, const Machine& machine)
      : model_(model), wishes_(wishes), machine_(machine), refusal_(model.graph->fault.ok() ? check_wishes(wishes, machine) : model.graph->fault) {
    if (refusal_.ok()) measured_ = MeasuredLayers{model, machine};
    if (refusal_.ok()) refusal_ = measured_.fault;
    if (wishes_.memory.value == 0) wishes_.memory = machine.memory;
    machine_.memory = Bytes{};  // what does not fit is counted, and not simulated
    machine_.devices = 0;
  }

  /// `progress`, if given, is told how many of how many candidates are behind it.
  [[nodiscard]] SearchResult run(const std::function<void(std::int64_t, std::int64_t)>& progress = {}) {
    SearchResult out;
    if (out.fault = refusal_; !out.fault.ok()) return out;
    const std::vector<Bounded> all = bounded(out);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (cannot_win(all[i], out.plans))
        ++out.slower;
      else
        try_one(all[i].choice, out);
      if (progress) progress(static_cast<std::int64_t>(i + 1), static_cast<std::int64_t>(all.size()));
    }
    if (out.plans.empty()) out.fault = nothing_fits(out);
    out.cut = compared_cut(out.plans);
    return out;
  }

 private:
  /// A candidate, the seconds below which it cannot be, and those that it may take: 1.5 and 2.1 where stages wait.
  struct Bounded {
    PlanChoice choice;
    double least;
    double likely;
  };
  [[nodiscard]] std::vector<Bounded> bounded(SearchResult& out) const {
    std::vector<Bounded> all;
    Scales scales{model_, machine_, wishes_.batch, measured_.view()};
    each_candidate(model_, wishes_, [&](const PlanChoice& choice) {
      ++out.candidates;
      const Scale& scale = scales.of(choice);
      if (!scale.fault.ok())
        refuse(scale.fault, out);
      else if (fits(Bytes{scale.least_bytes(choice)}, out))
        all.push_back({choice, scale.least_seconds(choice), scale.likely_seconds(choice)});
    });
    std::stable_sort(all.begin(), all.end(), [](const Bounded& a, const Bounded& b) { return a.likely < b.likely; });
    return all;
  }
  /// Its axes have a plan that is as fast as it can be, or all that are kept are.
  [[nodiscard]] static bool cannot_win(const Bounded& candidate, const std::vector<FoundPlan>& plans) {
    if (plans.size() == most_found && candidate.least >= plans.back().step.value) return true;
    return std::any_of(plans.begin(), plans.end(),
                       [&](const FoundPlan& p) { return p.has_axes_of(candidate.choice) && candidate.least >= p.step.value; });
  }
  [[nodiscard]] bool fits(Bytes needs, SearchResult& out) const {
    if (wishes_.memory.value == 0) return true;
    if (out.least_memory.value == 0 || needs < out.least_memory) out.least_memory = needs;
    if (needs <= wishes_.memory) return true;
    ++out.too_large;
    return false;
  }
  static void refuse(const Diagnosis& why, SearchResult& out) {
    if (out.refused++ == 0) out.first_refused = why;
  }
  /// Nothing if a rule refuses it, as `why` then says.
  [[nodiscard]] std::optional<LoweredPlan> lowered(const PlanChoice& choice, Diagnosis& why) const {
    const LoweringRequest request = request_for(model_, choice, wishes_.batch, wishes_.memory);
    why = !request.layout.fault.ok()  ? request.layout.fault
          : !request.batch.fault.ok() ? request.batch.fault
                                      : check_schedule_length(request.graph, request.layout, request.batch);
    if (!why.ok()) return {};
    std::optional<LoweredPlan> plan{lower(request)};
    if (why = plan->fault(); !why.ok()) plan.reset();
    return plan;
  }
  [[nodiscard]] FoundPlan simulated(const PlanChoice& choice, const Program& p) const {
    const Estimate estimate = simulate(p, machine_, measured_.view());
    return {choice, estimate.step, Seconds{estimate.step.value * (1 - estimate.bubble())}, most_of(p), estimate.bubble()};
  }
  [[nodiscard]] static Bytes most_of(const Program& p) {
    Bytes most;
    for (int r = 0; r < p.roles; ++r) most = std::max(most, Bytes{p.arenas[r].total});
    return most;
  }
  void try_one(const PlanChoice& choice, SearchResult& out) const {
    Diagnosis why;
    const std::optional<LoweredPlan> plan = lowered(choice, why);
    if (!plan) return refuse(why, out);
    if (!fits(most_of(plan->training()), out)) return;
    const FoundPlan found = simulated(choice, plan->training());
    const bool wins = !cannot_win({choice, found.step.value, 0}, out.plans);
    if (wins) why = check(*plan);  // what a Plan would be refused for is not proposed
    if (!why.ok()) return refuse(why, out);
    ++out.simulated;
    if (wins) keep(found, out.plans);
  }
  /// The fastest plan with stages, and the same plan cut the other way.
  [[nodiscard]] std::optional<ComparedCut> compared_cut(const std::vector<FoundPlan>& plans) const {
    const auto staged = std::find_if(plans.begin(), plans.end(), [](const FoundPlan& p) { return p.choice.stages > 1; });
    if (measured_.factors.empty() || staged == plans.end()) return {};
    TimedCuts cuts{*model_.graph, by_layer(*model_.graph, model_.times)};
    PlanChoice other = staged->choice;
    other.cuts = 0;
    other.before = {};
    if (staged->choice.cuts == 0) other = cut_by_times(other, cuts);
    Diagnosis why;
    FoundPlan found{other, {}, {}, {}};
    if (const std::optional<LoweredPlan> plan = lowered(other, why)) {
      found = simulated(other, plan->training());
      why = check(*plan);
    }
    return staged->choice.cuts > 0 ? ComparedCut{*staged, found, {}, why} : ComparedCut{found, *staged, why, {}};
  }
  /// In the place of the one with its axes. Of two that take as long the one that was found first stays before the other.
  static void keep(const FoundPlan& plan, std::vector<FoundPlan>& plans) {
    std::erase_if(plans, [&](const FoundPlan& p) { return p.has_axes_of(plan.choice); });
    const auto behind = std::upper_bound(plans.begin(), plans.end(), plan, [](const FoundPlan& a, const FoundPlan& b) { return a.step < b.step; });
    plans.insert(behind, plan);
    if (plans.size() > most_found) plans.pop_back();
  }
  [[nodiscard]] Diagnosis nothing_fits(const SearchResult& out) const {
    Diagnosis found{Code{'M', 20}, "no plan of "};
    found << wishes_.devices << (wishes_.devices == 1 ? " device trains " : " devices trains ") << model_.model << " with Batch<" << wishes_.batch
          << '>';
    if (out.too_large > 0)
      return found << " in " << memory_text(wishes_.memory) << " a device: " << out.too_large << " of " << out.candidates
                   << " candidates need more, the smallest at least " << bytes_words(out.least_memory, true)
                   << ". Fix: take more devices, more memory or a smaller batch.";
    if (out.candidates == 0) return none_to_try(found);
    return found << ": a rule refuses each of " << out.candidates << " candidates, the first with "
                 << label(out.first_refused.code).view().substr(8, 3) << ", " << out.first_refused.words.view();
  }
  /// Where no product of axes has the devices, the stages and the rows.
  [[nodiscard]] Diagnosis none_to_try(Diagnosis found) const {
    const int layers = model_.graph->node_count, stages = wishes_.stages;
    if (stages > layers)
      return found << ": it has " << layers << " layers to cut into " << stages << " stages. Fix: ask for at most " << layers << '.';
    if (stages > Layout::most_chunks)
      return found << ": a pipeline has at most " << Layout::most_chunks << " stages, not " << stages << ". Fix: ask for at most as many.";
    return found << ": no product of axes gives each replica a whole number of rows, at least one for each of its stages. Fix: take a batch that the "
                    "number of devices divides.";
  }

  static constexpr std::size_t most_found = 8;
  const SearchedModel& model_;
  Wishes wishes_;
  Machine machine_;
  Diagnosis refusal_;
  MeasuredLayers measured_;
};

/// Tested  cost/search/search_test
[[nodiscard]] inline SearchResult search(const SearchedModel& model, const Wishes& wishes, const Machine& machine) {
  return PlanSearch{model, wishes, machine}.run();
}

}  // namespace heddle::cost_room

namespace heddle::extending {
using cost_room::ComparedCut, cost_room::FoundPlan, cost_room::PlanSearch, cost_room::SearchResult, cost_room::search;
}  // namespace heddle::extending
