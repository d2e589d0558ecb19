// SPDX-License-Identifier: MIT
// Room: plan. From scheduled computes to one list of instructions per role, with starts and waits in the paired form.
// Sees: plan/schedule, plan/program.  Does not see: memory, processes, threads.
// In: computes by time, transfers, buckets.  Out: lists; emission order sorts the event graph, so they cannot deadlock.
#pragma once

#include <cstdint>

#include "heddle/plan/program.hpp"
#include "heddle/plan/schedule.hpp"

namespace heddle::inline plan_room {

/// Sends of one role that are started and not yet waited for; more than this many are waited for, oldest first.
inline constexpr int send_window = 2;

struct EmitInput {
  const Layout& layout;
  const Transfer* transfers;
  int transfer_count;
  const GradientBucket* buckets;
  int bucket_count;
  Storage storage;
};

template <int Roles, int Most> struct Lists {
  Instruction instructions[Most > 0 ? Most : 1]{};
  IndexRange lists[Roles]{};
};

/// Appends to one list per role in one global order of events.
template <int Roles, int MostOfRole> struct Emitter {
  const EmitInput& in;
  Instruction lists[Roles][MostOfRole]{};
  int length[Roles]{};
  int tokens[Roles]{};
  int sent[Roles][Roles]{};  // starts on the channel from the first to the second role
  Instruction pending[Roles][send_window + 1]{};
  int pending_count[Roles]{};
  TimedCompute running[Roles]{};
  bool busy[Roles]{};

  constexpr void append(int role, const Instruction& instruction) { lists[role][length[role]++] = instruction; }

  constexpr void wait_oldest_send(int role) {
    Instruction wait = pending[role][0];
    wait.op = Op::send_wait;
    append(role, wait);
    for (int i = 1; i < pending_count[role]; ++i) pending[role][i - 1] = pending[role][i];
    --pending_count[role];
  }
  /// Both STARTs of a transfer, one after another in the global order.
  constexpr void start_transfer(int number, int micro_batch) {
    const Transfer& t = in.transfers[number];
    Instruction start;
    start.transfer = static_cast<std::int16_t>(number);
    start.chunk = t.from_chunk;
    start.micro_batch = static_cast<std::int16_t>(micro_batch);
    start.sequence = sent[t.from_role][t.to_role]++;
    start.op = Op::send_start;
    start.peer = t.to_role;
    start.token = tokens[t.from_role]++;
    append(t.from_role, start);
    pending[t.from_role][pending_count[t.from_role]++] = start;
    start.op = Op::receive_start;
    start.chunk = t.to_chunk;
    start.peer = t.from_role;
    start.token = tokens[t.to_role]++;
    append(t.to_role, start);
    if (pending_count[t.from_role] > send_window) wait_oldest_send(t.from_role);
  }
  constexpr void finish(int role) {
    busy[role] = false;
    const TimedCompute& done = running[role];
    for (int t = 0; t < in.transfer_count; ++t)
      if (in.transfers[t].from_chunk == done.chunk && in.transfers[t].gradient == done.backward) start_transfer(t, done.micro_batch);
  }
  /// Ends every compute that is over at `time`, earliest first.
  constexpr void finish_until(std::int32_t time) {
    for (;;) {
      int first = -1;
      for (int r = 0; r < Roles; ++r)
        if (busy[r] && running[r].end <= time && (first < 0 || running[r].end < running[first].end)) first = r;
      if (first < 0) return;
      finish(first);
    }
  }
  constexpr void begin(const TimedCompute& compute) {
    finish_until(compute.begin);
    const int role = in.layout.device_of_chunk[compute.chunk];
    for (int t = 0; t < in.transfer_count; ++t)
      if (in.transfers[t].to_chunk == compute.chunk && in.transfers[t].gradient == compute.backward) wait_received(role, t, compute.micro_batch);
    Instruction run;
    run.op = compute.backward ? Op::backward : Op::forward;
    run.chunk = compute.chunk;
    run.micro_batch = compute.micro_batch;
    append(role, run);
    running[role] = compute;
    busy[role] = true;
  }
  constexpr void wait_received(int role, int transfer, int micro_batch) {
    for (int i = length[role] - 1; i >= 0; --i) {
      const Instruction& start = lists[role][i];
      if (start.op != Op::receive_start || start.transfer != transfer || start.micro_batch != micro_batch) continue;
      Instruction wait = start;
      wait.op = Op::receive_wait;
      return append(role, wait);
    }
  }
  /// After the last compute: the loss if asked for, then bucket by bucket the rest of its reduction and its step; stepped slices are gathered.
  constexpr void close(int role) {
    while (pending_count[role] > 0) wait_oldest_send(role);
    if (role == in.layout.device_of_chunk[in.layout.chunk_count - 1]) close_loss(role);
    for (int b = 0; b < in.bucket_count; ++b) {
      if (in.buckets[b].role != role) continue;
      Instruction line;
      line.bucket = static_cast<std::int16_t>(b);
      reduce(role, line, true);  // its first START stands in the backward body of its lowest layer
      line.op = Op::step;
      append(role, line);
      gather(role, line, Op::gather_start);
    }
    for (int b = 0; b < in.bucket_count; ++b) {
      Instruction line;
      line.bucket = static_cast<std::int16_t>(b);
      if (in.buckets[b].role == role) gather(role, line, Op::gather_wait);
    }
  }
  constexpr void gather(int role, Instruction line, Op op) {
    if (!in.storage.gathers_after_step()) return;
    line.op = op;
    line.axis = in.storage.axis;
    append(role, line);
  }
  constexpr void close_loss(int role) {
    Instruction line;
    line.bucket = loss_bucket;
    line.when = When::reporting;
    reduce(role, line, false);
    line.op = Op::report;
    append(role, line);
  }
  /// One reduction after another over the axes that split the batch, innermost first; `started`: the first START is in a body.
  constexpr void reduce(int role, Instruction line, bool started) {
    for (const Axis a : batch_axes) {
      if (!in.layout.batch_split[static_cast<int>(a)] || in.layout.mesh.size(a) == 1) continue;
      if (in.storage.gradients && a == in.storage.axis && line.bucket != loss_bucket) {  // started and waited for in the backward bodies
        started = false;
        continue;
      }
      line.axis = a;
      line.op = Op::reduce_start;
      if (!started) append(role, line);
      started = false;
      line.op = Op::reduce_wait;
      append(role, line);
    }
  }
};

/// Most instructions of one role: computes, four lines a transfer at most, closing lines.
[[nodiscard]] constexpr int most_instructions(const EmitInput& in, int micro_batches, int role) {
  int n = 0;
  for (int c = 0; c < in.layout.chunk_count; ++c)
    if (in.layout.device_of_chunk[c] == role) n += 2 * micro_batches;
  for (int t = 0; t < in.transfer_count; ++t)
    if (in.transfers[t].from_role == role || in.transfers[t].to_role == role) n += 2 * micro_batches;
  return n + 7 * in.bucket_count + 5;  // two axes at most split the batch: start and wait of each, the step or report, and a gather
}

template <int Roles, int MostOfRole, int Total, class Computes>
[[nodiscard]] constexpr Lists<Roles, Total> emit_lists(const EmitInput& in, const Computes& computes) {
  Emitter<Roles, MostOfRole> emitter{in};
  for (const TimedCompute& compute : computes) emitter.begin(compute);
  emitter.finish_until(INT32_MAX);
  Lists<Roles, Total> out;
  int n = 0;
  for (int r = 0; r < Roles; ++r) {
    emitter.close(r);
    out.lists[r].begin = n;
    for (int i = 0; i < emitter.length[r]; ++i) out.instructions[n++] = emitter.lists[r][i];
    out.lists[r].end = n;
  }
  return out;
}

}  // namespace heddle::inline plan_room
