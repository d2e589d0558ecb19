// SPDX-License-Identifier: MIT
// Room: plan. A balanced cut under a memory budget: of the cuts whose stages fit, one whose slowest stage has the fewest flops.
// Sees: graph, policy answers, plan/lower/stage_memory, plan/lower/memory.  Does not see: bodies, types of plans, processes, threads.
// In: StageMemory, slots of a pipeline, a budget.  Out: where the stages end, a Layout that is cut there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/core/units.hpp"
#include "heddle/plan/lower/memory.hpp"
#include "heddle/plan/lower/stage_memory.hpp"
#include "heddle/policy/layout.hpp"

namespace heddle::plan_room {

/// Writes what passes between the stages of a pipeline of which each device has one chunk and sends one value to the next: the same wherever it is
/// cut. The tables have their initial values: 2 (chunks - 1) transfers, an edge less than chunks, pool_kinds pools a chunk.
constexpr void write_pipeline(int chunks, bool splits_backward, Transfer* transfers, PlacedEdge* edges, bool* weight_reads) {
  for (int p = 0; p < chunks * pool_kinds; ++p) weight_reads[p] = splits_backward;
  for (int c = 0; c + 1 < chunks; ++c) {
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

/// How many slots each pool needs: a first stage of two under OneFOneB has 3 frames, 2 in flight and 1 that is still sent. Their number does not
/// depend on their size: `bytes` has one entry a pool, which is overwritten.
template <class Instructions, class Work>
constexpr void count_slots(const SlotInput& in, const Instructions& instructions, const IndexRange* lists, int micro_batches, std::int64_t* bytes,
                           Work& work, int* slots) {
  const int pools = in.layout.chunk_count * pool_kinds;
  for (int p = 0; p < pools; ++p) bytes[p] = 1;
  SlotPass<Work> pass{in, work, micro_batches};
  pass.open(bytes);
  for (int r = 0; r < in.layout.roles(); ++r) pass.visit(instructions, lists[r].begin, lists[r].end);
  pass.close();
  for (int p = 0; p < pools; ++p) slots[p] = work.pools[p].slots;
}

/// Where one stage may end, and the least that the slowest stage up to there can have.
/// A last stage of 6 pieces has 1 place, at 6.
struct StagePlaces {
  static constexpr int most = 64;
  int place[std::size_t{most + 1}]{};
  int count = 0;
  std::int64_t least[std::size_t{most + 1}]{};
  std::int16_t before[std::size_t{most + 1}]{};  ///< the place where the stage before ends
};

/// Cuts a graph into stages one after another: for each place where a stage may end, the least that the slowest stage up to there can have. All
/// places are tried if there are at most `StagePlaces::most`; else evenly spread ones, and then all around those that were chosen.
/// For 4 stages out of 200 pieces every 4th place is tried, then all up to 4 pieces from each that was chosen.
template <class Memory, class Stages> struct FittedCut {
  static constexpr int most_work = 20'000;  // stages that may be looked at, so that a search is a constant expression for every compiler
  static constexpr std::int64_t never = INT64_MAX;
  const Memory& memory;
  const int* slots;  // by stage and PoolKind
  Stages stages;     // StagePlaces by stage: the array that they are, or a pointer
  int chunks;
  std::int64_t budget = 0;
  bool by_memory = false;  // least bytes of the largest stage instead of least flops of the slowest

  /// Writes where the stages end, in pieces of the graph: of 6 pieces, stages of 4 and 2 end at 4 and 6. False if no such cut fits.
  [[nodiscard]] constexpr bool run(int* end) {
    const int pieces = memory.pieces();
    if (pieces < chunks) return false;
    const int spread = (pieces + StagePlaces::most - 1) / StagePlaces::most;
    const int stride = spread < pieces / chunks ? spread : pieces / chunks;
    const int most = pieces / stride - chunks;
    if (pieces / stride > StagePlaces::most || chunks * most * most / 2 > most_work) return false;
    for (int s = 0; s < chunks; ++s) offer(s, (s + 1) * stride, pieces - (chunks - 1 - s) * stride, stride);
    if (!search(end)) return false;
    if (stride == 1) return true;
    for (int s = 0; s < chunks; ++s) offer(s, end[s] - stride, end[s] + stride, 1);
    return search(end);
  }

 private:
  /// Places where stage s may end; the last ends with the graph, and every stage has a piece.
  constexpr void offer(int s, int from, int to, int stride) {
    const int pieces = memory.pieces();
    StagePlaces& stage = stages[s];
    stage.count = 0;
    if (s + 1 == chunks) from = to = pieces;
    for (int at = from; at <= to; at += stride)
      if (at > s && at <= pieces - (chunks - 1 - s)) stage.place[stage.count++] = at;
  }
  [[nodiscard]] constexpr bool search(int* end) {
    for (int s = 0; s < chunks; ++s)
      for (int k = 0; k < stages[s].count; ++k) {
        stages[s].least[k] = never;
        end_stage(s, k);
      }
    if (stages[chunks - 1].least[0] == never) return false;
    int k = 0;
    for (int s = chunks - 1; s >= 0; --s) {
      end[s] = stages[s].place[k];
      k = stages[s].before[k];
    }
    return true;
  }
  /// The stage grows to the front until it alone is slower than the best so far, or far too large: a value that is narrow where it is cut may make
  /// a larger stage need less, but not half.
  constexpr void end_stage(int s, int k) {
    StagePlaces& stage = stages[s];
    const StagePlaces& front = stages[s == 0 ? 0 : s - 1];
    const int end = stage.place[k];
    typename Memory::Largest most_of;
    int added = end;
    for (int j = s == 0 ? 0 : front.count - 1; j >= 0; --j) {
      const int begin = s == 0 ? 0 : front.place[j];
      if (begin >= end) continue;
      while (added > begin) memory.add(--added, end, most_of);
      const std::int64_t earlier = s == 0 ? 0 : front.least[j];
      const std::int64_t sum = memory.flops[end] - memory.flops[begin];
      if (!by_memory && sum >= stage.least[k]) return;
      const std::int64_t flops = memory.cut.with_extra(begin, sum);
      if (earlier >= stage.least[k]) continue;
      const std::int64_t bytes = memory.bytes(begin, end, slots + s * pool_kinds, most_of);
      if (bytes / 2 > (by_memory ? stage.least[k] : budget)) return;
      const std::int64_t own = by_memory ? bytes : flops;
      if (bytes > budget || own >= stage.least[k]) continue;
      stage.least[k] = own > earlier ? own : earlier;
      stage.before[k] = static_cast<std::int16_t>(j);
    }
  }
};

/// True if every stage of a cut fits, by the account of its memory.
template <class Memory> [[nodiscard]] constexpr bool stages_fit(const Memory& memory, const int* slots, const Layout& layout, std::int64_t budget) {
  int begin = 0;
  for (int c = 0; c < layout.chunk_count; ++c) {
    int end = begin;
    while (memory.cut.piece_node[end] < layout.first_node[c + 1]) ++end;
    if (memory.bytes(begin, end, slots + c * pool_kinds) > budget) return false;
    begin = end;
  }
  return true;
}

/// The layout with its stages cut behind the pieces `end`.
template <class Memory> [[nodiscard]] constexpr Layout cut_behind(const Memory& memory, const int* end, const Layout& layout) {
  Layout out = layout;
  for (int c = 0; c < layout.chunk_count; ++c) out.first_node[c + 1] = memory.cut.piece_node[end[c]];
  return out;
}

/// True if a plan leaves the cut to the policy and names a budget. Orders that put several chunks on a device keep the cut that balances flops.
[[nodiscard]] constexpr bool fits_cut_to_memory(const Layout& answered, Bytes budget) {
  if (budget.value < 1 || !answered.fault.ok() || !answered.balanced || answered.chunk_count < 2 || answered.chunk_count != answered.roles())
    return false;
  for (int c = 0; c < answered.chunk_count; ++c)
    if (answered.device_of_chunk[c] != c) return false;
  return true;
}

}  // namespace heddle::plan_room
