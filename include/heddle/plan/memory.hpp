// SPDX-License-Identifier: MIT
// Room: plan. Every tensor gets its address: slots by one pass over each list, then one arena per role.
// Sees: plan/program.  Does not see: processes, threads, kernels.
// In: lists, slot sizes.  Out: pools, slot of every micro-batch, ArenaMap; the lifetimes are the hazard check as well.
#pragma once

#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/core/units.hpp"
#include "heddle/plan/body.hpp"
#include "heddle/plan/program.hpp"
#include "heddle/plan/units.hpp"

namespace heddle::inline plan_room {

template <int Chunks, int MicroBatches> struct SlotTable {
  Pool pools[Chunks * pool_kinds]{};
  std::int16_t slots[Chunks * pool_kinds][MicroBatches]{};
};

/// Takes and frees the slots of all pools while a list is walked in order.
template <int Chunks, int MicroBatches> struct SlotAllocator {
  SlotTable<Chunks, MicroBatches> table{};
  bool held[Chunks * pool_kinds][MicroBatches]{};      // by micro-batch
  bool occupied[Chunks * pool_kinds][MicroBatches]{};  // by slot
  std::int16_t sends[Chunks * pool_kinds][MicroBatches]{};
  bool computed[Chunks * pool_kinds][MicroBatches]{};  // no compute of this device reads it again

  constexpr void take(int pool, int m) {
    if (held[pool][m] || table.pools[pool].slot_bytes == 0) return;
    int slot = 0;
    while (occupied[pool][slot]) ++slot;
    occupied[pool][slot] = held[pool][m] = true;
    table.slots[pool][m] = static_cast<std::int16_t>(slot);
    if (slot + 1 > table.pools[pool].slots) table.pools[pool].slots = slot + 1;
  }
  constexpr void free_if_done(int pool, int m) {
    if (!held[pool][m] || !computed[pool][m] || sends[pool][m] > 0) return;
    held[pool][m] = false;
    occupied[pool][table.slots[pool][m]] = false;
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
};

/// Walks the lists of all roles. Lifetimes: a receive from START to last use, a sent value to its send WAIT, a frame to its backward.
template <int Chunks, int MicroBatches> struct SlotPass {
  const SlotInput& in;
  SlotAllocator<Chunks, MicroBatches> slots{};

  constexpr void visit(const Instruction& i) {
    switch (i.op) {
      case Op::receive_start: slots.take(in.transfers[i.transfer].target.pool, i.micro_batch); break;
      case Op::send_start: ++slots.sends[in.transfers[i.transfer].source.pool][i.micro_batch]; break;
      case Op::send_wait: {
        const int pool = in.transfers[i.transfer].source.pool;
        --slots.sends[pool][i.micro_batch];
        slots.free_if_done(pool, i.micro_batch);
        break;
      }
      case Op::forward: forward(i.chunk, i.micro_batch); break;
      case Op::backward: backward(i.chunk, i.micro_batch); break;
      default: break;
    }
  }
  /// In evaluation a frame is read last by the last chunk of the same device that takes one of its values.
  constexpr void forward(int chunk, int m) {
    slots.take(pool_of(chunk, PoolKind::frame), m);
    if (in.training) return;
    for (int c = 0; c <= chunk; ++c) {
      if (last_reader(c) != chunk) continue;
      if (c == chunk && sends_on(c))
        finish_after_sends(pool_of(c, PoolKind::frame), m);
      else
        finish(pool_of(c, PoolKind::frame), m);
    }
  }
  constexpr void backward(int chunk, int m) {
    slots.take(pool_of(chunk, PoolKind::gradient_out), m);
    for (int e = 0; e < in.edge_count; ++e)
      if (in.edges[e].edge.to_chunk == chunk && !in.edges[e].remote) slots.take(pool_of(in.edges[e].edge.from_chunk, PoolKind::gradient_in), m);
    finish(pool_of(chunk, PoolKind::frame), m);
    finish(pool_of(chunk, PoolKind::gradient_in), m);
    finish_after_sends(pool_of(chunk, PoolKind::gradient_out), m);
  }

 private:
  constexpr void finish(int pool, int m) { slots.done(pool, m); }
  // The sends of this pool start after the compute: the slot is freed by their waits.
  constexpr void finish_after_sends(int pool, int m) { slots.computed[pool][m] = true; }
  [[nodiscard]] constexpr bool sends_on(int chunk) const {
    for (int e = 0; e < in.edge_count; ++e)
      if (in.edges[e].edge.from_chunk == chunk && in.edges[e].remote) return true;
    return false;
  }
  [[nodiscard]] constexpr int last_reader(int chunk) const {
    int last = chunk;
    for (int e = 0; e < in.edge_count; ++e)
      if (in.edges[e].edge.from_chunk == chunk && !in.edges[e].remote && in.edges[e].edge.to_chunk > last) last = in.edges[e].edge.to_chunk;
    return last;
  }
};

/// Adds the pools of one role behind each other; returns the end.
template <class Table> [[nodiscard]] constexpr std::int64_t place_pools(Table& table, int pool_count, int role, std::int64_t at) {
  for (int p = 0; p < pool_count; ++p) {
    Pool& pool = table.pools[p];
    if (pool.role != role) continue;
    pool.base = at;
    at += pool.slots * pool.slot_bytes;
  }
  return at;
}

}  // namespace heddle::inline plan_room
