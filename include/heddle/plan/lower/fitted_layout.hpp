// SPDX-License-Identifier: MIT
// Room: plan. The cut of a plan that is a type, for its budget: what the search reads, one constexpr variable each.
// Sees: graph, policy answers, plan/lower/fitted_cut, plan/lower/emit.  Does not see: bodies, processes, threads.
// In: a Request with a balanced cut and Memory<...>.  Out: FittedLayout, the same answers, cut elsewhere if need be.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/plan/lower/emit.hpp"
#include "heddle/plan/lower/fitted_cut.hpp"
#include "heddle/plan/lower/local_graph.hpp"
#include "heddle/plan/lower/memory.hpp"
#include "heddle/plan/lower/recompute.hpp"
#include "heddle/plan/lower/schedule.hpp"
#include "heddle/plan/lower/stage_memory.hpp"

namespace heddle::plan_room {

/// Owns what passes between the stages of a pipeline, as a constant: of 2 chunks 2 transfers, a value and its gradient back.
template <int Chunks> struct PipelineEdges {
  Transfer transfers[std::size_t{Chunks > 1 ? 2 * (Chunks - 1) : 1}]{};
  PlacedEdge edges[std::size_t{Chunks}]{};
  bool weight_reads[std::size_t{Chunks * pool_kinds}]{};
  constexpr explicit PipelineEdges(bool splits_backward) { write_pipeline(Chunks, splits_backward, transfers, edges, weight_reads); }
};

/// Where the stages of a cut end, in pieces of the graph.
/// Of 6 pieces, stages of 4 and 2 end at 4 and 6.
template <int Chunks> struct StageEnds {
  bool found = false;
  int end[std::size_t{Chunks}]{};
};

/// Answers before the memory of the plan is looked at, under the names that Localised reads.
template <class Request> struct Answered {
  static constexpr Graph graph = Request::graph;
  static constexpr Layout layout = Request::answered;
};

/// What the search reads, one constexpr variable each: those of the lowering are as large, and S07 counts what each of them may need.
template <class Request> struct CutAccount {
  using A = Answered<Request>;
  static constexpr int chunks = A::layout.chunk_count;
  static constexpr int nodes = A::graph.node_count;
  static constexpr int micro_batches = Request::batch.total_micro_batches();
  static constexpr int passes = plan_room::passes(A::layout, true);

  static constexpr auto schedule = schedule_computes<chunks, micro_batches, passes>(A::layout, Request::batch.micro_batches);
  static constexpr PipelineEdges<chunks> between{A::layout.order.splits_backward};
  static constexpr EmitInput emit_input{A::layout, between.transfers, 2 * (chunks - 1), nullptr, 0, Storage{}};
  static constexpr int together = most_instructions(emit_input, passes, micro_batches);
  static constexpr auto lists =
      emit_lists<chunks, together, emit_input.transfer_count, micro_batches, schedule.count, schedule.makespan>(emit_input, passes, schedule.view());
  /// Owns how many slots each pool of each chunk needs; 2 chunks have 8 pools.
  struct Slots {
    int of[std::size_t{chunks * pool_kinds}]{};
  };
  static constexpr Slots slots = [] {
    SlotWork<chunks, micro_batches> table;
    std::int64_t bytes[std::size_t{chunks * pool_kinds}]{};
    Slots out;
    const SlotInput in{A::layout, between.transfers, between.edges, chunks - 1, true, between.weight_reads};
    count_slots(in, lists.instructions, lists.lists, micro_batches, bytes, table, out.of);
    return out;
  }();
  static constexpr auto recomputed = [] {
    if constexpr (Request::Chosen::value.any)
      return study_recomputation<nodes>(Localised<A>::graph, Layout{A::graph}, Request::Chosen::value.view());
    else
      return RecomputedTables<nodes>{};
  }();
  using Memory = StageMemory<StageArrays<nodes>>;
  static constexpr Memory memory{
      StageRequest{Localised<A>::graph, Request::batch, storage_of(A::graph, A::layout, Request::batch), Request::states, Request::before_step(),
                   Request::target_features, A::layout.order.splits_backward, A::layout.loss.terms},
      study_values<nodes>(Localised<A>::graph, Layout{Localised<A>::graph}, true, recomputed), recomputed};

  [[nodiscard]] static constexpr bool fits(const Layout& layout, std::int64_t budget) { return stages_fit(memory, slots.of, layout, budget); }
  [[nodiscard]] static constexpr StageEnds<chunks> search(std::int64_t budget, bool by_memory) {
    StageEnds<chunks> out;
    StagePlaces stages[std::size_t{chunks}]{};
    out.found = FittedCut<Memory, StagePlaces(&)[std::size_t{chunks}]>{memory, slots.of, stages, chunks, budget, by_memory}.run(out.end);
    return out;
  }
  /// The cut with the fastest slowest stage of all that fit.
  [[nodiscard]] static constexpr StageEnds<chunks> best(std::int64_t budget) { return search(budget, false); }
  /// The cut whose largest stage is smallest.
  [[nodiscard]] static constexpr StageEnds<chunks> smallest() { return search(INT64_MAX, true); }
  static constexpr bool fits_as_it_is = fits(A::layout, Request::budget.value);
  static constexpr StageEnds<chunks> best_of_budget = best(Request::budget.value);
  static constexpr StageEnds<chunks> smallest_of_all = smallest();
  [[nodiscard]] static constexpr Layout cut(const StageEnds<chunks>& ends) {
    return ends.found ? cut_behind(memory, ends.end, A::layout) : A::layout;
  }
};

/// The same of a plan that is a type, whose search is a constant expression only if its schedule is.
template <class Request> [[nodiscard]] constexpr bool fits_cut_to_memory() {
  const Layout& answered = Request::answered;
  return fits_cut_to_memory(answered, Request::budget) && Request::Chosen::value.fault.ok() && Request::batch.fault.ok() &&
         check_schedule_length(Request::graph, answered, Request::batch).ok();
}

/// Constant<x> is a type only if x is a constant expression: a concept asks with it whether a phase is one.
template <auto> struct Constant {};

/// True if all that a search reads is a constant expression. Of a phase that is none the compiler says so, once: no later one is looked at.
template <class Account> [[nodiscard]] constexpr bool can_search() {
  if constexpr (requires { typename Constant<Account::schedule.makespan>; })
    if constexpr (requires { typename Constant<Account::lists.lists[0].end>; })
      if constexpr (requires { typename Constant<Account::slots.of[0]>; })
        if constexpr (requires { typename Constant<Account::recomputed.segment_count>; })
          if constexpr (requires { typename Constant<Account::memory.pieces()>; }) return requires {
              typename Constant<Account::fits_as_it_is>;
            };
  return false;
}

/// The cut as it is if every stage fits; else the best that fits; if by this account none does, the one whose largest stage is smallest.
template <class Account> [[nodiscard]] constexpr Layout fitted_layout() {
  if constexpr (can_search<Account>())
    if constexpr (!Account::fits_as_it_is)
      if constexpr (requires { typename Constant<Account::best_of_budget.found>; }) {
        if constexpr (Account::best_of_budget.found)
          return Account::cut(Account::best_of_budget);
        else if constexpr (requires { typename Constant<Account::smallest_of_all.found>; })
          return Account::cut(Account::smallest_of_all);
      }
  return Account::A::layout;
}

/// The answers of all policies, cut for the budget if there is one. C01 then measures what is lowered.
///
/// Tested  plan/lower/fitted_layout_test, plan/lower/fitted_cut_test, fail/S07_one_micro_batch_too_many
template <class Request> struct FittedLayout {
  static constexpr Layout layout = [] {
    if constexpr (fits_cut_to_memory<Request>())
      return fitted_layout<CutAccount<Request>>();
    else
      return Request::answered;
  }();
};

}  // namespace heddle::plan_room
