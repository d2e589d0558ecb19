// SPDX-License-Identifier: MIT
// Room: plan. Counts over a Program: every micro-batch passes every chunk once each way, every gradient is reduced once, then stepped.
// Sees: plan/program, plan/deadlock.  Does not see: policies, processes, threads.
// In: a Program.  Out: ok, or S05, S06 with the numbers.
#pragma once

#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/plan/deadlock.hpp"
#include "heddle/plan/program.hpp"

namespace heddle::inline plan {

/// S05. `seen` has 2 x chunks x micro-batches zeroed counters.
[[nodiscard]] constexpr Diagnosis check_coverage(const Program& p, std::uint8_t* seen) {
  const int micro_batches = p.batch.total_micro_batches();
  const auto counter = [&](bool backward, int chunk, int m) -> std::uint8_t& { return seen[((backward ? p.chunks : 0) + chunk) * micro_batches + m]; };
  for (int r = 0; r < p.roles; ++r) {
    for (int i = p.lists[r].begin; i < p.lists[r].end; ++i) {
      const Instruction& line = p.instructions[i];
      if (line.op != Op::forward && line.op != Op::backward) continue;
      const bool backward = line.op == Op::backward;
      if (p.device_of_chunk[line.chunk] != r)
        return Diagnosis{Code{'S', 5}, ""} << "device " << r << " runs chunk " << line.chunk << ", which lives on device " << p.device_of_chunk[line.chunk]
                                           << ". Fix: run a chunk where its parameters are.";
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
          return Diagnosis{Code{'S', 5}, ""} << "micro-batch " << m << " passes chunk " << c << ' ' << static_cast<int>(counter(backward, c, m)) << " times "
                                             << (backward ? "backward" : "forward") << ", not " << wanted << ". Fix: schedule each once.";
      }
  return {};
}

/// What the lists and bodies do with one gradient bucket. Starts and waits are counted by axis.
struct BucketCounts {
  int started[axis_count]{};
  int waited[axis_count]{};  ///< before the step
  int steps = 0;
};

/// One pass over lists and bodies. `counts` has one zeroed entry a bucket.
constexpr void count_reductions(const Program& p, BucketCounts* counts) {
  for (int c = 0; c < p.chunks; ++c)
    for (int e = p.backward_bodies[c].begin; e < p.backward_bodies[c].end; ++e)
      if (p.entries[e].what == Do::reduce_start) ++counts[p.entries[e].bucket].started[static_cast<int>(p.entries[e].axis)];
  for (int r = 0; r < p.roles; ++r)
    for (int i = p.lists[r].begin; i < p.lists[r].end; ++i) {
      const Instruction& line = p.instructions[i];
      if (line.bucket < 0) continue;
      BucketCounts& bucket = counts[line.bucket];
      if (line.op == Op::reduce_start) ++bucket.started[static_cast<int>(line.axis)];
      if (line.op == Op::reduce_wait) bucket.waited[static_cast<int>(line.axis)] += bucket.steps == 0 ? 1 : 0;
      if (line.op == Op::step) ++bucket.steps;
    }
}

/// S06. Every parameter lies in one bucket; along every axis that splits the batch the bucket is reduced once, after the backward of its
/// lowest layer for the last micro-batch, and stepped once after that. `counts` has one zeroed entry a bucket.
[[nodiscard]] constexpr Diagnosis check_reductions(const Program& p, BucketCounts* counts) {
  if (!p.training) return {};
  const auto wrong = [&](int bucket, std::string_view what, std::string_view where, int times) {
    return Diagnosis{Code{'S', 6}, ""} << "gradient bucket " << bucket << " of device " << static_cast<int>(p.buckets[bucket].role) << " is " << what << where << ' '
                                       << times << " times, not once. Fix: reduce each gradient once before its step.";
  };
  count_reductions(p, counts);
  std::int64_t covered = 0;
  for (int b = 0; b < p.bucket_count; ++b) {
    for (int k = 0; k < p.mesh.count; ++k) {
      const int a = static_cast<int>(p.mesh.axes[k]);
      if (!p.batch_split[a] || p.mesh.sizes[k] == 1) continue;
      if (counts[b].started[a] != 1) return wrong(b, "reduced over axis ", name_of(p.mesh.axes[k]), counts[b].started[a]);
      if (counts[b].waited[a] != 1) return wrong(b, "waited for before the step over axis ", name_of(p.mesh.axes[k]), counts[b].waited[a]);
    }
    if (counts[b].steps != 1) return wrong(b, "stepped", "", counts[b].steps);
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

}  // namespace heddle::inline plan
