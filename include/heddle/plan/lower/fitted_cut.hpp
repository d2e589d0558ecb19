// SPDX-License-Identifier: MIT
// Room: plan. A balanced cut under a memory budget: of the cuts whose stages fit, one whose slowest stage has the fewest flops.
// Sees: graph, policy answers, plan/lower/stage_memory, plan/lower/emit.  Does not see: bodies, processes, threads.
// In: answers with a balanced cut, Memory<...>.  Out: the same answers, cut elsewhere if need be.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/plan/lower/emit.hpp"
#include "heddle/plan/lower/local_graph.hpp"
#include "heddle/plan/lower/memory.hpp"
#include "heddle/plan/lower/recompute.hpp"
#include "heddle/plan/lower/schedule.hpp"
#include "heddle/plan/lower/stage_memory.hpp"

namespace heddle::plan_room {

/// What passes between the stages of a pipeline of which each device has one chunk and sends one value to the next: the same wherever it is cut.
template <int Chunks> struct PipelineEdges {
  Transfer transfers[std::size_t{Chunks > 1 ? 2 * (Chunks - 1) : 1}]{};
  PlacedEdge edges[std::size_t{Chunks}]{};
  bool weight_reads[std::size_t{Chunks * pool_kinds}]{};

  constexpr explicit PipelineEdges(bool splits_backward) {
    for (bool& read : weight_reads) read = splits_backward;
    for (int c = 0; c + 1 < Chunks; ++c) {
      edges[c].edge = CutEdge{0, c, c + 1};
      edges[c].remote = true;
      for (int back = 0; back < 2; ++back) {
        Transfer& t = transfers[2 * c + back];
        t.gradient = back == 1;
        t.from_chunk = t.from_role = static_cast<std::int16_t>(c + back);
        t.to_chunk = t.to_role = static_cast<std::int16_t>(c + 1 - back);
        t.source.pool = pool_of(t.from_chunk, t.gradient ? PoolKind::gradient_out : PoolKind::frame);
        t.target.pool = pool_of(t.to_chunk, t.gradient ? PoolKind::gradient_in : PoolKind::frame);
      }
    }
  }
};

/// Where the stages of a cut end, in pieces of the graph.
/// Of 6 pieces, stages of 4 and 2 end at 4 and 6.
template <int Chunks> struct StageEnds {
  bool found = false;
  int end[std::size_t{Chunks}]{};
};

/// Cuts a graph into stages one after another: for each place where a stage may end, the least that the slowest stage up to there can have. All
/// places are tried if there are at most `most_places`; else evenly spread ones, and then all around those that were chosen.
/// For 4 stages out of 200 pieces every 4th place is tried, then all up to 4 pieces from each that was chosen.
template <int Nodes, int Chunks> struct FittedCut {
  static constexpr int most_places = 64;
  static constexpr int most_work = 20'000;  // stages that may be looked at, so that a search is a constant expression for every compiler
  static constexpr std::int64_t never = INT64_MAX;
  const StageMemory<Nodes>& memory;
  const int (&slots)[std::size_t{Chunks}][std::size_t{pool_kinds}];
  std::int64_t budget = 0;
  bool by_memory = false;  // least bytes of the largest stage instead of least flops of the slowest
  int places[std::size_t{Chunks}][std::size_t{most_places + 1}]{};
  int count[std::size_t{Chunks}]{};
  std::int64_t least[std::size_t{Chunks}][std::size_t{most_places + 1}]{};
  std::int16_t before[std::size_t{Chunks}][std::size_t{most_places + 1}]{};  // the place where the stage before ends

  [[nodiscard]] constexpr StageEnds<Chunks> run() {
    const int pieces = memory.pieces();
    const int spread = (pieces + most_places - 1) / most_places;
    const int stride = spread < pieces / Chunks ? spread : pieces / Chunks;
    const int most = pieces / stride - Chunks;
    if (Chunks * most * most / 2 > most_work || pieces / stride > most_places) return {};
    StageEnds<Chunks> ends;
    for (int s = 0; s < Chunks; ++s) offer(s, (s + 1) * stride, pieces - (Chunks - 1 - s) * stride, stride);
    ends = search();
    if (stride == 1 || !ends.found) return ends;
    for (int s = 0; s < Chunks; ++s) offer(s, ends.end[s] - stride, ends.end[s] + stride, 1);
    return search();
  }

 private:
  /// Places where stage s may end; the last ends with the graph, and every stage has a piece.
  constexpr void offer(int s, int from, int to, int stride) {
    const int pieces = memory.pieces();
    count[s] = 0;
    if (s + 1 == Chunks) from = to = pieces;
    for (int at = from; at <= to; at += stride)
      if (at > s && at <= pieces - (Chunks - 1 - s)) places[s][count[s]++] = at;
  }
  [[nodiscard]] constexpr StageEnds<Chunks> search() {
    for (int s = 0; s < Chunks; ++s)
      for (int k = 0; k < count[s]; ++k) {
        least[s][k] = never;
        end_stage(s, k);
      }
    StageEnds<Chunks> ends;
    int k = 0;
    ends.found = least[Chunks - 1][0] != never;
    for (int s = Chunks - 1; s >= 0 && ends.found; --s) {
      ends.end[s] = places[s][k];
      k = before[s][k];
    }
    return ends;
  }
  /// The stage grows to the front until it alone is slower than the best so far, or far too large: a value that is narrow where it is cut may make
  /// a larger stage need less, but not half.
  constexpr void end_stage(int s, int k) {
    const int end = places[s][k];
    typename StageMemory<Nodes>::Largest most_of;
    int added = end;
    for (int j = s == 0 ? 0 : count[s - 1] - 1; j >= 0; --j) {
      const int begin = s == 0 ? 0 : places[s - 1][j];
      if (begin >= end) continue;
      while (added > begin) memory.add(--added, end, most_of);
      const std::int64_t earlier = s == 0 ? 0 : least[s - 1][j];
      const std::int64_t sum = memory.flops[end] - memory.flops[begin];
      if (!by_memory && sum >= least[s][k]) return;
      const std::int64_t flops = memory.cut.with_extra(begin, sum);
      if (earlier >= least[s][k]) continue;
      const std::int64_t bytes = memory.bytes(begin, end, slots[s], most_of);
      if (bytes / 2 > (by_memory ? least[s][k] : budget)) return;
      const std::int64_t own = by_memory ? bytes : flops;
      if (bytes > budget || own >= least[s][k]) continue;
      least[s][k] = own > earlier ? own : earlier;
      before[s][k] = static_cast<std::int16_t>(j);
    }
  }
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
  /// How many slots each pool of each chunk needs: a first stage of two under OneFOneB has 3 frames, 2 in flight and 1 that is still sent.
  struct Slots {
    int of[std::size_t{chunks}][std::size_t{pool_kinds}]{};
  };
  static constexpr Slots slots = [] {
    using Work = SlotWork<chunks, micro_batches>;
    Work table;
    std::int64_t a_byte[std::size_t{chunks * pool_kinds}]{};  // the number of slots does not depend on their size
    for (std::int64_t& bytes : a_byte) bytes = 1;
    SlotPass<Work> pass{SlotInput{A::layout, between.transfers, between.edges, chunks - 1, true, between.weight_reads}, table, micro_batches};
    pass.open(a_byte);
    for (const IndexRange& list : lists.lists) pass.visit(lists.instructions, list.begin, list.end);
    pass.close();
    Slots out;
    for (int p = 0; p < chunks * pool_kinds; ++p) out.of[p / pool_kinds][p % pool_kinds] = table.pools[p].slots;
    return out;
  }();
  static constexpr auto recomputed = [] {
    if constexpr (Request::Chosen::value.any)
      return study_recomputation<nodes>(Localised<A>::graph, Layout{A::graph}, Request::Chosen::value.view());
    else
      return RecomputedTables<nodes>{};
  }();
  static constexpr StageMemory<nodes> memory{
      StageRequest{Localised<A>::graph, Request::batch, storage_of(A::layout, Request::batch), Request::states, Request::clips, Request::scales_loss,
                   Request::target_features, A::layout.order.splits_backward},
      recomputed};

  [[nodiscard]] static constexpr bool fits(const Layout& layout, std::int64_t budget) {
    int begin = 0;
    for (int c = 0; c < chunks; ++c) {
      int end = begin;
      while (memory.cut.piece_node[end] < layout.first_node[c + 1]) ++end;
      if (memory.bytes(begin, end, slots.of[c]) > budget) return false;
      begin = end;
    }
    return true;
  }
  /// The cut with the fastest slowest stage of all that fit.
  [[nodiscard]] static constexpr StageEnds<chunks> best(std::int64_t budget) {
    return FittedCut<nodes, chunks>{memory, slots.of, budget, false}.run();
  }
  /// The cut whose largest stage is smallest.
  [[nodiscard]] static constexpr StageEnds<chunks> smallest() { return FittedCut<nodes, chunks>{memory, slots.of, INT64_MAX, true}.run(); }
  static constexpr bool fits_as_it_is = fits(A::layout, Request::budget.value);
  static constexpr StageEnds<chunks> best_of_budget = best(Request::budget.value);
  static constexpr StageEnds<chunks> smallest_of_all = smallest();
  [[nodiscard]] static constexpr Layout cut(const StageEnds<chunks>& ends) {
    Layout out = A::layout;
    for (int c = 0; c < chunks && ends.found; ++c) out.first_node[c + 1] = memory.cut.piece_node[ends.end[c]];
    return out;
  }
};

/// True if the plan leaves the cut to the policy and names a budget. Orders that put several chunks on a device keep the cut that balances flops.
template <class Request> [[nodiscard]] constexpr bool fits_cut_to_memory() {
  const Layout& answered = Request::answered;
  return Request::budget.value > 0 && answered.fault.ok() && Request::Chosen::value.fault.ok() && Request::batch.fault.ok() && answered.balanced &&
         answered.chunk_count > 1 && answered.chunk_count == answered.roles() && check_schedule_length(Request::graph, answered, Request::batch).ok();
}

/// Constant<x> is a type only if x is a constant expression: a concept asks with it whether a phase is one.
template <auto> struct Constant {};

/// True if all that a search reads is a constant expression. Of a phase that is none the compiler says so, once: no later one is looked at.
template <class Account> [[nodiscard]] constexpr bool can_search() {
  if constexpr (requires { typename Constant<Account::schedule.makespan>; })
    if constexpr (requires { typename Constant<Account::lists.lists[0].end>; })
      if constexpr (requires { typename Constant<Account::slots.of[0][0]>; })
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
/// Tested  plan/lower/fitted_cut_test, fail/S07_one_micro_batch_too_many
template <class Request> struct FittedLayout {
  static constexpr Layout layout = [] {
    if constexpr (fits_cut_to_memory<Request>())
      return fitted_layout<CutAccount<Request>>();
    else
      return Request::answered;
  }();
};

}  // namespace heddle::plan_room
