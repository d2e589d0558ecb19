// SPDX-License-Identifier: MIT
// Room: plan. Slots of pools: from the first line that touches what a micro-batch has in a pool to the last, no other micro-batch has its slot.
// Sees: plan/program.  Does not see: policies, processes, threads.
// In: a Program.  Out: ok, or S15 with the micro-batches and the line.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// Owns what a SlotCheck notes, as arrays of a constant: compilers read those several times faster than what a pointer shows.
/// 2 chunks with 4 micro-batches have 32 slots, and 6 bodies that name 6 pools each at most.
template <int Chunks, int MicroBatches, int Transfers> struct SlotNotes {
  static constexpr int slots = Chunks * pool_kinds * MicroBatches;
  static constexpr int bodies = 3 * Chunks;
  std::int16_t owner[std::size_t{slots}]{};  ///< by slot: 1 + the micro-batch that touched it last
  bool touched[std::size_t{slots}]{};        ///< by pool and micro-batch
  /// Where the slots of the pools begin of which a body names places, and -1 behind them; the first -1 is a list of none.
  int named[std::size_t{1 + bodies * (pool_kinds + Chunks + 1)}]{};
  int sent_from[std::size_t{Transfers + 1}]{};    ///< by transfer: where the slots of the pool begin at this end, -1 if there are none
  int received_to[std::size_t{Transfers + 1}]{};  ///< by transfer
};

/// The same in tables of another owner, zeroed.
struct ShownSlotNotes {
  std::int16_t* owner;
  bool* touched;
  int* named;
  int* sent_from;
  int* received_to;
};

/// Walks each list with the micro-batch that touched each slot last. One that finds another in its slot, though it was there before, has lost what it
/// kept. A transfer touches its slot from its start to its wait; a compute touches every pool of which its body names a place.
///
/// Of 1F1B on 2 stages with 4 micro-batches, the frames of stage 0 have 3 slots, by micro-batch: 0 1 2 0.
/// Tested  plan/check/slots_test
template <class Notes> struct SlotCheck {
  const Program& p;
  Notes& notes;
  Diagnosis found{};
  int micro_batches = p.batch.total_micro_batches();

  /// The tables of the Program, each as a pointer or as the array that it is.
  template <class Instructions, class Entries, class Slots>
  constexpr void run(const Instructions& instructions, const Entries& entries, const Slots& slot_of) {
    name_pools(entries);
    name_ends();
    for (int pool = 0; pool < p.chunks * pool_kinds; ++pool)
      if (const int slots = p.pools[pool].slots; slots > 0)
        for (int at = pool * micro_batches, end = at + micro_batches; at < end; ++at)
          if (slot_of[at] < 0 || slot_of[at] >= slots) return refuse_slot(at);
    for (int r = 0; r < p.roles && found.ok(); ++r) list(r, instructions, slot_of);
  }

 private:
  /// Of one body: the pools of its chunk, those of other chunks in which it leaves gradients, and the end of the list.
  [[nodiscard]] constexpr int most_named() const { return pool_kinds + p.chunks + 1; }
  [[nodiscard]] constexpr int first_named(int pass, int chunk) const { return 1 + (pass * p.chunks + chunk) * most_named(); }

  template <class Entries> constexpr void name_pools(const Entries& entries) {
    const IndexRange* const bodies[] = {p.forward_bodies, p.backward_bodies, p.weight_bodies};
    int named_by[Layout::most_chunks * pool_kinds]{};  // by pool: where the list begins of the body that named it last
    notes.named[0] = -1;
    for (int pass = 0; pass < 3; ++pass)
      for (int c = 0; c < p.chunks; ++c) {
        const int first = first_named(pass, c);
        int next = first;
        if (pass > 0 && !p.training) {  // no body: a list of none
          notes.named[next] = -1;
          continue;
        }
        const auto name = [&](int pool) {
          named_by[pool] = first;
          if (next + 1 < first + most_named()) notes.named[next++] = pool * micro_batches;
        };
        for (int e = bodies[pass][c].begin, end = bodies[pass][c].end; e < end; ++e) {  // one by one: a loop over four takes twice as long
          const int a = entries[e].a.pool;
          const int b = entries[e].b.pool;
          const int g = entries[e].c.pool;
          const int d = entries[e].d.pool;
          const int s = entries[e].e.pool;
          if (a >= 0 && named_by[a] != first) name(a);
          if (b >= 0 && named_by[b] != first) name(b);
          if (g >= 0 && named_by[g] != first) name(g);
          if (d >= 0 && named_by[d] != first) name(d);
          if (s >= 0 && named_by[s] != first) name(s);
        }
        notes.named[next] = -1;
      }
  }
  /// What is taken before the end of a send, or after the start of a receive, is missed at the other end or by the reader. Gradients of tied
  /// parameters have no slots.
  constexpr void name_ends() {
    for (int t = 0; t < p.transfer_count; ++t) {
      const Transfer& of = p.transfers[t];
      notes.sent_from[t] = of.use >= 0 || of.source.pool < 0 ? -1 : of.source.pool * micro_batches;
      notes.received_to[t] = of.use >= 0 || of.target.pool < 0 ? -1 : of.target.pool * micro_batches;
    }
  }
  // Few statements and no calls for each line, and of a line only the fields that it has: the compilers count them.
  template <class Instructions, class Slots> constexpr void list(int role, const Instructions& instructions, const Slots& slot_of) {
    Notes& note = notes;
    const int chunks = p.chunks;
    const int most = most_named();
    for (int i = p.lists[role].begin, end = p.lists[role].end; i < end; ++i) {
      const ListOp op = instructions[i].op;
      int at = -1;    // where the slots begin of a pool that the line touches
      int next = -1;  // of a transfer the list of none follows
      if (op <= ListOp::backward_weight) {
        next = 1 + ((op == ListOp::forward ? 0 : op == ListOp::backward_weight ? 2 : 1) * chunks + instructions[i].chunk) * most;
        at = note.named[next];
      } else if (op == ListOp::send_wait) {
        at = note.sent_from[instructions[i].transfer];
      } else if (op == ListOp::receive_start) {
        at = note.received_to[instructions[i].transfer];
      } else {
        continue;
      }
      for (const int m = instructions[i].micro_batch; at >= 0; at = note.named[++next]) {
        const int slot = at + slot_of[at + m];
        if (note.owner[slot] == m + 1) continue;
        if (note.touched[at + m]) return refuse(role, i, at / micro_batches);  // it was not there
        note.owner[slot] = static_cast<std::int16_t>(m + 1);
        note.touched[at + m] = true;
      }
    }
  }
  constexpr void refuse(int role, int index, int pool) {
    const int micro_batch = p.instructions[index].micro_batch;
    const int slot = p.slot(pool, micro_batch);
    found = Diagnosis{Code{'S', 15}, ""} << "device " << role << " reads at instruction " << index - p.lists[role].begin << " what micro-batch "
                                         << micro_batch << " has in slot " << slot << " of chunk " << static_cast<int>(p.pools[pool].chunk)
                                         << ", but micro-batch " << notes.owner[pool * micro_batches + slot] - 1
                                         << " has taken that slot. Fix: give them two slots, or let one end before the other begins.";
  }
  constexpr void refuse_slot(int at) {
    const Pool& pool = p.pools[at / micro_batches];
    found = Diagnosis{Code{'S', 15}, ""} << "micro-batch " << at % micro_batches << " has slot " << p.slots[at] << " in a pool of chunk "
                                         << static_cast<int>(pool.chunk) << " with " << pool.slots << ". Fix: give it one of them.";
  }
};

}  // namespace heddle::plan_room
