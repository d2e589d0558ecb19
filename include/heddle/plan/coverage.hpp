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

/// S06. Every parameter lies in one bucket; along every axis that splits the batch the bucket is reduced once, after the backward of its
/// lowest layer for the last micro-batch, and stepped once after that.
[[nodiscard]] constexpr Diagnosis check_reductions(const Program& p) {
  if (!p.training) return {};
  const auto wrong = [&](int bucket, std::string_view what, std::string_view where, int times) {
    return Diagnosis{Code{'S', 6}, ""} << "gradient bucket " << bucket << " of device " << static_cast<int>(p.buckets[bucket].role) << " is " << what << where << ' '
                                       << times << " times, not once. Fix: reduce each gradient once before its step.";
  };
  for (int b = 0; b < p.bucket_count; ++b) {
    const Range list = p.lists[p.buckets[b].role];
    for (int k = 0; k < p.mesh.count; ++k) {
      const Axis a = p.mesh.axes[k];
      if (!p.batch_split[static_cast<int>(a)] || p.mesh.sizes[k] == 1) continue;
      int started = 0;
      int waited = 0;
      bool stepped = false;
      for (int c = 0; c < p.chunks; ++c)
        for (int e = p.backward_bodies[c].begin; e < p.backward_bodies[c].end; ++e)
          if (p.entries[e].what == Do::reduce_start && p.entries[e].bucket == b && p.entries[e].axis == a) ++started;
      for (int i = list.begin; i < list.end; ++i) {
        const Instruction& line = p.instructions[i];
        if (line.bucket != b) continue;
        if (line.op == Op::reduce_start && line.axis == a) ++started;
        if (line.op == Op::reduce_wait && line.axis == a) waited += stepped ? 0 : 1;
        if (line.op == Op::step) stepped = true;
      }
      if (started != 1) return wrong(b, "reduced over axis ", name_of(a), started);
      if (waited != 1) return wrong(b, "waited for before the step over axis ", name_of(a), waited);
    }
    int steps = 0;
    for (int i = list.begin; i < list.end; ++i)
      if (p.instructions[i].op == Op::step && p.instructions[i].bucket == b) ++steps;
    if (steps != 1) return wrong(b, "stepped", "", steps);
  }
  std::int64_t covered = 0;
  for (int b = 0; b < p.bucket_count; ++b) covered += p.buckets[b].payload;
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

template <int Events, int Roles> [[nodiscard]] constexpr ProgramEvents<Events, Roles> events_of(const Program& p) {
  ProgramEvents<Events, Roles> out;
  int n = 0;
  int start_of_token[Events > 0 ? Events : 1]{};
  for (int r = 0; r < p.roles; ++r) {
    out.begins[r] = n;
    for (int i = p.lists[r].begin; i < p.lists[r].end; ++i) {
      const Instruction& line = p.instructions[i];
      Event e;
      switch (line.op) {
        case Op::send_start: e.kind = EventKind::send_start; break;
        case Op::send_wait: e.kind = EventKind::send_wait; break;
        case Op::receive_start: e.kind = EventKind::receive_start; break;
        case Op::receive_wait: e.kind = EventKind::receive_wait; break;
        default: continue;
      }
      e.peer = line.peer;
      e.elements = p.transfers[line.transfer].elements;
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
