// SPDX-License-Identifier: MIT
// Room: plan. Where units are sliced: every layer runs with the parameters of its unit gathered, and writes no gradient that is being reduced.
// Sees: plan/program.  Does not see: policies, processes, threads.
// In: a Program.  Out: ok, or S11 with the layer and the unit.
#pragma once

#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/plan/check/restated.hpp"
#include "heddle/plan/program/conversion.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// Walks one body with the two slots of each ring; -1 is an empty slot. Units of frozen parameters are gathered into a ring of their own, whose slots
/// are 2 and 3 here, so that no number of a slot is outside.
struct RingWalk {
  const Program& p;
  BodyKind kind = BodyKind::forward;
  int gathering[4]{-1, -1, -1, -1};
  int gathered[4]{-1, -1, -1, -1};
  int zeroed[4]{-1, -1, -1, -1};  // whose gaps are
  int reducing[4]{-1, -1, -1, -1};
  int arrived[4]{-1, -1, -1, -1};  // of whom a slice is still to be added
  Diagnosis found{};               // a member: to hand one back for each entry costs compilers more than the rest

  static constexpr std::string_view odd_zeros = " has gaps zeroed for some micro-batches, or where nothing passes through a ring, of unit ";
  static constexpr std::string_view unzeroed = " is reduced with what other units left between its tensors, as gradient of unit ";
  static constexpr std::string_view overwritten = " is reduced over a slice that arrived and was not added, of unit ";
  static constexpr std::string_view odd_addition = " adds a slice that did not arrive, or not for each later micro-batch, of unit ";
  [[nodiscard]] constexpr int slot_of(int bucket) const { return p.buckets[bucket].slot + (p.buckets[bucket].frozen ? 2 : 0); }
  constexpr bool refuse(int node, int bucket, std::string_view what) {
    found = Diagnosis{Code{'S', 11}, ""}
            << p.graph->describe(node).view() << what << bucket
            << ". Fix: gather a unit before its layers run, zero its gaps before its reduction, wait for that before its place is written again, and "
               "add what arrived.";
    return false;
  }
  /// A gather, a reduction, or what stands around one.
  constexpr bool visit(const Entry& entry) {
    const int slot = slot_of(entry.bucket);
    if (entry.what == BodyOp::gather_start || entry.what == BodyOp::gather_wait)
      if (entry.when != (p.storage.keeps ? When::first_micro_batch : When::always) || (p.storage.keeps && kind != BodyKind::forward))
        return refuse(entry.node, entry.bucket,
                      p.storage.keeps ? " is gathered more than once a step, though it is kept, with unit "
                                      : " is not gathered for every micro-batch, with unit ");
    switch (entry.what) {
      case BodyOp::gather_start:
        if (gathering[slot] >= 0) return refuse(entry.node, gathering[slot], " is gathered while the same place waits for unit ");
        gathering[slot] = entry.bucket;
        gathered[slot] = -1;
        return true;
      case BodyOp::gather_wait:
        if (gathering[slot] != entry.bucket) return refuse(entry.node, entry.bucket, " waits for a gather that was not started, of unit ");
        gathered[slot] = entry.bucket;
        gathering[slot] = -1;
        return true;
      case BodyOp::zero_gaps:
        if (!p.storage.gradients || entry.when != When::always) return refuse(entry.node, entry.bucket, odd_zeros);
        zeroed[slot] = entry.bucket;
        return true;
      case BodyOp::reduce_start:
        if (!p.storage.gradients) return true;
        if (zeroed[slot] != entry.bucket) return refuse(entry.node, entry.bucket, unzeroed);
        if (arrived[slot] >= 0) return refuse(entry.node, arrived[slot], overwritten);
        reducing[slot] = entry.bucket;
        return true;
      case BodyOp::reduce_wait:
        if (reducing[slot] != entry.bucket) return refuse(entry.node, entry.bucket, " waits for a reduction that was not started, of unit ");
        reducing[slot] = -1;
        if (p.storage.adds_slices) arrived[slot] = entry.bucket;
        return true;
      case BodyOp::add_slice:
        if (arrived[slot] != entry.bucket || entry.when != When::later_micro_batches) return refuse(entry.node, entry.bucket, odd_addition);
        arrived[slot] = -1;
        return true;
      default: return true;
    }
  }
  /// A layer with parameters.
  constexpr bool run(const Entry& entry) {
    const int bucket = p.bucket_of_node[entry.node];
    const int slot = slot_of(bucket);
    const bool reads = entry.what != BodyOp::leaf_backward_weight || p.graph->leaf(entry.node).weights_read;
    const bool gathers = p.storage.parameters && (kind == BodyKind::forward || !p.storage.keeps);
    if (gathers && reads && gathered[slot] != bucket) return refuse(entry.node, bucket, " runs without the gathered parameters of unit ");
    const bool writes = entry.what == BodyOp::leaf_backward || entry.what == BodyOp::leaf_backward_weight;
    if (writes && p.storage.gradients && zeroed[slot] != bucket) zeroed[slot] = -1;
    if (writes && p.storage.gradients && reducing[slot] >= 0)
      return refuse(entry.node, reducing[slot], " writes a gradient into the place from which is still reduced unit ");
    return true;
  }
  constexpr bool close() {
    for (const int bucket : {gathering[0], gathering[1], gathering[2], gathering[3], reducing[0], reducing[1]})
      if (bucket >= 0) return refuse(p.buckets[bucket].lowest_node, bucket, " ends its body with an open gather or reduction of unit ");
    for (const int bucket : arrived)
      if (bucket >= 0) return refuse(p.buckets[bucket].lowest_node, bucket, " ends its body before it has added the slice that arrived of unit ");
    return true;
  }
};

/// S11, where units are kept: the first micro-batch of a chunk gathers them, so its forward is the first.
[[nodiscard]] constexpr Diagnosis check_first_forwards(const Program& p) {
  bool gathered[Layout::most_chunks]{};
  for (int r = 0; r < p.roles; ++r)
    for (int i = p.lists[r].begin; i < p.lists[r].end; ++i) {
      const Instruction& line = p.instructions[i];
      if (line.op != ListOp::forward) continue;
      if (line.micro_batch != 0 && !gathered[line.chunk])
        return Diagnosis{Code{'S', 11}, ""} << "chunk " << line.chunk << " runs micro-batch " << line.micro_batch
                                            << " before micro-batch 0, which gathers the parameters that are kept. Fix: order micro-batch 0 first.";
      gathered[line.chunk] = true;
    }
  return {};
}

/// Parameters of the layer are gathered for it, or their gradient is reduced.
[[nodiscard]] constexpr bool has_unit(const Program& p, int node) {
  return gradients_of(p.graph->nodes[node]) > 0 || (p.storage.parameters && p.graph->frozen(node));
}

/// S11, for all bodies of a Program whose units pass through rings.
[[nodiscard]] constexpr Diagnosis check_slices(const Program& p) {
  if (!p.storage.parameters && !p.storage.gradients) return {};
  for (int c = 0; c < p.chunks; ++c)
    for (const BodyKind kind : {BodyKind::forward, BodyKind::backward, BodyKind::weight}) {
      const IndexRange body = (kind == BodyKind::forward ? p.forward_bodies : kind == BodyKind::weight ? p.weight_bodies : p.backward_bodies)[c];
      RingWalk walk{p, kind};
      for (int e = body.begin; e < body.end; ++e) {
        const Entry& entry = p.entries[e];
        const BodyOp what = entry.what;
        const bool runs = what == BodyOp::leaf_forward || (what >= BodyOp::leaf_backward && what <= BodyOp::leaf_backward_weight);
        if (runs ? !has_unit(p, entry.node) : entry.bucket < 0) continue;  // nothing of a unit
        if (!(runs ? walk.run(entry) : walk.visit(entry))) return walk.found;
      }
      if (!walk.close()) return walk.found;
    }
  return p.storage.keeps ? check_first_forwards(p) : Diagnosis{};
}

}  // namespace heddle::plan_room
