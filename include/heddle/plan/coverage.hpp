// SPDX-License-Identifier: MIT
// Room: plan. Counts over a Program: every micro-batch passes every chunk once each way, every gradient is reduced once, then stepped.
// Sees: plan/program, plan/deadlock.  Does not see: policies, processes, threads.
// In: a Program.  Out: ok, or S04, S05, S06 with the numbers.
#pragma once

#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/plan/deadlock.hpp"
#include "heddle/plan/program.hpp"

namespace heddle::inline plan_room {

/// S05. `seen` has 2 x chunks x micro-batches zeroed counters.
[[nodiscard]] constexpr Diagnosis check_coverage(const Program& p, std::uint8_t* seen) {
  const int micro_batches = p.batch.total_micro_batches();
  const auto counter = [&](bool backward, int chunk, int m) -> std::uint8_t& {
    return seen[((backward ? p.chunks : 0) + chunk) * micro_batches + m];
  };
  for (int r = 0; r < p.roles; ++r) {
    for (int i = p.lists[r].begin; i < p.lists[r].end; ++i) {
      const Instruction& line = p.instructions[i];
      if (line.op != Op::forward && line.op != Op::backward) continue;
      const bool backward = line.op == Op::backward;
      if (p.device_of_chunk[line.chunk] != r)
        return Diagnosis{Code{'S', 5}, ""} << "device " << r << " runs chunk " << line.chunk << ", which lives on device "
                                           << p.device_of_chunk[line.chunk] << ". Fix: run a chunk where its parameters are.";
      if (backward && counter(false, line.chunk, line.micro_batch) == 0)
        return Diagnosis{Code{'S', 5}, ""} << "chunk " << line.chunk << " runs the backward of micro-batch " << line.micro_batch
                                           << " before its forward. Fix: order the forward first.";
      ++counter(backward, line.chunk, line.micro_batch);
    }
  }
  for (int c = 0; c < p.chunks; ++c)
    for (int m = 0; m < micro_batches; ++m)
      for (const bool backward : {false, true}) {
        const int wanted = backward && !p.training ? 0 : 1;
        if (counter(backward, c, m) != wanted)
          return Diagnosis{Code{'S', 5}, ""} << "micro-batch " << m << " passes chunk " << c << ' ' << static_cast<int>(counter(backward, c, m))
                                             << " times " << (backward ? "backward" : "forward") << ", not " << wanted
                                             << ". Fix: schedule each once.";
      }
  return {};
}

/// S04. Every value or gradient of another chunk has been waited for when a compute reads it, and every send is waited for in the end.
/// `open` has 4 x chunks x micro-batches zeroed counters.
[[nodiscard]] constexpr Diagnosis check_waits(const Program& p, std::uint8_t* open) {
  const int micro_batches = p.batch.total_micro_batches();
  const auto counter = [&](bool sends, bool gradient, int chunk, int m) -> std::uint8_t& {
    return open[((sends ? 2 : 0) * p.chunks + (gradient ? p.chunks : 0) + chunk) * micro_batches + m];
  };
  int needed[2][Layout::most_chunks]{};
  for (int t = 0; t < p.transfer_count; ++t) ++needed[p.transfers[t].gradient ? 1 : 0][p.transfers[t].to_chunk];
  for (int r = 0; r < p.roles; ++r) {
    for (int i = p.lists[r].begin; i < p.lists[r].end; ++i) {
      const Instruction& line = p.instructions[i];
      if (line.op == Op::forward || line.op == Op::backward) {
        const bool backward = line.op == Op::backward;
        const int arrived = counter(false, backward, line.chunk, line.micro_batch);
        if (arrived != needed[backward ? 1 : 0][line.chunk])
          return Diagnosis{Code{'S', 4}, ""} << "chunk " << line.chunk << " runs micro-batch " << line.micro_batch << ' '
                                             << (backward ? "backward" : "forward") << " after " << arrived << " of the "
                                             << needed[backward ? 1 : 0][line.chunk]
                                             << " transfers that it reads. Fix: wait for each receive before the compute that reads it.";
      }
      if (line.transfer < 0) continue;
      const bool gradient = p.transfers[line.transfer].gradient;
      if (line.op == Op::receive_wait) ++counter(false, gradient, p.transfers[line.transfer].to_chunk, line.micro_batch);
      if (line.op == Op::send_start) ++counter(true, gradient, p.transfers[line.transfer].from_chunk, line.micro_batch);
      if (line.op == Op::send_wait) --counter(true, gradient, p.transfers[line.transfer].from_chunk, line.micro_batch);
    }
  }
  for (int c = 0; c < p.chunks; ++c)
    for (int m = 0; m < micro_batches; ++m)
      for (const bool gradient : {false, true})
        if (counter(true, gradient, c, m) != 0)
          return Diagnosis{Code{'S', 4}, ""} << "chunk " << c << " sends of micro-batch " << m << (gradient ? " a gradient" : " a value")
                                             << " whose start and wait are not one each. Fix: wait once for each send.";
  return {};
}

/// What the lists and bodies do with one gradient bucket, or with the loss. Starts and waits are counted by axis.
struct BucketCounts {
  int started[axis_count]{};
  int waited[axis_count]{};  ///< before the step, or the report
  int steps = 0;             ///< reports of the loss
  int gathered = 0;          ///< after the step, started and waited for
  bool gathering = false;
};

/// Starts in one backward body. One that stands before the backward of the bucket's lowest layer sums too little and does not count;
/// one that is not kept for the last micro-batch counts once for each.
constexpr void count_body(const Program& p, const IndexRange& body, BucketCounts* counts) {
  int done = p.graph->node_count;
  for (int e = body.begin; e < body.end; ++e) {
    const Entry& entry = p.entries[e];
    if (entry.what == Do::leaf_backward) done = entry.node;
    if (entry.what != Do::reduce_start && entry.what != Do::reduce_wait) continue;
    if (done > p.buckets[entry.bucket].lowest_node) continue;
    BucketCounts& bucket = counts[entry.bucket];
    int* const count = entry.what == Do::reduce_start ? bucket.started : bucket.waited;
    count[static_cast<int>(entry.axis)] += entry.when == When::last_micro_batch ? 1 : p.batch.total_micro_batches();
  }
}

/// One pass over lists and bodies. `counts` has one zeroed entry a bucket.
constexpr void count_reductions(const Program& p, BucketCounts* counts, BucketCounts& loss) {
  for (int c = 0; c < p.chunks && p.training; ++c) count_body(p, p.backward_bodies[c], counts);
  for (int r = 0; r < p.roles; ++r)
    for (int i = p.lists[r].begin; i < p.lists[r].end; ++i) {
      const Instruction& line = p.instructions[i];
      if (line.bucket < 0 && line.bucket != loss_bucket) continue;
      BucketCounts& bucket = line.bucket == loss_bucket ? loss : counts[line.bucket];
      if (line.op == Op::reduce_start) ++bucket.started[static_cast<int>(line.axis)];
      if (line.op == Op::reduce_wait) bucket.waited[static_cast<int>(line.axis)] += bucket.steps == 0 ? 1 : 0;
      if (line.op == Op::step || line.op == Op::report) ++bucket.steps;
      if (line.op == Op::gather_start) bucket.gathering = bucket.steps == 1;
      if (line.op == Op::gather_wait && bucket.gathering) ++bucket.gathered;
    }
}

/// How often a bucket is reduced over an axis in one step: once, or in every backward where the gradient passes through a ring.
[[nodiscard]] constexpr int reductions_wanted(const Program& p, Axis a) {
  return p.storage.gradients && a == p.storage.axis ? p.batch.total_micro_batches() : 1;
}

/// S06. The loss is reduced once over every axis that splits the batch and reported once after that.
[[nodiscard]] constexpr Diagnosis check_loss(const Program& p, const BucketCounts& loss) {
  const auto wrong = [](std::string_view what, std::string_view where, int times) {
    return Diagnosis{Code{'S', 6}, ""} << "the loss is " << what << where << ' ' << times
                                       << " times, not once. Fix: reduce the loss once before its report.";
  };
  for (int k = 0; k < p.mesh.count; ++k) {
    const int a = static_cast<int>(p.mesh.axes[k]);
    if (!p.batch_split[a] || p.mesh.sizes[k] == 1) continue;
    if (loss.started[a] != 1) return wrong("reduced over axis ", name_of(p.mesh.axes[k]), loss.started[a]);
    if (loss.waited[a] != 1) return wrong("waited for before the report over axis ", name_of(p.mesh.axes[k]), loss.waited[a]);
  }
  if (loss.steps != 1) return wrong("reported", "", loss.steps);
  return {};
}

/// S06. Every parameter lies in one bucket; along every axis that splits the batch the bucket is reduced once, after the backward of its
/// lowest layer for the last micro-batch, and stepped once after that. `counts` has one zeroed entry a bucket.
[[nodiscard]] constexpr Diagnosis check_reductions(const Program& p, BucketCounts* counts) {
  const auto wrong = [&](int bucket, std::string_view what, std::string_view where, int times, int wanted) {
    Diagnosis found{Code{'S', 6}, ""};
    found << "gradient bucket " << bucket << " of device " << static_cast<int>(p.buckets[bucket].role) << " is " << what << where << ' ' << times
          << " times, not ";
    if (wanted == 1) return found << "once. Fix: reduce each gradient once before its step.";
    return found << wanted << ". Fix: reduce each gradient as often as it is made, before its step.";
  };
  BucketCounts loss;
  count_reductions(p, counts, loss);
  if (const Diagnosis found = check_loss(p, loss); !found.ok() || !p.training) return found;
  std::int64_t covered = 0;
  for (int b = 0; b < p.bucket_count; ++b) {
    for (int k = 0; k < p.mesh.count; ++k) {
      const int a = static_cast<int>(p.mesh.axes[k]);
      if (!p.batch_split[a] || p.mesh.sizes[k] == 1) continue;
      const int wanted = reductions_wanted(p, p.mesh.axes[k]);
      if (counts[b].started[a] != wanted) return wrong(b, "reduced over axis ", name_of(p.mesh.axes[k]), counts[b].started[a], wanted);
      if (counts[b].waited[a] != wanted)
        return wrong(b, "waited for before the step over axis ", name_of(p.mesh.axes[k]), counts[b].waited[a], wanted);
    }
    if (counts[b].steps != 1) return wrong(b, "stepped", "", counts[b].steps, 1);
    if (p.storage.gathers_after_step() && counts[b].gathered != 1) return wrong(b, "gathered after its step", "", counts[b].gathered, 1);
    covered += p.buckets[b].payload;
  }
  if (covered != p.graph->parameter_elements())
    return Diagnosis{Code{'S', 6}, ""} << "the buckets hold " << covered << " of " << p.graph->parameter_elements()
                                       << " parameters. Fix: put every parameter into one bucket.";
  return {};
}

/// The communication of a Program as events for the rendezvous check.
template <int Events, int Roles> struct ProgramEvents {
  Event events[Events > 0 ? Events : 1]{};
  int begins[Roles + 1]{};
};

/// Fills in the event of a send or receive; false for every other instruction.
constexpr bool communicates(const Instruction& line, const Program& p, Event& e) {
  switch (line.op) {
    case Op::send_start: e.kind = EventKind::send_start; break;
    case Op::send_wait: e.kind = EventKind::send_wait; break;
    case Op::receive_start: e.kind = EventKind::receive_start; break;
    case Op::receive_wait: e.kind = EventKind::receive_wait; break;
    default: return false;
  }
  e.peer = line.peer;
  e.elements = p.transfers[line.transfer].elements;
  return true;
}

template <int Events, int Roles> [[nodiscard]] constexpr ProgramEvents<Events, Roles> events_of(const Program& p) {
  ProgramEvents<Events, Roles> out;
  int n = 0;
  int start_of_token[Events > 0 ? Events : 1]{};
  for (int r = 0; r < p.roles; ++r) {
    out.begins[r] = n;
    for (int i = p.lists[r].begin; i < p.lists[r].end; ++i) {
      const Instruction& line = p.instructions[i];
      Event e;
      if (!communicates(line, p, e)) continue;
      if (Rendezvous::starts(e.kind))
        start_of_token[line.token] = n;
      else
        e.start = start_of_token[line.token];
      out.events[n++] = e;
    }
  }
  out.begins[p.roles] = n;
  return out;
}

}  // namespace heddle::inline plan_room
