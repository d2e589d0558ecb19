// SPDX-License-Identifier: MIT
// Room: plan. Every value gets its slot, by one pass over each list.
// Sees: plan/program.  Does not see: processes, threads, kernels.
// In: lists, slot sizes.  Out: pools, slot of every micro-batch; the lifetimes are the hazard check as well.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/plan/lower/body.hpp"
#include "heddle/plan/lower/phase_tables.hpp"
#include "heddle/plan/lower/tables.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// Takes and frees the slots of all pools while a list is walked in order. Pools have their initial values but for the bytes of slots.
/// If micro-batches 0 and 1 have slots 0 and 1 and the first is done, micro-batch 2 takes slot 0.
template <class Work> struct SlotAllocator {
  Work& work;
  int micro_batches;
  static constexpr int most_pools = Layout::most_chunks * pool_kinds;
  static constexpr int taken = 1;
  static constexpr int computed = 2;  // no compute of this device reads it again
  static constexpr int send = 4;      // once for each send that is started and not waited for
  bool has_bytes[most_pools]{};       // by pool
  int least_free[most_pools]{};       // by pool: slots before this one are occupied
  int slot_count[most_pools]{};       // by pool: what goes to Pool::slots

  constexpr void take(int pool, int m) {
    if (!has_bytes[pool]) return;
    Work& w = work;
    const int first = pool * micro_batches;
    const int now = w.state[first + m];
    if (now % computed == taken) return;
    int slot = least_free[pool];
    while (w.occupied[first + slot]) ++slot;
    least_free[pool] = slot + 1;
    w.occupied[first + slot] = true;
    w.state[first + m] = now + taken;
    w.slots[first + m] = static_cast<std::int16_t>(slot);
    if (slot >= slot_count[pool]) slot_count[pool] = slot + 1;
  }
  constexpr void compute(int pool, int m) {
    int& now = work.state[pool * micro_batches + m];
    if (now / computed % 2 == 0) now += computed;
  }
  constexpr void done(int pool, int m) {
    Work& w = work;
    const int at = pool * micro_batches + m;
    const int now = w.state[at];
    if (now / computed % 2 == 0) return settle(pool, at, now + computed);
    settle(pool, at, now);
  }
  /// What is sent is kept until the wait of the last of its sends.
  constexpr void sent(int pool, int m) {
    const int at = pool * micro_batches + m;
    settle(pool, at, work.state[at] - send);
  }

 private:
  /// Frees the slot if nothing else needs it.
  constexpr void settle(int pool, int at, int now) {
    Work& w = work;
    if (now != taken + computed) return void(w.state[at] = now);
    w.state[at] = computed;
    const int slot = w.slots[at];
    w.occupied[pool * micro_batches + slot] = false;
    if (slot < least_free[pool]) least_free[pool] = slot;
  }
};

/// What a walk over lists has to know to give out slots: which transfers there are, and whether a weight part reads a pool again.
/// In training 2 stages have 1 edge and 2 transfers, a value there and its gradient back.
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
/// One device that runs 4 micro-batches one after another has 1 frame for all of them.
template <class Work> struct SlotPass {
  SlotInput in;
  SlotAllocator<Work> slots;
  int chunks = in.layout.chunk_count;
  static constexpr int most = Layout::most_chunks;
  bool sends_on[most]{};
  bool takes_locally[most]{};  // a value of another chunk of its device
  int read_last[most]{};       // by chunk: a chunk whose frame it is the last to read, then the next of them; -1 ends the list
  int next_read[most]{};

  constexpr SlotPass(const SlotInput& input, Work& work, int micro_batches) : in(input), slots{work, micro_batches} {
    int last_reader[most]{};
    for (int c = 0; c < chunks; ++c) {
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
    for (int c = chunks - 1; c >= 0; --c) {
      next_read[c] = read_last[last_reader[c]];
      read_last[last_reader[c]] = c;
    }
  }

  /// Every pool has its chunk, its role and the bytes of its slots before the first line is visited, and their number after the last.
  constexpr void open(const std::int64_t* slot_bytes) {
    for (int p = 0; p < chunks * pool_kinds; ++p) {
      Pool& pool = slots.work.pools[p];
      pool.chunk = static_cast<std::int16_t>(p / pool_kinds);
      pool.role = static_cast<std::int16_t>(in.layout.device_of_chunk[p / pool_kinds]);
      pool.slot_bytes = slot_bytes[p];
      slots.has_bytes[p] = slot_bytes[p] != 0;
    }
  }
  constexpr void close() {
    for (int p = 0; p < chunks * pool_kinds; ++p) slots.work.pools[p].slots = slots.slot_count[p];
  }
  /// These lines of a list; of a line only the fields that it has: compilers count them.
  template <class Instructions> constexpr void visit(const Instructions& instructions, int begin, int end) {
    const Transfer* const transfers = in.transfers;
    for (int i = begin; i < end; ++i) {
      const ListOp op = instructions[i].op;
      if (op >= ListOp::receive_wait) continue;
      const int m = instructions[i].micro_batch;
      if (op == ListOp::receive_start)
        slots.take(transfers[instructions[i].transfer].target.pool, m);
      else if (op == ListOp::send_start)
        slots.work.state[transfers[instructions[i].transfer].source.pool * slots.micro_batches + m] += SlotAllocator<Work>::send;
      else if (op == ListOp::send_wait)
        slots.sent(transfers[instructions[i].transfer].source.pool, m);
      else if (op == ListOp::forward)
        forward(instructions[i].chunk, m);
      else if (op != ListOp::backward_weight)
        backward(instructions[i].chunk, m);
      else
        weight(instructions[i].chunk, m);
    }
  }

 private:
  constexpr void weight(int chunk, int m) {
    for (const PoolKind kind : {PoolKind::frame, PoolKind::gradient_in, PoolKind::gradient_reread})
      if (in.weight_reads[pool_of(chunk, kind)]) slots.done(pool_of(chunk, kind), m);
  }
  /// In evaluation a frame is read last by the last chunk of the same device that takes one of its values.
  constexpr void forward(int chunk, int m) {
    slots.take(pool_of(chunk, PoolKind::frame), m);
    if (in.training) return;
    for (int c = read_last[chunk]; c >= 0; c = next_read[c]) {
      if (c == chunk && sends_on[c])
        slots.compute(pool_of(c, PoolKind::frame), m);
      else
        slots.done(pool_of(c, PoolKind::frame), m);
    }
  }
  constexpr void backward(int chunk, int m) {
    const int frame = pool_of(chunk, PoolKind::frame);
    const int arrived = pool_of(chunk, PoolKind::gradient_in);
    const int leaves = pool_of(chunk, PoolKind::gradient_out);
    const int reread = pool_of(chunk, PoolKind::gradient_reread);
    if (slots.has_bytes[leaves]) slots.take(leaves, m);  // asked here too: a call costs compilers more
    if (slots.has_bytes[reread]) slots.take(reread, m);
    for (int e = 0; e < in.edge_count && takes_locally[chunk]; ++e)
      if (in.edges[e].edge.to_chunk == chunk && !in.edges[e].remote) slots.take(pool_of(in.edges[e].edge.from_chunk, PoolKind::gradient_in), m);
    if (!in.weight_reads[frame]) slots.done(frame, m);
    if (!in.weight_reads[arrived]) slots.done(arrived, m);
    slots.compute(leaves, m);  // the sends of this pool start after the compute: the slot is freed by their waits
  }
};

/// The slots of all pools, by one pass over the list of each role up to its tied gradients. The instructions are a pointer or the array that they
/// are.
template <class Instructions, class Work>
constexpr void allot_slots(const SlotInput& in, const std::int64_t* slot_bytes, const Instructions& instructions, const IndexRange* lists,
                           const IndexRange* ties, int micro_batches, Work& work) {
  SlotPass<Work> pass{in, work, micro_batches};
  pass.open(slot_bytes);
  for (int r = 0; r < in.layout.roles(); ++r) pass.visit(instructions, lists[r].begin, ties[r].begin);
  pass.close();
}

}  // namespace heddle::plan_room
