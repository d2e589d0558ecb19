// SPDX-License-Identifier: MIT
// Room: plan. What one collective of a Program moves, and every collective of a step: ledger, cost and transports read it here.
// Sees: plan/program, mesh.  Does not see: policies, processes, threads.
// In: a Program, an instruction or an entry.  Out: CollectiveSize; each_collective.
#pragma once

#include <cstdint>

#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// Elements are those of the whole, before it is scattered or after it is gathered: an all-reduce of 10 rows of 6 floats in grains of 5 rows has
/// 60 without padding, and 2 x 32 with it.
struct CollectiveSize {
  Axis axis = Axis::data;
  int halves = 0;  ///< passes round the ring: an all-reduce 2, a reduce-scatter or a gather 1; 0 where nothing is started
  bool sums = false;
  std::int64_t payload = 0;
  std::int64_t elements = 0;  ///< with the padding of grains and flat buffers
};

/// Of gradients of a bucket, of its parameters, of the norm or of the loss. Along the other axes than that which slices units slices are reduced.
[[nodiscard]] constexpr CollectiveSize bucket_collective(const Program& p, int bucket, Axis axis, bool gathers) {
  if (bucket == loss_bucket) return {axis, 2, true, 1, 1};
  if (bucket == norm_bucket) return {axis, 2, true, p.norm_floats(), p.norm_floats()};
  const bool slices = p.storage.parts > 1 && axis == p.storage.axis;
  const int parts = slices ? 1 : p.storage.state_parts();
  return {axis, slices ? 1 : 2, !gathers, p.buckets[bucket].payload / parts, p.buckets[bucket].elements / parts};
}

[[nodiscard]] constexpr CollectiveSize collective_size(const Program& p, const Instruction& line) {
  if (line.op != ListOp::reduce_start && line.op != ListOp::gather_start) return {};
  return bucket_collective(p, line.bucket, line.axis, line.op == ListOp::gather_start);
}

[[nodiscard]] constexpr CollectiveSize collective_size(const Program& p, const Entry& entry) {
  const std::int64_t payload = entry.features * p.batch.micro_rows;
  const auto in_grains = [&](std::int64_t features) { return p.grain_stride(features) * p.batch.grains(); };
  switch (entry.what) {
    case BodyOp::reduce_start:
    case BodyOp::gather_start: return bucket_collective(p, entry.bucket, entry.axis, entry.what == BodyOp::gather_start);
    case BodyOp::reduce_value: return {entry.axis, 2, true, payload, in_grains(entry.features)};
    case BodyOp::gather_value:
    case BodyOp::scatter_value: {
      const std::int64_t n = p.mesh.size(entry.axis);
      return {entry.axis, 1, entry.what == BodyOp::scatter_value, payload, n * in_grains(entry.features / n)};
    }
    case BodyOp::reduce_parameter: {
      const std::int64_t elements = p.parameters[p.graph->nodes[entry.node].first_parameter + entry.bucket].elements;
      return {entry.axis, 2, true, elements, elements};
    }
    case BodyOp::load_input:
    case BodyOp::load_targets:
    case BodyOp::leaf_forward:
    case BodyOp::add:
    case BodyOp::copy:
    case BodyOp::loss:
    case BodyOp::leaf_backward:
    case BodyOp::leaf_backward_input:
    case BodyOp::leaf_backward_weight:
    case BodyOp::store_output:
    case BodyOp::reduce_wait:
    case BodyOp::gather_wait:
    case BodyOp::slice_value:
    case BodyOp::loss_terms:
    case BodyOp::zero_gaps:
    case BodyOp::add_slice: return {};
  }
  return {};
}

/// How often an entry of a body is run in one step.
[[nodiscard]] constexpr std::int64_t times_in_a_step(const Program& p, const Entry& entry) {
  const std::int64_t micro_batches = p.batch.total_micro_batches();
  if (entry.when == When::first_micro_batch || entry.when == When::last_micro_batch) return 1;
  return entry.when == When::later_micro_batches ? micro_batches - 1 : micro_batches;
}

/// visit(role, size, times) for every collective that ranks of a role start in one step, in lists and in bodies.
///
/// Tested  plan/read/collective_size_test, cost/simulate_test, run/transport_needs_test
template <class Visit> constexpr void each_collective(const Program& p, Visit visit) {
  const auto visit_if_any = [&](int role, const CollectiveSize& size, std::int64_t times) {
    if (size.halves > 0) visit(role, size, times);
  };
  for (int r = 0; r < p.roles; ++r)
    for (int i = p.lists[r].begin; i < p.lists[r].end; ++i) visit_if_any(r, collective_size(p, p.instructions[i]), 1);
  for (const IndexRange* bodies : {p.forward_bodies, p.backward_bodies, p.weight_bodies})
    for (int c = 0; c < p.chunks; ++c)
      for (int e = bodies[c].begin; e < bodies[c].end; ++e)
        visit_if_any(p.device_of_chunk[c], collective_size(p, p.entries[e]), times_in_a_step(p, p.entries[e]));
}

}  // namespace heddle::plan_room
