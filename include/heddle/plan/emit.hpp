// SPDX-License-Identifier: MIT
// Room: plan. From scheduled computes to one list of instructions per role, with starts and waits in the paired form.
// Sees: plan/schedule, plan/program.  Does not see: memory, processes, threads.
// In: computes by time, transfers, buckets.  Out: lists; emission order sorts the event graph, so they cannot deadlock.
#pragma once

#include <cstddef>
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
  bool clips = false;
  bool scales_loss = false;
  [[nodiscard]] constexpr bool steps_at_the_end() const { return clips || scales_loss; }
  const TiedUse* uses = nullptr;
  int use_count = 0;
  int tied_transfers = 0;  // behind the others
};

template <int Roles, int Most> struct Lists {
  Instruction instructions[std::size_t{Most > 0 ? Most : 1}]{};
  IndexRange lists[std::size_t{Roles}]{};
  IndexRange ties[std::size_t{Roles}]{};  // starts of tied gradients: the pools of bodies are free before
};

/// Transfers by the chunk at one end and their direction, as lists: first of each, then the next.
template <int Chunks, int Transfers> struct TransfersOfChunks {
  static constexpr int most = Transfers > 0 ? Transfers : 1;
  int out[std::size_t{Chunks}][2]{};  // by gradient; -1 ends a list
  int in[std::size_t{Chunks}][2]{};
  int next_out[std::size_t{most}]{};
  int next_in[std::size_t{most}]{};

  constexpr explicit TransfersOfChunks(const EmitInput& input) {
    for (int c = 0; c < Chunks; ++c) out[c][0] = out[c][1] = in[c][0] = in[c][1] = -1;
    for (int t = input.transfer_count - 1; t >= 0; --t) {
      const Transfer& transfer = input.transfers[t];
      int& sent = out[transfer.from_chunk][transfer.gradient ? 1 : 0];
      int& taken = in[transfer.to_chunk][transfer.gradient ? 1 : 0];
      next_out[t] = sent;
      next_in[t] = taken;
      sent = taken = t;
    }
  }
};

/// Appends to one list per role in one global order of events. Sizes names roles, chunks, micro_batches, transfers, computes and instructions, as
/// numbers.
template <class Sizes> struct Emitter {
  const EmitInput& in;
  const Schedule<Sizes::computes>& schedule;
  Lists<Sizes::roles, Sizes::instructions> out{};
  TransfersOfChunks<Sizes::chunks, Sizes::transfers> of_chunk{in};
  std::int32_t received[TransfersOfChunks<Sizes::chunks, Sizes::transfers>::most][Sizes::micro_batches]{};  // where the receive starts in the list
  int tokens[Sizes::roles]{};
  int sent[Sizes::roles][Sizes::roles]{};                 // starts on the channel from the first to the second role
  std::int32_t pending[Sizes::roles][send_window + 1]{};  // where these sends start in the list
  int pending_count[Sizes::roles]{};
  std::int32_t ending[backward_time * Sizes::computes + 1]{};  // by time: 1 + a compute that ends then
  std::int32_t ending_too[Sizes::computes]{};                  // by compute: the next one that ends at the same time
  std::int32_t now = 0;

  constexpr void append(int role, const Instruction& instruction) { out.instructions[out.lists[role].end++] = instruction; }
  constexpr void append_wait(int role, int start, Op op) {
    Instruction& wait = out.instructions[out.lists[role].end++];
    wait = out.instructions[start];
    wait.op = op;
  }

  constexpr void wait_oldest_send(int role) {
    append_wait(role, pending[role][0], Op::send_wait);
    for (int i = 1; i < pending_count[role]; ++i) pending[role][i - 1] = pending[role][i];
    --pending_count[role];
  }
  /// Both STARTs of a transfer, one after another in the global order.
  constexpr void start_transfer(int number, int micro_batch) {
    const Transfer& t = in.transfers[number];
    const int from = t.from_role;
    const int to = t.to_role;
    const int sequence = sent[from][to]++;
    const int here = out.lists[from].end++;
    const int there = out.lists[to].end++;
    const auto transfer = static_cast<std::int16_t>(number);
    const auto m = static_cast<std::int16_t>(micro_batch);
    out.instructions[here] =
        Instruction{Op::send_start, When::always, Axis::data, t.from_chunk, m, transfer, t.to_role, -1, tokens[from]++, sequence};
    out.instructions[there] =
        Instruction{Op::receive_start, When::always, Axis::data, t.to_chunk, m, transfer, t.from_role, -1, tokens[to]++, sequence};
    received[number][micro_batch] = there;
    pending[from][pending_count[from]++] = here;
    if (pending_count[from] > send_window) wait_oldest_send(from);
  }
  constexpr void finish(const TimedCompute& done) {
    if (done.op == Op::backward_weight) return;
    for (int t = of_chunk.out[done.chunk][passes_gradients(done.op) ? 1 : 0]; t >= 0; t = of_chunk.next_out[t]) start_transfer(t, done.micro_batch);
  }
  /// Ends every compute that is over at `time`, earliest first.
  constexpr void finish_until(std::int32_t time) {
    for (; now <= time; ++now)
      for (int i = ending[now]; i > 0; i = ending_too[i - 1]) finish(schedule.computes[i - 1]);
  }
  constexpr void begin(int index) {
    const TimedCompute& compute = schedule.computes[index];
    finish_until(compute.begin);
    const int role = in.layout.device_of_chunk[compute.chunk];
    if (compute.op != Op::backward_weight)
      for (int t = of_chunk.in [compute.chunk][passes_gradients(compute.op) ? 1 : 0]; t >= 0; t = of_chunk.next_in[t])
        append_wait(role, received[t][compute.micro_batch], Op::receive_wait);
    out.instructions[out.lists[role].end++] = Instruction{compute.op, When::always, Axis::data, compute.chunk, compute.micro_batch};
    ending_too[index] = ending[compute.end];
    ending[compute.end] = index + 1;
  }
  /// After the last compute: the loss if asked for, and the rest of the reductions of what other roles wait for.
  constexpr void end_computes(int role) {
    while (pending_count[role] > 0) wait_oldest_send(role);
    if (role == in.layout.device_of_chunk[in.layout.chunk_count - 1]) close_loss(role);
    for (int u = 0; u < in.use_count; ++u)
      if (in.uses[u].role == role) reduce(role, line_of(in.uses[u].bucket), true);
    out.ties[role].begin = out.lists[role].end;
  }
  /// A gradient of tied parameters, as this role has reduced it, to another that uses them: both STARTs.
  constexpr void start_tie(int number) {
    const Transfer& t = in.transfers[number];
    Instruction start = line_of(in.uses[t.use].bucket);
    start.transfer = static_cast<std::int16_t>(number);
    start.micro_batch = 0;
    start.sequence = sent[t.from_role][t.to_role]++;
    start.op = Op::send_start;
    start.peer = t.to_role;
    start.token = tokens[t.from_role]++;
    append(t.from_role, start);
    start.op = Op::receive_start;
    start.peer = t.from_role;
    start.token = tokens[t.to_role]++;
    append(t.to_role, start);
  }
  /// Then bucket by bucket the rest of its reduction and its step; stepped slices are gathered.
  constexpr void close(int role) {
    out.ties[role].end = out.lists[role].end;
    for (int b = 0; b < in.bucket_count; ++b) {
      if (in.buckets[b].role != role || in.buckets[b].shared) continue;
      reduce(role, line_of(b), true);  // its first START stands in the backward body of its lowest layer
      if (!in.steps_at_the_end()) step(role, line_of(b));
    }
    close_ties(role);
    if (in.steps_at_the_end() && in.bucket_count > 0) close_norm(role);
    for (int b = 0; b < in.bucket_count; ++b)
      if (in.buckets[b].role == role && in.buckets[b].steps()) gather(role, line_of(b), Op::gather_wait);
  }
  /// The gradients of all uses are there: they are added up, and the sum is stepped.
  constexpr void close_ties(int role) {
    for (int i = out.ties[role].begin; i < out.ties[role].end; ++i)
      append_wait(role, i, out.instructions[i].op == Op::send_start ? Op::send_wait : Op::receive_wait);
    for (int u = 0; u < in.use_count; ++u) {
      Instruction line = line_of(in.uses[u].bucket);
      if (in.uses[u].role != role || !in.buckets[line.bucket].steps()) continue;
      line.op = Op::tie;
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
    line.op = Op::step;
    append(role, line);
    gather(role, line, Op::gather_start);
  }
  /// No bucket is stepped before the norm of all is known, and whether any rank has seen an overflow.
  constexpr void close_norm(int role) {
    Instruction line;
    line.op = in.scales_loss ? Op::unscale : Op::norm;
    append(role, line);
    line.bucket = norm_bucket;
    for (const Axis a : norm_axes)
      if (reduces_norm_along(a, in.layout.mesh, in.storage)) reduce_along(role, line, a, true);
    line.bucket = -1;
    line.op = Op::skip;
    if (in.scales_loss) append(role, line);
    line.op = Op::clip;
    if (in.clips) append(role, line);
    for (int b = 0; b < in.bucket_count; ++b)
      if (in.buckets[b].role == role && in.buckets[b].steps()) step(role, line_of(b));
  }
  constexpr void reduce_along(int role, Instruction line, Axis a, bool starts) {
    line.axis = a;
    line.op = Op::reduce_start;
    if (starts) append(role, line);
    line.op = Op::reduce_wait;
    append(role, line);
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

/// Each role's list begins behind the most that the roles before it may have.
template <class Sizes>
[[nodiscard]] constexpr Lists<Sizes::roles, Sizes::instructions> emit_lists(const EmitInput& in, int passes,
                                                                            const Schedule<Sizes::computes>& schedule) {
  Emitter<Sizes> emitter{in, schedule};
  int begin = 0;
  for (int r = 0; r < Sizes::roles; ++r) {
    emitter.out.lists[r] = IndexRange{begin, begin};
    begin += most_instructions(in, passes, Sizes::micro_batches, r);
  }
  for (int i = 0; i < Sizes::computes; ++i) emitter.begin(i);
  emitter.finish_until(schedule.makespan);
  for (int r = 0; r < Sizes::roles; ++r) emitter.end_computes(r);
  for (int t = 0; t < in.tied_transfers; ++t) emitter.start_tie(in.transfer_count + t);
  for (int r = 0; r < Sizes::roles; ++r) emitter.close(r);
  return emitter.out;
}

}  // namespace heddle::inline plan_room
