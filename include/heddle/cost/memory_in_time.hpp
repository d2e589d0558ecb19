// SPDX-License-Identifier: MIT
// Room: cost. Bytes that devices have in use over a step: what is kept for all of it, and the slots of pools while a micro-batch has them.
// Sees: plan/program, plan/read/timeline, cost/devices.  Does not see: machines, processes, threads.
// In: a Program and a Timeline of it, predicted or measured.  Out: MemoryAt, device by device in the order of time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

#include "heddle/cost/devices.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/plan/read/timeline.hpp"

namespace heddle::cost_room {

/// Which pools the bodies of a Program name places in.
class NamedPools {
 public:
  explicit NamedPools(const Program& p) : p_(p), named_(3 * static_cast<std::size_t>(p.chunks)) {
    const IndexRange* const bodies[] = {p.forward_bodies, p.backward_bodies, p.weight_bodies};
    for (int pass = 0; pass < (p.training ? 3 : 1); ++pass)
      for (int c = 0; c < p.chunks; ++c)
        for (int e = bodies[pass][c].begin; e < bodies[pass][c].end; ++e)
          for (const Place& place : {p.entries[e].a, p.entries[e].b, p.entries[e].c, p.entries[e].d, p.entries[e].e})
            if (std::vector<int>& of = named_[index(pass, c)]; place.pool >= 0 && std::find(of.begin(), of.end(), place.pool) == of.end())
              of.push_back(place.pool);
  }
  /// visit(pool) for each pool that a line touches: what a compute names, the source of a send, the target of a receive.
  template <class Visit> void each(const Instruction& line, Visit visit) const {
    if (computes(line.op)) {
      for (const int pool : named_[index(line.op == ListOp::forward ? 0 : line.op == ListOp::backward_weight ? 2 : 1, line.chunk)]) visit(pool);
    } else if (line.op == ListOp::send_start || line.op == ListOp::receive_start) {
      const Transfer& t = p_.transfers[line.transfer];
      if (const Place& end = line.op == ListOp::send_start ? t.source : t.target; t.use < 0 && end.pool >= 0) visit(end.pool);
    }
  }

 private:
  [[nodiscard]] std::size_t index(int pass, int chunk) const { return static_cast<std::size_t>(pass * p_.chunks + chunk); }
  const Program& p_;
  std::vector<std::vector<int>> named_;
};

/// From when to when a slot is in use: 0.1 to 0.4 s of the forward of a micro-batch and its backward.
struct SlotUse {
  double begin = std::numeric_limits<double>::infinity();
  double end = -1;
};

/// From the first span that touches what a micro-batch has in a pool to the end of the last one its slot is in use; all else of the arena always is.
/// Under 1F1B the first of 2 stages has 2 micro-batches in flight, so twice a slot more than at its begin.
///
/// Tested  cost/memory_in_time_test
[[nodiscard]] inline std::vector<MemoryAt> memory_in_time(const Program& p, const Timeline& line, bool by_rank) {
  const Devices devices{p, by_rank};
  const NamedPools named{p};
  const auto micro_batches = static_cast<std::size_t>(p.batch.total_micro_batches());
  const std::size_t pools = static_cast<std::size_t>(p.chunks) * pool_kinds;
  std::vector<std::vector<SlotUse>> uses(static_cast<std::size_t>(devices.count()), std::vector<SlotUse>(pools * micro_batches));
  for (const Span& span : line.spans) {
    if (span.instruction < 0 || span.micro_batch < 0 || span.kind == SpanKind::collective) continue;
    named.each(p.instructions[span.instruction], [&](int pool) {
      SlotUse& use =
          uses[static_cast<std::size_t>(span.device)][static_cast<std::size_t>(pool) * micro_batches + static_cast<std::size_t>(span.micro_batch)];
      use.begin = std::min(use.begin, span.begin.value);
      use.end = std::max(use.end, span.end.value);
    });
  }
  std::vector<MemoryAt> memory;
  for (int d = 0; d < devices.count(); ++d) {
    std::int64_t bytes = p.arenas[devices.role(d)].total;
    std::vector<std::pair<double, std::int64_t>> changes;
    for (std::size_t pool = 0; pool < pools; ++pool) {
      const Pool& of = p.pools[pool];
      if (of.role != devices.role(d) || of.slots == 0) continue;
      bytes -= of.slots * of.slot_bytes;
      for (std::size_t m = 0; m < micro_batches; ++m)
        if (const SlotUse& use = uses[static_cast<std::size_t>(d)][pool * micro_batches + m]; use.end >= 0) {
          changes.emplace_back(use.begin, of.slot_bytes);
          changes.emplace_back(use.end, -of.slot_bytes);
        }
    }
    std::sort(changes.begin(), changes.end());  // at one moment what ends comes first
    memory.push_back({d, Seconds{0}, Bytes{bytes}});
    for (const auto& [at, more] : changes) {
      bytes += more;
      if (memory.back().device == d && memory.back().at.value == at)
        memory.back().bytes = Bytes{bytes};
      else
        memory.push_back({d, Seconds{at}, Bytes{bytes}});
    }
  }
  return memory;
}

}  // namespace heddle::cost_room
