// SPDX-License-Identifier: MIT
// Room: plan. From scheduled computes to one list of instructions per role, with starts and waits in the paired form.
// Sees: plan/lower/schedule, plan/program.  Does not see: memory, processes, threads.
// In: computes by time, transfers, buckets.  Out: lists; emission order sorts the event graph, so they cannot deadlock.
#pragma once

#include <cstddef>
#include <cstdint>

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
  bool clips = false, scales_loss = false;
  [[nodiscard]] constexpr bool steps_at_the_end() const { return clips || scales_loss; }
  const TiedUse* uses = nullptr;
  int use_count = 0, tied_transfers = 0;  // those lie behind the others
};

/// The lists while they are written, in tables of another owner that have their initial values; 2 roles have 2 ranges of one array.
struct Lists {
  Instruction* instructions;  // of all roles
  int most_instructions;
  IndexRange* lists;  // by role
  IndexRange* ties;   // by role: starts of tied gradients; the pools of bodies are free before
};

/// Owns the lists of all roles that are a constant: one array of lines, in which each role has a range.
template <int Roles, int Most> struct ListTables {
  Instruction instructions[std::size_t{Most > 0 ? Most : 1}]{};
  IndexRange lists[std::size_t{Roles}]{};
  IndexRange ties[std::size_t{Roles}]{};
  Diagnosis fault;
};

/// Appends to one list per role in one global order of events. A role that has started 3 sends waits for the first of them.
struct Emitter {
  const EmitInput& in;
  Schedule schedule;
  Instruction* lines;
  IndexRange* lists;
  IndexRange* ties;
  int refused = 0;
  int micro_batches;
  int chunks = in.layout.chunk_count;
  int roles = in.layout.roles();
  int pending_room = send_window + 1;
  Tables<int> tables;
  // Transfers by the chunk at one end and their direction, as lists: first of each, then the next; -1 ends a list.
  int* first_out = tables.make<int>(2 * chunks);  // by chunk and gradient
  int* first_in = tables.make<int>(2 * chunks);
  int* next_out = tables.make<int>(in.transfer_count);
  int* next_in = tables.make<int>(in.transfer_count);
  int* received = tables.make<int>(in.transfer_count * micro_batches);  // where the receive starts in the list
  int* tokens = tables.make<int>(roles);
  int* sent = tables.make<int>(roles * roles);            // starts on the channel from the first to the second role
  int* pending = tables.make<int>(roles * pending_room);  // by role: where these sends start in the list
  int* pending_count = tables.make<int>(roles);
  int* ending = tables.make<int>(schedule.makespan + 1);  // by time: 1 + a compute that ends then
  int* ending_too = tables.make<int>(schedule.count);     // by compute: the next one that ends at the same time
  int* limit = tables.make<int>(roles);                   // where the list of the next role begins
  std::int32_t now = 0;

  constexpr Emitter(const EmitInput& input, const Schedule& computes, const Lists& out, int all_micro_batches)
      : in(input), schedule(computes), lines(out.instructions), lists(out.lists), ties(out.ties), micro_batches(all_micro_batches) {
    sort_transfers();
  }
  constexpr void sort_transfers() {
    for (int c = 0; c < 2 * chunks; ++c) first_out[c] = first_in[c] = -1;
    for (int t = in.transfer_count - 1; t >= 0; --t) {
      const Transfer& transfer = in.transfers[t];
      int& taken_from = first_out[2 * transfer.from_chunk + (transfer.gradient ? 1 : 0)];
      int& taken_by = first_in[2 * transfer.to_chunk + (transfer.gradient ? 1 : 0)];
      next_out[t] = taken_from;
      next_in[t] = taken_by;
      taken_from = taken_by = t;
    }
  }
  /// A line without room is written over the last one and counted.
  constexpr int refuse(int role) {
    ++refused;
    return lists[role].end > lists[role].begin ? lists[role].end - 1 : 0;
  }
  constexpr void append(int role, const Instruction& line) { lines[lists[role].end < limit[role] ? lists[role].end++ : refuse(role)] = line; }
  constexpr void append_wait(int role, int start, ListOp op) {
    Instruction& wait = lines[lists[role].end < limit[role] ? lists[role].end++ : refuse(role)];
    wait = lines[start];
    wait.op = op;
  }

  constexpr void wait_oldest_send(int role) {
    int* const sends = pending + role * pending_room;
    append_wait(role, sends[0], ListOp::send_wait);
    for (int i = 1; i < pending_count[role]; ++i) sends[i - 1] = sends[i];
    --pending_count[role];
  }
  /// Both STARTs of a transfer, one after another in the global order.
  constexpr void start_transfer(int number, int micro_batch) {
    const Transfer& t = in.transfers[number];
    const int from = t.from_role;
    const int to = t.to_role;
    const int sequence = sent[from * roles + to]++;
    const int here = lists[from].end < limit[from] ? lists[from].end++ : refuse(from);
    const int there = lists[to].end < limit[to] ? lists[to].end++ : refuse(to);
    const auto transfer = static_cast<std::int16_t>(number);
    const auto m = static_cast<std::int16_t>(micro_batch);
    lines[here] = Instruction{ListOp::send_start, When::always, Axis::data, t.from_chunk, m, transfer, t.to_role, -1, tokens[from]++, sequence};
    lines[there] = Instruction{ListOp::receive_start, When::always, Axis::data, t.to_chunk, m, transfer, t.from_role, -1, tokens[to]++, sequence};
    received[number * micro_batches + micro_batch] = there;
    pending[from * pending_room + pending_count[from]++] = here;
    if (pending_count[from] > send_window) wait_oldest_send(from);
  }
  constexpr void finish(const TimedCompute& done) {
    if (done.op == ListOp::backward_weight) return;
    for (int t = first_out[2 * done.chunk + (passes_gradients(done.op) ? 1 : 0)]; t >= 0; t = next_out[t]) start_transfer(t, done.micro_batch);
  }
  /// Ends every compute that is over at `time`, earliest first.
  constexpr void finish_until(std::int32_t time) {
    for (; now <= time; ++now)
      for (int i = ending[now]; i > 0; i = ending_too[i - 1]) finish(TimedCompute{schedule.computes[i - 1]});  // a copy is read faster
  }
  constexpr void begin(int index) {
    const TimedCompute compute = schedule.computes[index];
    finish_until(compute.begin);
    const int role = in.layout.device_of_chunk[compute.chunk];
    if (compute.op != ListOp::backward_weight)
      for (int t = first_in[2 * compute.chunk + (passes_gradients(compute.op) ? 1 : 0)]; t >= 0; t = next_in[t])
        append_wait(role, received[t * micro_batches + compute.micro_batch], ListOp::receive_wait);
    lines[lists[role].end < limit[role] ? lists[role].end++ : refuse(role)] =
        Instruction{compute.op, When::always, Axis::data, compute.chunk, compute.micro_batch};
    ending_too[index] = ending[compute.end];
    ending[compute.end] = index + 1;
  }
  /// After the last compute: the loss if asked for, and the rest of the reductions of what other roles wait for.
  constexpr void end_computes(int role) {
    while (pending_count[role] > 0) wait_oldest_send(role);
    if (role == in.layout.device_of_chunk[in.layout.chunk_count - 1]) close_loss(role);
    for (int u = 0; u < in.use_count; ++u)
      if (in.uses[u].role == role) reduce(role, line_of(in.uses[u].bucket), true);
    ties[role].begin = lists[role].end;
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
    ties[role].end = lists[role].end;
    for (int b = 0; b < in.bucket_count; ++b) {
      if (in.buckets[b].role != role || in.buckets[b].shared) continue;
      reduce(role, line_of(b), true);  // its first START stands in the backward body of its lowest layer
      if (!in.steps_at_the_end()) step(role, line_of(b));
    }
    close_ties(role);
    if (in.steps_at_the_end() && in.bucket_count > 0) close_norm(role);
    for (int b = 0; b < in.bucket_count; ++b)
      if (in.buckets[b].role == role && in.buckets[b].steps()) gather(role, line_of(b), ListOp::gather_wait);
  }
  /// The gradients of all uses are there: they are added up, and the sum is stepped.
  constexpr void close_ties(int role) {
    for (int i = ties[role].begin; i < ties[role].end; ++i)
      append_wait(role, i, lines[i].op == ListOp::send_start ? ListOp::send_wait : ListOp::receive_wait);
    for (int u = 0; u < in.use_count; ++u) {
      Instruction line = line_of(in.uses[u].bucket);
      if (in.uses[u].role != role || !in.buckets[line.bucket].steps()) continue;
      line.op = ListOp::tie;
      append(role, line);
      if (!in.steps_at_the_end()) step(role, line);
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
  /// No bucket is stepped before the norm of all is known, and whether any rank has seen an overflow.
  constexpr void close_norm(int role) {
    Instruction line;
    line.op = in.scales_loss ? ListOp::unscale : ListOp::norm;
    append(role, line);
    line.bucket = norm_bucket;
    for (const Axis a : norm_axes)
      if (reduces_norm_along(a, in.layout.mesh, in.storage)) reduce_along(role, line, a, true);
    line.bucket = -1;
    line.op = ListOp::skip;
    if (in.scales_loss) append(role, line);
    line.op = ListOp::clip;
    if (in.clips) append(role, line);
    for (int b = 0; b < in.bucket_count; ++b)
      if (in.buckets[b].role == role && in.buckets[b].steps()) step(role, line_of(b));
  }
  constexpr void reduce_along(int role, Instruction line, Axis a, bool starts) {
    line.axis = a;
    line.op = ListOp::reduce_start;
    if (starts) append(role, line);
    line.op = ListOp::reduce_wait;
    append(role, line);
  }
  constexpr void gather(int role, Instruction line, ListOp op) {
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
    line.op = ListOp::report;
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
      reduce_along(role, line, a, !started);
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
  return n + 7 * in.bucket_count + 5 + (in.steps_at_the_end() ? 9 : 0) + in.use_count + 2 * in.tied_transfers;
}

/// Instructions of all roles, at most.
[[nodiscard]] constexpr int most_instructions(const EmitInput& in, int passes, int micro_batches) {
  int n = 0;
  for (int r = 0; r < in.layout.roles(); ++r) n += most_instructions(in, passes, micro_batches, r);
  return n;
}

/// Each role's list begins behind the most that the roles before it may have. Returns what found no room.
constexpr Diagnosis emit_lists(const EmitInput& in, int passes, int micro_batches, const Schedule& schedule, const Lists& out) {
  Emitter emitter{in, schedule, out, micro_batches};
  int begin = 0;
  for (int r = 0; r < emitter.roles; ++r) {
    const int first = begin < out.most_instructions ? begin : out.most_instructions;
    emitter.lists[r] = IndexRange{first, first};
    begin += most_instructions(in, passes, micro_batches, r);
    emitter.limit[r] = begin < out.most_instructions ? begin : out.most_instructions;
  }
  for (int i = 0; i < schedule.count; ++i) emitter.begin(i);
  emitter.finish_until(schedule.makespan);
  for (int r = 0; r < emitter.roles; ++r) emitter.end_computes(r);
  for (int t = 0; t < in.tied_transfers; ++t) emitter.start_tie(in.transfer_count + t);
  for (int r = 0; r < emitter.roles; ++r) emitter.close(r);
  return check_room("instructions", out.most_instructions, emitter.refused);
}

template <int Roles, int Most>
[[nodiscard]] constexpr ListTables<Roles, Most> emit_lists(const EmitInput& in, int passes, int micro_batches, const Schedule& schedule) {
  ListTables<Roles, Most> out;
  out.fault = emit_lists(in, passes, micro_batches, schedule, Lists{out.instructions, Most, out.lists, out.ties});
  return out;
}

}  // namespace heddle::plan_room
