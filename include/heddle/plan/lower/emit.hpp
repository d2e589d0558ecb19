// SPDX-License-Identifier: MIT
// Room: plan. From scheduled computes to one list of instructions per role, with starts and waits in the paired form.
// Sees: plan/lower/schedule, plan/program.  Does not see: memory, processes, threads.
// In: computes by time, transfers, buckets.  Out: lists; emission order sorts the event graph, so they cannot deadlock.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/plan/lower/collectives.hpp"
#include "heddle/plan/lower/phase_tables.hpp"
#include "heddle/plan/lower/schedule.hpp"
#include "heddle/plan/lower/tables.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// Sends of one role that are started and not yet waited for; more than this many are waited for, oldest first.
inline constexpr int send_window = 2;

/// What the lists are written from: 2 stages have 2 transfers, a value forward and a gradient backward.
struct EmitInput {
  const Layout& layout;
  const Transfer* transfers;
  int transfer_count;
  const FlatBucket* buckets;
  int bucket_count;
  Storage storage;
  BeforeStep before{};
  const TiedUse* uses = nullptr;
  int use_count = 0, tied_transfers = 0;  // those lie behind the others
  CollectiveNumbers numbers{};
};

/// Appends to one list per role in one global order of events. A role that has started 3 sends waits for the first of them.
template <class Work> struct Emitter {
  const EmitInput& in;
  Schedule schedule;
  Work& work;
  int micro_batches, refused = 0;
  int chunks = in.layout.chunk_count, roles = in.layout.roles();
  static constexpr int pending_room = send_window + 1, most = Layout::most_chunks;
  // What is by chunk or role is an array, which compilers read faster than what a pointer shows. Transfers by the chunk at one end and their
  // direction, as lists: first of each, then the next; -1 ends a list.
  int first_out[2 * most]{}, first_in[2 * most]{};
  int end_of[most]{};                  // by role: where its list ends, so far
  int limit[most]{};                   // by role: where the list of the next role begins
  int pending[most * pending_room]{};  // by role: where these sends start in the list
  int pending_count[most]{}, tokens[most]{};
  int sent[most * most]{};  // starts on the channel from the first to the second role
  std::int32_t now = 0;

  constexpr Emitter(const EmitInput& input, const Schedule& computes, Work& out, int all_micro_batches)
      : in(input), schedule(computes), work(out), micro_batches(all_micro_batches) {
    sort_transfers();
  }
  constexpr void sort_transfers() {
    for (int c = 0; c < 2 * chunks; ++c) first_out[c] = first_in[c] = -1;
    for (int t = in.transfer_count - 1; t >= 0; --t) {
      const Transfer& transfer = in.transfers[t];
      int& taken_from = first_out[2 * transfer.from_chunk + (transfer.gradient ? 1 : 0)];
      int& taken_by = first_in[2 * transfer.to_chunk + (transfer.gradient ? 1 : 0)];
      work.next_out[t] = taken_from;
      work.next_in[t] = taken_by;
      taken_from = taken_by = t;
    }
  }
  /// A line without room is written over the last one and counted.
  constexpr int refuse(int role) {
    ++refused;
    return end_of[role] > work.lists[role].begin ? end_of[role] - 1 : 0;
  }
  constexpr void append(int role, const Instruction& line) { work.instructions[end_of[role] < limit[role] ? end_of[role]++ : refuse(role)] = line; }
  constexpr void append_wait(int role, int start, ListOp op) {
    Instruction wait = work.instructions[start];
    wait.op = op;
    work.instructions[end_of[role] < limit[role] ? end_of[role]++ : refuse(role)] = wait;
  }

  constexpr void wait_oldest_send(int role) {
    const int first = role * pending_room;
    append_wait(role, pending[first], ListOp::send_wait);
    for (int i = 1; i < pending_count[role]; ++i) pending[first + i - 1] = pending[first + i];
    --pending_count[role];
  }
  /// Both STARTs of a transfer, one after another in the global order.
  constexpr void start_transfer(int number, int micro_batch) {
    const Transfer t = in.transfers[number];  // a copy is read faster
    const int from = t.from_role, to = t.to_role;
    const int sequence = sent[from * roles + to]++;
    const int here = end_of[from] < limit[from] ? end_of[from]++ : refuse(from);
    const int there = end_of[to] < limit[to] ? end_of[to]++ : refuse(to);
    const auto transfer = static_cast<std::int16_t>(number), m = static_cast<std::int16_t>(micro_batch);
    work.instructions[here] =
        Instruction{ListOp::send_start, When::always, Axis::data, t.from_chunk, m, transfer, t.to_role, -1, tokens[from]++, sequence};
    work.instructions[there] =
        Instruction{ListOp::receive_start, When::always, Axis::data, t.to_chunk, m, transfer, t.from_role, -1, tokens[to]++, sequence};
    work.received[number * micro_batches + micro_batch] = there;
    pending[from * pending_room + pending_count[from]++] = here;
    if (pending_count[from] > send_window) wait_oldest_send(from);
  }
  constexpr void finish(const TimedCompute& done) {
    if (done.op == ListOp::backward_weight) return;
    for (int t = first_out[2 * done.chunk + (passes_gradients(done.op) ? 1 : 0)]; t >= 0; t = work.next_out[t]) start_transfer(t, done.micro_batch);
  }
  /// Ends every compute that is over at `time`, earliest first.
  constexpr void finish_until(std::int32_t time) {
    for (; now <= time; ++now)
      for (int i = work.ending[now]; i > 0; i = work.ending_too[i - 1]) finish(TimedCompute{schedule.computes[i - 1]});  // a copy is read faster
  }
  constexpr void begin(int index) {
    const TimedCompute compute = schedule.computes[index];
    finish_until(compute.begin);
    const int role = in.layout.device_of_chunk[compute.chunk];
    if (compute.op != ListOp::backward_weight)
      for (int t = first_in[2 * compute.chunk + (passes_gradients(compute.op) ? 1 : 0)]; t >= 0; t = work.next_in[t])
        append_wait(role, work.received[t * micro_batches + compute.micro_batch], ListOp::receive_wait);
    work.instructions[end_of[role] < limit[role] ? end_of[role]++ : refuse(role)] =
        Instruction{compute.op, When::always, Axis::data, compute.chunk, compute.micro_batch};
    work.ending_too[index] = work.ending[compute.end];
    work.ending[compute.end] = index + 1;
  }
  /// After the last compute: the loss if asked for, and the rest of the reductions of what other roles wait for.
  constexpr void end_computes(int role) {
    while (pending_count[role] > 0) wait_oldest_send(role);
    if (role == in.layout.device_of_chunk[in.layout.chunk_count - 1]) close_loss(role);
    for (int u = 0; u < in.use_count; ++u)
      if (in.uses[u].role == role) reduce(role, line_of(in.uses[u].bucket), true);
    work.ties[role].begin = end_of[role];
  }
  /// A gradient of tied parameters, as this role has reduced it, to another that uses them: both STARTs.
  constexpr void start_tie(int number) {
    const Transfer& t = in.transfers[number];
    Instruction start = line_of(in.uses[t.use].bucket);
    start.transfer = static_cast<std::int16_t>(number);
    start.micro_batch = 0;
    start.sequence = sent[t.from_role * roles + t.to_role]++;
    start.op = ListOp::send_start;
    start.peer = t.to_role;
    start.token = tokens[t.from_role]++;
    append(t.from_role, start);
    start.op = ListOp::receive_start;
    start.peer = t.from_role;
    start.token = tokens[t.to_role]++;
    append(t.to_role, start);
  }
  /// Then bucket by bucket the rest of its reduction and its step; stepped slices are gathered.
  constexpr void close(int role) {
    work.ties[role].end = end_of[role];
    for (int b = 0; b < in.bucket_count; ++b) {
      if (in.buckets[b].role != role || in.buckets[b].shared) continue;
      reduce(role, line_of(b), true);  // its first START stands in the backward body of its lowest layer
      if (!in.before.any()) step(role, line_of(b));
    }
    close_ties(role);
    if (in.before.any() && in.bucket_count > 0) close_norm(role);
    for (int b = 0; b < in.bucket_count; ++b)
      if (in.buckets[b].role == role && in.buckets[b].steps()) gather(role, line_of(b), ListOp::gather_wait);
  }
  /// The gradients of all uses are there: they are added up, and the sum is stepped.
  constexpr void close_ties(int role) {
    for (int i = work.ties[role].begin; i < work.ties[role].end; ++i)
      append_wait(role, i, work.instructions[i].op == ListOp::send_start ? ListOp::send_wait : ListOp::receive_wait);
    for (int u = 0; u < in.use_count; ++u) {
      Instruction line = line_of(in.uses[u].bucket);
      if (in.uses[u].role != role || !in.buckets[line.bucket].steps()) continue;
      line.op = ListOp::tie;
      append(role, line);
      if (!in.before.any()) step(role, line);
    }
  }
  [[nodiscard]] static constexpr Instruction line_of(int bucket) {
    Instruction line;
    line.bucket = static_cast<std::int16_t>(bucket);
    return line;
  }
  constexpr void step(int role, Instruction line) {
    line.op = ListOp::step;
    append(role, line);
    gather(role, line, ListOp::gather_start);
  }
  /// No bucket is stepped before the norm of all is known, and whether any rank has seen an overflow or a loss that is not finite.
  constexpr void close_norm(int role) {
    Instruction line;
    line.op = ListOp::guard;
    if (in.before.guards) append(role, line);
    line.op = in.before.scales_loss ? ListOp::unscale : ListOp::norm;
    if (in.before.scales_loss || in.before.clips) append(role, line);
    for (const Axis a : norm_axes)
      if (ToldAlong{a, in.before, 1, in.layout, in.storage}.count > 0) reduce_along(role, line, a, in.numbers.of_norm(a), true);
    line.op = ListOp::skip;
    if (in.before.may_skip()) append(role, line);
    line.op = ListOp::clip;
    if (in.before.clips) append(role, line);
    for (int b = 0; b < in.bucket_count; ++b)
      if (in.buckets[b].role == role && in.buckets[b].steps()) step(role, line_of(b));
  }
  constexpr void reduce_along(int role, Instruction line, Axis a, std::int16_t collective, bool starts) {
    line.axis = a;
    line.collective = collective;
    line.op = ListOp::reduce_start;
    if (starts) append(role, line);
    line.op = ListOp::reduce_wait;
    append(role, line);
  }
  constexpr void gather(int role, Instruction line, ListOp op) {
    if (!in.storage.gathers_after_step()) return;
    line.op = op;
    line.axis = in.storage.axis;
    line.collective = in.numbers.gather(line.bucket);
    append(role, line);
  }
  constexpr void close_loss(int role) {
    Instruction line;
    line.when = When::reporting;
    for (const Axis a : batch_axes)
      if (splits(a)) reduce_along(role, line, a, in.numbers.of_loss(a), true);
    line.op = ListOp::report;
    append(role, line);
  }
  [[nodiscard]] constexpr bool splits(Axis a) const { return in.layout.batch_split[static_cast<int>(a)] && in.layout.mesh.size(a) > 1; }
  /// Of a bucket, one reduction after another over the axes that split the batch, innermost first; `started`: the first START is in a body.
  constexpr void reduce(int role, const Instruction& line, bool started) {
    for (const Axis a : batch_axes) {
      if (!splits(a)) continue;
      if (!in.storage.gradients || a != in.storage.axis)  // else started and waited for in the backward bodies
        reduce_along(role, line, a, in.numbers.reduction(line.bucket, a), !started);
      started = false;
    }
  }
};

/// Most instructions of one role: computes, two lines a transfer at either end, closing lines.
[[nodiscard]] constexpr int most_instructions(const EmitInput& in, int passes, int micro_batches, int role) {
  int n = 0;
  for (int c = 0; c < in.layout.chunk_count; ++c)
    if (in.layout.device_of_chunk[c] == role) n += passes * micro_batches;
  for (int t = 0; t < in.transfer_count; ++t)
    if (in.transfers[t].from_role == role || in.transfers[t].to_role == role) n += 2 * micro_batches;
  // Two axes at most split the batch: start and wait of each, the step or report, and a gather; the norm and its axes; what is tied.
  for (int b = 0; b < in.bucket_count; ++b)
    if (in.buckets[b].role == role) n += 7;
  return n + 5 + (in.before.any() ? 9 : 0) + (in.before.guards ? 3 : 0) + in.use_count + 2 * in.tied_transfers;
}

[[nodiscard]] constexpr int most_instructions(const EmitInput& in, int passes, int micro_batches) {  // of all roles
  int n = 0;
  for (int r = in.layout.roles(); r-- > 0;) n += most_instructions(in, passes, micro_batches, r);
  return n;
}

/// Each role's list begins behind the most that the roles before it may have. Returns what found no room.
template <class Work> constexpr Diagnosis write_lists(const EmitInput& in, int passes, int micro_batches, const Schedule& schedule, Work& out) {
  Emitter<Work> emitter{in, schedule, out, micro_batches};
  int begin = 0;
  for (int r = 0; r < emitter.roles; ++r) {
    const int first = begin < out.most_instructions ? begin : out.most_instructions;
    out.lists[r] = IndexRange{first, first};
    emitter.end_of[r] = first;
    begin += most_instructions(in, passes, micro_batches, r);
    emitter.limit[r] = begin < out.most_instructions ? begin : out.most_instructions;
  }
  for (int i = 0; i < schedule.count; ++i) emitter.begin(i);
  emitter.finish_until(schedule.makespan);
  for (int r = 0; r < emitter.roles; ++r) emitter.end_computes(r);
  for (int t = 0; t < in.tied_transfers; ++t) emitter.start_tie(in.transfer_count + t);
  for (int r = 0; r < emitter.roles; ++r) {
    emitter.close(r);
    out.lists[r].end = emitter.end_of[r];
  }
  return check_room("instructions", out.most_instructions, emitter.refused);
}

constexpr Diagnosis emit_lists(const EmitInput& in, int passes, int micro_batches, const Schedule& schedule, const Lists& out) {
  AllottedListWork work{out, in.transfer_count, micro_batches, schedule.count, schedule.makespan};
  return write_lists(in, passes, micro_batches, schedule, work);
}

template <int Roles, int Most, int Transfers, int MicroBatches, int Computes, int Makespan>
[[nodiscard]] constexpr ListTables<Roles, Most> emit_lists(const EmitInput& in, int passes, const Schedule& schedule) {
  ListWork<Roles, Most, Transfers, MicroBatches, Computes, Makespan> work;
  work.fault = write_lists(in, passes, MicroBatches, schedule, work);
  return ListTables<Roles, Most>{work};
}

}  // namespace heddle::plan_room
