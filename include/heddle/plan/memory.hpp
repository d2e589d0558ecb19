// SPDX-License-Identifier: MIT
// Room: plan. Every tensor gets its address: slots by one pass over each list, then one arena per role.
// Sees: plan/program.  Does not see: processes, threads, kernels.
// In: lists, slot sizes.  Out: pools, slot of every micro-batch, ArenaMap; the lifetimes are the hazard check as well.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/core/units.hpp"
#include "heddle/plan/body.hpp"
#include "heddle/plan/program.hpp"
#include "heddle/plan/units.hpp"

namespace heddle::inline plan_room {

template <int Chunks, int MicroBatches> struct SlotTable {
  Pool pools[std::size_t{Chunks * pool_kinds}]{};
  std::int16_t slots[std::size_t{Chunks * pool_kinds}][std::size_t{MicroBatches}]{};
};

/// Takes and frees the slots of all pools while a list is walked in order.
template <int Chunks, int MicroBatches> struct SlotAllocator {
  SlotTable<Chunks, MicroBatches> table{};
  bool held[std::size_t{Chunks * pool_kinds}][std::size_t{MicroBatches}]{};      // by micro-batch
  bool occupied[std::size_t{Chunks * pool_kinds}][std::size_t{MicroBatches}]{};  // by slot
  std::int16_t sends[std::size_t{Chunks * pool_kinds}][std::size_t{MicroBatches}]{};
  bool computed[std::size_t{Chunks * pool_kinds}][std::size_t{MicroBatches}]{};  // no compute of this device reads it again
  int least_free[std::size_t{Chunks * pool_kinds}]{};                            // slots before this one are occupied

  constexpr void take(int pool, int m) {
    if (held[pool][m] || table.pools[pool].slot_bytes == 0) return;
    int slot = least_free[pool];
    while (occupied[pool][slot]) ++slot;
    least_free[pool] = slot + 1;
    occupied[pool][slot] = held[pool][m] = true;
    table.slots[pool][m] = static_cast<std::int16_t>(slot);
    if (slot + 1 > table.pools[pool].slots) table.pools[pool].slots = slot + 1;
  }
  constexpr void free_if_done(int pool, int m) {
    if (!held[pool][m] || !computed[pool][m] || sends[pool][m] > 0) return;
    const int slot = table.slots[pool][m];
    held[pool][m] = occupied[pool][slot] = false;
    if (slot < least_free[pool]) least_free[pool] = slot;
  }
  constexpr void done(int pool, int m) {
    computed[pool][m] = true;
    free_if_done(pool, m);
  }
};

struct SlotInput {
  const Layout& layout;
  const Transfer* transfers;
  const PlacedEdge* edges;
  int edge_count;
  bool training;
  const bool* weight_reads;  // by pool
};

/// Walks the lists of all roles. Lifetimes: a receive from START to last use, a sent value to its send WAIT, a frame to its backward; what
/// the weight part of a split backward reads lives until that part has run.
template <int Chunks, int MicroBatches> struct SlotPass {
  SlotInput in;
  SlotAllocator<Chunks, MicroBatches> slots{};
  bool sends_on[std::size_t{Chunks}]{};
  bool takes_locally[std::size_t{Chunks}]{};  // a value of another chunk of its device
  int read_last[std::size_t{Chunks}]{};       // by chunk: a chunk whose frame it is the last to read, then the next of them; -1 ends the list
  int next_read[std::size_t{Chunks}]{};

  constexpr explicit SlotPass(const SlotInput& input) : in(input) {
    int last_reader[std::size_t{Chunks}]{};
    for (int c = 0; c < Chunks; ++c) {
      last_reader[c] = c;
      read_last[c] = -1;
    }
    for (int e = 0; e < in.edge_count; ++e) {
      const CutEdge& edge = in.edges[e].edge;
      if (in.edges[e].remote) {
        sends_on[edge.from_chunk] = true;
        continue;
      }
      takes_locally[edge.to_chunk] = true;
      if (edge.to_chunk > last_reader[edge.from_chunk]) last_reader[edge.from_chunk] = edge.to_chunk;
    }
    for (int c = Chunks - 1; c >= 0; --c) {
      next_read[c] = read_last[last_reader[c]];
      read_last[last_reader[c]] = c;
    }
  }

  constexpr void visit(const Instruction& i) {
    const Op op = i.op;
    if (op == Op::receive_wait) return;
    if (op == Op::receive_start)
      slots.take(in.transfers[i.transfer].target.pool, i.micro_batch);
    else if (op == Op::send_start)
      ++slots.sends[in.transfers[i.transfer].source.pool][i.micro_batch];
    else if (op == Op::send_wait)
      sent(in.transfers[i.transfer].source.pool, i.micro_batch);
    else if (op == Op::forward)
      forward(i.chunk, i.micro_batch);
    else if (passes_gradients(op))
      backward(i.chunk, i.micro_batch);
    else if (op == Op::backward_weight)
      for (const PoolKind kind : {PoolKind::frame, PoolKind::gradient_in, PoolKind::held})
        if (in.weight_reads[pool_of(i.chunk, kind)]) slots.done(pool_of(i.chunk, kind), i.micro_batch);
  }
  constexpr void sent(int pool, int m) {
    --slots.sends[pool][m];
    slots.free_if_done(pool, m);
  }
  /// In evaluation a frame is read last by the last chunk of the same device that takes one of its values.
  constexpr void forward(int chunk, int m) {
    slots.take(pool_of(chunk, PoolKind::frame), m);
    if (in.training) return;
    for (int c = read_last[chunk]; c >= 0; c = next_read[c]) {
      if (c == chunk && sends_on[c])
        finish_after_sends(pool_of(c, PoolKind::frame), m);
      else
        slots.done(pool_of(c, PoolKind::frame), m);
    }
  }
  constexpr void backward(int chunk, int m) {
    slots.take(pool_of(chunk, PoolKind::gradient_out), m);
    slots.take(pool_of(chunk, PoolKind::held), m);
    for (int e = 0; e < in.edge_count && takes_locally[chunk]; ++e)
      if (in.edges[e].edge.to_chunk == chunk && !in.edges[e].remote) slots.take(pool_of(in.edges[e].edge.from_chunk, PoolKind::gradient_in), m);
    for (const PoolKind kind : {PoolKind::frame, PoolKind::gradient_in})
      if (!in.weight_reads[pool_of(chunk, kind)]) slots.done(pool_of(chunk, kind), m);
    finish_after_sends(pool_of(chunk, PoolKind::gradient_out), m);
  }

 private:
  // The sends of this pool start after the compute: the slot is freed by their waits.
  constexpr void finish_after_sends(int pool, int m) { slots.computed[pool][m] = true; }
};

/// Adds the pools of one role behind each other; returns the end.
[[nodiscard]] constexpr std::int64_t place_pools(Pool* pools, int pool_count, int role, std::int64_t at) {
  for (int p = 0; p < pool_count; ++p) {
    Pool& pool = pools[p];
    if (pool.role != role) continue;
    pool.base = at;
    at += pool.slots * pool.slot_bytes;
  }
  return at;
}

}  // namespace heddle::inline plan_room
