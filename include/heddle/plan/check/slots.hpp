// SPDX-License-Identifier: MIT
// Room: plan. Slots of pools: from the first line that touches what a micro-batch has in a pool to the last, no other micro-batch has its slot.
// Sees: plan/program.  Does not see: policies, processes, threads.
// In: a Program.  Out: ok, or S15 with the micro-batches and the line.
#pragma once

#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// Walks each list with the micro-batch that touched each slot last. One that finds another in its slot, though it was there before, has lost what it
/// kept. A transfer touches its slot from its start to its wait; a compute touches every pool of which its body names a place.
///
/// Of 1F1B on 2 stages with 4 micro-batches, the frames of stage 0 have 3 slots, by micro-batch: 0 1 2 0.
/// Tested  plan/check/slots_test
struct SlotCheck {
  const Program& p;
  std::int16_t* owner;  ///< (pools x micro-batches), zeroed: by slot, 1 + the micro-batch that touched it last
  bool* touched;        ///< (pools x micro-batches), zeroed: by micro-batch
  std::int16_t* named;  ///< (passes x chunks x most_named): the pools of which a body names places
  int* named_count;     ///< (passes x chunks), zeroed
  Diagnosis found{};
  int micro_batches = p.batch.total_micro_batches();

  static constexpr int passes = 3;
  /// Of one body: the pools of its chunk, and those of other chunks in which it leaves gradients.
  [[nodiscard]] static constexpr int most_named(int chunks) { return pool_kinds + chunks; }

  constexpr void run() {
    const IndexRange* const bodies[passes] = {p.forward_bodies, p.backward_bodies, p.weight_bodies};
    for (int pass = 0; pass < passes; ++pass)
      for (int c = 0; c < p.chunks && (pass == 0 || p.training); ++c)
        for (int e = bodies[pass][c].begin; e < bodies[pass][c].end; ++e)
          for (const Place* place : {&p.entries[e].a, &p.entries[e].b, &p.entries[e].c, &p.entries[e].d})
            if (place->pool >= 0) note(pass * p.chunks + c, place->pool);
    const std::int16_t* const slot_of = p.slots;  // what is local is read faster, here and below
    for (int pool = 0; pool < p.chunks * pool_kinds; ++pool)
      if (const int slots = p.pools[pool].slots; slots > 0)
        for (int at = pool * micro_batches, end = at + micro_batches; at < end; ++at)
          if (const int slot = slot_of[at]; slot < 0 || slot >= slots) return refuse_slot(at);
    for (int r = 0; r < p.roles && found.ok(); ++r) list(r);
  }

 private:
  constexpr void note(int body, std::int16_t pool) {
    std::int16_t* const all = named + body * most_named(p.chunks);
    for (int k = 0; k < named_count[body]; ++k)
      if (all[k] == pool) return;
    if (named_count[body] < most_named(p.chunks)) all[named_count[body]++] = pool;
  }
  // Few statements and no calls for each line: the compilers count them.
  constexpr void list(int role) {
    const Instruction* const lines = p.instructions;
    const std::int16_t* const slot_of = p.slots;
    std::int16_t* const owner_of = owner;
    bool* const touched_by = touched;
    const int all_micro_batches = micro_batches;
    for (int i = p.lists[role].begin, end = p.lists[role].end; i < end; ++i) {
      const ListOp op = lines[i].op;
      if (op == ListOp::send_start || op == ListOp::receive_wait) continue;
      const int m = lines[i].micro_batch;
      const std::int16_t* all = nullptr;  // the pools that the line touches
      int count = 1;
      if (op <= ListOp::backward_weight) {
        const int body = (op == ListOp::forward ? 0 : op == ListOp::backward_weight ? 2 : 1) * p.chunks + lines[i].chunk;
        all = named + body * most_named(p.chunks);
        count = named_count[body];
      } else {  // what was taken before the start of a send, or before the end of a receive, is missed at the other end or by the reader
        if (op != ListOp::send_wait && op != ListOp::receive_start) continue;
        const Transfer& t = p.transfers[lines[i].transfer];
        all = op == ListOp::send_wait ? &t.source.pool : &t.target.pool;
        if (t.use >= 0 || *all < 0) continue;
      }
      for (int k = 0; k < count; ++k) {
        const int at = all[k] * all_micro_batches;
        const int slot = at + slot_of[at + m];
        if (owner_of[slot] == m + 1) continue;  // it was there
        if (touched_by[at + m]) return refuse(role, i, all[k]);
        owner_of[slot] = static_cast<std::int16_t>(m + 1);
        touched_by[at + m] = true;
      }
    }
  }
  constexpr void refuse(int role, int index, int pool) {
    const int micro_batch = p.instructions[index].micro_batch;
    const int slot = p.slot(pool, micro_batch);
    found = Diagnosis{Code{'S', 15}, ""} << "device " << role << " reads at instruction " << index - p.lists[role].begin << " what micro-batch "
                                         << micro_batch << " has in slot " << slot << " of chunk " << static_cast<int>(p.pools[pool].chunk)
                                         << ", but micro-batch " << owner[pool * micro_batches + slot] - 1
                                         << " has taken that slot. Fix: give them two slots, or let one end before the other begins.";
  }
  constexpr void refuse_slot(int at) {
    const Pool& pool = p.pools[at / micro_batches];
    found = Diagnosis{Code{'S', 15}, ""} << "micro-batch " << at % micro_batches << " has slot " << p.slots[at] << " in a pool of chunk "
                                         << static_cast<int>(pool.chunk) << " with " << pool.slots << ". Fix: give it one of them.";
  }
};

}  // namespace heddle::plan_room
