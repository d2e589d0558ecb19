// SPDX-License-Identifier: MIT
// Room: plan. The cut of a plan that is data, for its budget: the search of a plan that is a type, in tables of any length.
// Sees: graph, policy answers, plan/lower/fitted_cut, plan/lower/emit.  Does not see: types of plans, bodies, processes, threads.
// In: a sound LoweringRequest whose cut may be chosen, the graph as one rank sees it.  Out: its Layout, cut elsewhere if need be.
#pragma once

#include <cstdint>

#include "heddle/plan/lower/emit.hpp"
#include "heddle/plan/lower/fitted_cut.hpp"
#include "heddle/plan/lower/lowering_request.hpp"
#include "heddle/plan/lower/memory.hpp"
#include "heddle/plan/lower/recompute.hpp"
#include "heddle/plan/lower/schedule.hpp"
#include "heddle/plan/lower/stage_memory.hpp"
#include "heddle/plan/lower/values.hpp"

namespace heddle::plan_room {

/// Searches the cut of a request. Only what a search needs is made: a schedule, lists, slots, and the account of stages.
/// 2 stages with 4 micro-batches have 16 computes, 2 transfers and 8 pools.
class FittedRequest {
 public:
  /// `graph`: of the request, as one rank sees it. Both outlive the search.
  FittedRequest(const LoweringRequest& request, const Graph& graph)
      : request_(request), graph_(graph), chunks_(request.layout.chunk_count), micro_batches_(request.batch.total_micro_batches()) {}

  /// The layout as it is if every stage fits; else the best cut that fits; if by this account none does, the one whose largest stage is smallest.
  [[nodiscard]] Layout layout() {
    const Layout& asked = request_.layout;
    const int* const slots = slots_of_pools();
    if (slots == nullptr) return asked;
    const StageMemory<AllottedStages> memory = account();
    const std::int64_t budget = request_.budget.value;
    if (stages_fit(memory, slots, asked, budget)) return asked;
    using Search = FittedCut<StageMemory<AllottedStages>, StagePlaces*>;
    int* const end = store_.make<int>(chunks_);
    StagePlaces* const stages = store_.make<StagePlaces>(chunks_);
    if (Search{memory, slots, stages, chunks_, budget, false}.run(end)) return cut_behind(memory, end, asked);
    if (Search{memory, slots, stages, chunks_, INT64_MAX, true}.run(end)) return cut_behind(memory, end, asked);
    return asked;
  }

 private:
  /// By stage and PoolKind; null if the lists are longer than the lowering takes, which says so.
  [[nodiscard]] const int* slots_of_pools() {
    const Layout& layout = request_.layout;
    const int each = passes(layout, true);
    const int pools = chunks_ * pool_kinds;
    const int transfers = 2 * (chunks_ - 1);
    const std::int64_t lines = (std::int64_t{each} * chunks_ + std::int64_t{4} * transfers) * micro_batches_;
    if (lines > most_listed) return nullptr;
    auto* const between = store_.make<Transfer>(transfers);
    auto* const edges = store_.make<PlacedEdge>(chunks_);
    auto* const weight_reads = store_.make<bool>(pools);
    write_pipeline(chunks_, layout.order.splits_backward, between, edges, weight_reads);

    const int count = chunks_ * micro_batches_ * each;
    auto* const computes = store_.make<TimedCompute>(count);
    const std::int32_t makespan = schedule_computes(layout, micro_batches_, request_.batch.micro_batches, true, computes);
    const EmitInput input{layout, between, transfers, nullptr, 0, Storage{}};
    const int most = most_instructions(input, each, micro_batches_);
    const Lists lists{store_.make<Instruction>(most), most, store_.make<IndexRange>(chunks_), store_.make<IndexRange>(chunks_)};
    if (!emit_lists(input, each, micro_batches_, Schedule{computes, count, makespan}, lists).ok()) return nullptr;

    ShownSlotWork work{store_.make<Pool>(pools), store_.make<std::int16_t>(pools * micro_batches_), store_.make<int>(pools * micro_batches_),
                       store_.make<bool>(pools * micro_batches_)};
    int* const slots = store_.make<int>(pools);
    const SlotInput in{layout, between, edges, chunks_ - 1, true, weight_reads};
    count_slots(in, lists.instructions, lists.lists, micro_batches_, store_.make<std::int64_t>(pools), work, slots);
    return slots;
  }
  /// Of a plan that nothing cuts, as the account of stages asks.
  [[nodiscard]] StageMemory<AllottedStages> account() {
    const int values = graph_.node_count + 1;
    const Layout whole{graph_};
    RecomputedOut out{store_.make<bool>(values), store_.make<bool>(values), store_.make<bool>(values), store_.make<Segment>(values),
                      store_.make<int>(values)};
    RecomputeStudy again{graph_, whole, request_.again, out};
    again.run();
    const Recomputed recomputed = again.out.view();
    ValueStudy study{
        graph_, whole, true, recomputed, store_.make<int>(values), store_.make<bool>(values), store_.make<bool>(values), store_.make<int>(values)};
    study.run();
    const StageRequest asked{graph_,
                             request_.batch,
                             storage_of(request_.graph, request_.layout, request_.batch),
                             request_.states,
                             request_.before_step(),
                             request_.target_features,
                             request_.layout.order.splits_backward,
                             request_.layout.loss.terms};
    return {asked, ValueFacts{study.root, study.framed, study.again, study.consumers}, recomputed};
  }

  const LoweringRequest& request_;
  const Graph& graph_;
  int chunks_;
  int micro_batches_;
  Tables<Transfer, PlacedEdge, TimedCompute, Instruction, IndexRange, Pool, Segment, StagePlaces, std::int64_t, std::int16_t, int, bool> store_;
};

}  // namespace heddle::plan_room
