// SPDX-License-Identifier: MIT
// Room: plan. List scheduling: in which order each role runs its computes, by time under F = 1, B = 2 = I + W.
// Sees: graph, policy answers, plan/options/batch, plan/lower/values.  Does not see: memory, processes, threads.
// In: chunks, devices, in-flight limits or turns.  Out: computes in order of their begin.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/plan/lower/phase_tables.hpp"
#include "heddle/plan/lower/tables.hpp"
#include "heddle/plan/lower/values.hpp"
#include "heddle/plan/options/batch.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/policy/layout.hpp"

namespace heddle::plan_room {

/// One compute of one chunk for one micro-batch, in units of one forward.
/// A forward that begins at 0 ends at 1, and a whole backward that begins at 1 ends at 3.
struct TimedCompute {
  std::int16_t chunk = 0;
  std::int16_t micro_batch = 0;
  ListOp op = ListOp::forward;
  std::int32_t begin = 0;
  std::int32_t end = 0;
};

inline constexpr int forward_time = 1;
inline constexpr int backward_time = 2;
inline constexpr int input_time = 1;
inline constexpr int weight_time = backward_time - input_time;

[[nodiscard]] constexpr int time_of(ListOp op) { return op == ListOp::forward ? forward_time : op == ListOp::backward ? backward_time : input_time; }

/// Computes of one micro-batch on one chunk.
[[nodiscard]] constexpr int passes(const Layout& layout, bool training) { return !training ? 1 : layout.order.splits_backward ? 3 : 2; }

/// Above this many instructions of sends, receives and computes a program does not fit into constant expressions with the compilers' default
/// limits (S07). The costliest variable takes 25 to 29 of clang's 2^20 steps for each, on 2 to 32 stages, and 64 where nothing is sent.
inline constexpr int most_lines = 21'000;
inline constexpr int most_computes = 10'000;

[[nodiscard]] constexpr Diagnosis check_schedule_length(const Graph& graph, const Layout& layout, const BatchDivision& batch) {
  if (const Diagnosis found = check_totals(graph, batch.batch, batch.total_micro_batches()); !found.ok()) return found;
  int transfers = 0;
  each_cut_edge(graph, layout, [&](const CutEdge& edge) {
    if (layout.device_of_chunk[edge.from_chunk] != layout.device_of_chunk[edge.to_chunk]) transfers += 2;
  });
  const std::int64_t micro_batches = batch.total_micro_batches();
  const std::int64_t computes = passes(layout, true) * layout.chunk_count * micro_batches;
  const std::int64_t lines = computes + 4 * transfers * micro_batches;  // start and wait on both sides
  if (lines <= most_lines && computes <= most_computes) return {};
  const bool of_passes = computes > most_computes;
  const std::int64_t by_computes = micro_batches * most_computes / computes;
  const std::int64_t by_lines = micro_batches * most_lines / lines;
  const std::int64_t most = by_computes < by_lines ? by_computes : by_lines;
  Diagnosis found = Diagnosis{Code{'S', 7}, ""} << layout.chunk_count << (layout.chunk_count == 1 ? " chunk x " : " chunks x ") << micro_batches
                                                << " micro-batches make " << (of_passes ? computes : lines)
                                                << (of_passes ? " passes, at most " : " instructions, at most ")
                                                << (of_passes ? most_computes : most_lines) << " are checked at build. Fix: use ";
  if (most > 0) found << "at most " << most << " micro-batches, rounds included, or ";
  return found << "fewer chunks.";
}

/// State of the simulation: the next forward and backward of each chunk, when the earlier ones ended, and the next compute of each device.
/// A device of one chunk is free at 12 after 4 micro-batches: each of them takes 1 forward and 2 for its backward.
template <class Ends = AllottedEnds> struct ListScheduler {
  static constexpr std::int32_t none = INT32_MAX;
  const Layout& layout;
  int micro_batches = 1;
  int round_size = 1;
  bool training = true;
  int chunks = layout.chunk_count;
  int roles = layout.roles();
  const int* device_of_chunk = layout.device_of_chunk;
  bool in_turns = layout.order.in_turns;
  bool splits = training && layout.order.splits_backward;
  int passes_a_device = chunks / roles * micro_batches;  // chunk passes of a device under an order in turns, each way
  bool forwards_first = layout.order.forwards_first;
  static constexpr int most = Layout::most_chunks;  // what is by chunk or device is an array, which compilers read faster than what a pointer shows
  int last_chunk[most]{};                           // by device
  int chunk_before[most]{};                         // the next earlier chunk of the same device, -1 if there is none
  int position[most]{};                             // by device: its first chunk
  int free_at[most]{};                              // by device
  int next_key[most]{};                             // by device: the key of its next compute; the least of all runs next
  int next_forward[most]{};
  int next_backward[most]{};
  int next_weight[most]{};
  int turn[3 * most]{};      // by device: chunk passes forward, backward and of parameters' gradients that have begun
  std::int32_t due[most]{};  // keys of what begins next, all at one time, in their order
  int due_count = 0, due_next = 0;
  Ends ends{chunks * micro_batches};

  constexpr ListScheduler(const Layout& answers, int all, int round, bool trains)
      : layout(answers), micro_batches(all), round_size(round), training(trains) {
    for (int d = 0; d < roles; ++d) last_chunk[d] = -1;
    for (int c = 0; c < chunks; ++c) {
      const int d = layout.device_of_chunk[c];
      if (last_chunk[d] < 0) position[d] = c;
      chunk_before[c] = last_chunk[d];
      last_chunk[d] = c;
    }
    for (int d = 0; d < roles; ++d) look(d);
  }

  /// When the next backward of chunk c could begin, or -1.
  [[nodiscard]] constexpr std::int32_t backward_ready(int c) const {
    const int m = next_backward[c];
    if (m >= next_forward[c]) return -1;
    if (c + 1 < chunks && next_backward[c + 1] <= m) return -1;
    if (forwards_first && next_forward[c] < (m / round_size + 1) * round_size) return -1;
    return c + 1 < chunks ? ends.backward_end[(c + 1) * micro_batches + m] : ends.forward_end[c * micro_batches + m];
  }
  [[nodiscard]] constexpr std::int32_t forward_ready(int c) const {
    const int m = next_forward[c];
    if (m >= micro_batches) return -1;
    if (c > 0 && next_forward[c - 1] <= m) return -1;
    if (training && !in_turns) {
      if (m - next_backward[c] >= layout.in_flight[c]) return -1;
      if (forwards_first && next_backward[c] < m / round_size * round_size) return -1;
    }
    return c > 0 ? ends.forward_end[(c - 1) * micro_batches + m] : 0;
  }
  /// Order of keys: begin; a backward before a forward; a later chunk before an earlier one.
  constexpr void offer(int device, std::int32_t ready, int kind, int chunk) {
    if (ready < 0) return;
    if (ready < free_at[device]) ready = free_at[device];
    const std::int32_t key = (ready * 4 + kind) * Layout::most_chunks + (Layout::most_chunks - 1 - chunk);
    if (key < next_key[device]) next_key[device] = key;
  }
  static constexpr int kind_backward = 0;
  static constexpr int kind_forward = 1;
  static constexpr int kind_weight = 2;

  /// Finds the next compute of a device anew.
  constexpr void look(int device) {
    next_key[device] = none;
    if (in_turns) return take_turn(device);
    for (int c = last_chunk[device]; c >= 0; c = chunk_before[c]) {
      if (training) offer(device, backward_ready(c), kind_backward, c);
      offer(device, forward_ready(c), kind_forward, c);
    }
  }
  /// Chunk passes come in groups of one micro-batch a device: the group passes one chunk of this device, then its next.
  constexpr void take_turn(int device) {
    const int forwards = turn[3 * device];
    const int backwards = turn[3 * device + 1];
    if (splits) {
      const int weights = turn[3 * device + 2];
      if (backwards - weights > layout.turns[device].delayed || (backwards == passes_a_device && weights < passes_a_device)) {
        const int c = chunk_of_pass(device, weights);
        return offer(device, ends.backward_end[c * micro_batches + next_weight[c]], kind_weight, c);
      }
    }
    if (forwards < passes_a_device && (!training || forwards - backwards < layout.turns[device].in_flight)) {
      const int c = chunk_of_pass(device, forwards);
      return offer(device, forward_ready(c), kind_forward, c);
    }
    if (!training || backwards == passes_a_device) return;
    const int c = position[device] + last_chunk[device] - chunk_of_pass(device, backwards);
    offer(device, backward_ready(c), kind_backward, c);
  }
  [[nodiscard]] constexpr int chunk_of_pass(int device, int pass) const { return pass % chunks / roles * roles + position[device]; }

  /// Finds all that begins next. What one of them makes ready begins later, so none is to be looked for again before all of them have run.
  constexpr void find_due() {
    constexpr std::int32_t keys_a_time = 4 * Layout::most_chunks;
    std::int32_t later = none;
    due_count = due_next = 0;
    for (int d = 0; d < roles; ++d) {
      const std::int32_t key = next_key[d];
      if (key >= later) continue;
      const std::int32_t end = key - key % keys_a_time + keys_a_time;
      if (end < later) due_count = 0;  // before those that were found
      later = end;
      int to = due_count++;
      for (; to > 0 && due[to - 1] > key; --to) due[to] = due[to - 1];
      due[to] = key;
    }
  }
  /// The next compute, which is to be run before the next is picked.
  [[nodiscard]] constexpr TimedCompute pick() {
    if (due_next == due_count) find_due();
    const std::int32_t key = due[due_next++];
    const int chunk = Layout::most_chunks - 1 - key % Layout::most_chunks;
    const int kind = key / Layout::most_chunks % 4;
    const int m = kind == kind_forward ? next_forward[chunk] : kind == kind_weight ? next_weight[chunk] : next_backward[chunk];
    const ListOp op = kind == kind_forward  ? ListOp::forward
                      : kind == kind_weight ? ListOp::backward_weight
                      : splits              ? ListOp::backward_input
                                            : ListOp::backward;
    const std::int32_t begin = key / Layout::most_chunks / 4;
    return TimedCompute{static_cast<std::int16_t>(chunk), static_cast<std::int16_t>(m), op, begin, begin + time_of(op)};
  }
  constexpr void run(const TimedCompute& compute) {
    const int c = compute.chunk;
    const int device = device_of_chunk[c];
    free_at[device] = compute.end;
    int other = device;  // the device that may have waited for this
    if (compute.op == ListOp::forward) {
      ends.forward_end[c * micro_batches + compute.micro_batch] = compute.end;
      ++next_forward[c];
      ++turn[3 * device];
      if (c + 1 < chunks) other = device_of_chunk[c + 1];
    } else if (compute.op == ListOp::backward_weight) {
      ++next_weight[c];
      ++turn[3 * device + 2];
    } else {
      ends.backward_end[c * micro_batches + compute.micro_batch] = compute.end;
      ++next_backward[c];
      ++turn[3 * device + 1];
      if (c > 0) other = device_of_chunk[c - 1];
    }
    look(device);
    if (other != device && (!in_turns || next_key[other] == none)) look(other);  // in turns, what is next stays next
  }
};

/// All computes of a step in order of their begin: the one global order from which lists are emitted.
/// One chunk and 2 micro-batches have 4 computes, and the last of them ends at 6.
struct Schedule {
  const TimedCompute* computes = nullptr;
  int count = 0;
  std::int32_t makespan = 0;
};

/// Owns a schedule that is a constant: 2 chunks and 4 micro-batches have 16 computes, 8 forwards and 8 backwards.
template <int Count> struct ScheduleTable {
  static constexpr int count = Count;
  TimedCompute computes[std::size_t{count}]{};
  std::int32_t makespan = 0;
  [[nodiscard]] constexpr Schedule view() const { return {computes, count, makespan}; }
};

/// Writes all computes of a step; returns when the last one ends.
/// The table is a pointer or the array that it is.
template <class Ends = AllottedEnds, class Computes>
constexpr std::int32_t schedule_computes(const Layout& layout, int micro_batches, int round_size, bool training, Computes& computes) {
  ListScheduler<Ends> state{layout, micro_batches, round_size, training};
  const int count = layout.chunk_count * micro_batches * passes(layout, training);
  std::int32_t makespan = 0;
  for (int i = 0; i < count; ++i) {
    const TimedCompute next = state.pick();
    computes[i] = next;
    state.run(next);
    if (next.end > makespan) makespan = next.end;
  }
  return makespan;
}

template <int Chunks, int MicroBatches, int Passes> [[nodiscard]] constexpr auto schedule_computes(const Layout& layout, int round_size) {
  ScheduleTable<Chunks * MicroBatches * Passes> out;
  out.makespan = schedule_computes<EndTables<Chunks * MicroBatches>>(layout, MicroBatches, round_size, Passes > 1, out.computes);
  return out;
}

}  // namespace heddle::plan_room
