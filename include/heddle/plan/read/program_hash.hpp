// SPDX-License-Identifier: MIT
// Room: plan. One number for a Program: equal programs have equal numbers, others almost surely not.
// Sees: plan/program, mesh, graph.  Does not see: processes, threads, kernels.
// In: a Program.  Out: FNV-1a over everything that ranks must agree on.
#pragma once

#include <bit>
#include <cstdint>
#include <string_view>

#include "heddle/core/host_device.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// FNV-1a over numbers, each as eight bytes: padding and the order of bytes in memory do not count.
class Fnv {
 public:
  template <class... Numbers> constexpr Fnv& add(const Numbers&... numbers) {
    (mix(static_cast<std::uint64_t>(numbers)), ...);
    return *this;
  }
  constexpr Fnv& add_text(std::string_view text) {
    for (const char c : text) mix(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
    return add(text.size());
  }
  [[nodiscard]] constexpr std::uint64_t value() const { return hash_; }

 private:
  constexpr void mix(std::uint64_t number) {
    for (int byte = 0; byte < 8; ++byte) hash_ = (hash_ ^ (number >> (8 * byte) & 0xffU)) * 0x100000001b3U;
  }
  std::uint64_t hash_ = 0xcbf29ce484222325U;
};

HEDDLE_COLD constexpr void add_graph(Fnv& hash, const Graph& g) {
  hash.add_text(g.model.view()).add(g.node_count, g.parameter_count, g.input.elements());
  if (g.values != ElementType::float32) hash.add_text(name_of(g.values));
  for (int i = 1; i < g.input_count; ++i) hash.add(g.input_of(i).elements(), g.input_of(i).type);
  for (int n = 0; n < g.node_count; ++n) {
    const Leaf& leaf = g.leaf(n);
    hash.add_text(leaf.spelled.view())
        .add(leaf.in.elements(), leaf.out.elements(), leaf.parameter_count, leaf.saves, leaf.weights_read, leaf.input_part_reads_saved);
    if (g.frozen(n)) hash.add_text("frozen");
    if (leaf.statistics.dimensions != 0) hash.add(leaf.statistics_elements());
    if (leaf.operands == 2 && !leaf.sums) hash.add(leaf.other.elements());
    if (leaf.in.type != ElementType::float32) hash.add_text(name_of(leaf.in.type));
    for (int k = 0; k < g.nodes[n].operand_count; ++k) hash.add(g.nodes[n].operands[k]);
    for (int k = 0; k < leaf.parameter_count; ++k)
      hash.add(leaf.parameters[k].shape.elements(), leaf.parameters[k].initial, leaf.parameters[k].fan_in);
    for (int k = 0; k < leaf.parameter_count; ++k)
      if (leaf.parameters[k].padding_row >= 0) hash.add_text("padding").add(k, leaf.parameters[k].padding_row);
    if (leaf.rows_together != 0) hash.add(leaf.rows_together);
    if (leaf.has_phases())
      for (const Phases* phases : {&leaf.forward_phases, &leaf.backward_phases}) hash.add(phases->sums[0], phases->sums[1]);
    for (int k = 0; k < leaf.parameter_count; ++k)
      if (leaf.parameters[k].tracked()) hash.add(k, leaf.parameters[k].tracks, std::bit_cast<std::uint32_t>(leaf.momentum));
  }
}

constexpr void add_place(Fnv& hash, const Place& place) { hash.add(place.pool, place.offset); }

HEDDLE_COLD constexpr void add_bodies(Fnv& hash, const Program& p) {
  for (const IndexRange* bodies : {p.forward_bodies, p.backward_bodies, p.weight_bodies})
    for (int c = 0; c < p.chunks; ++c)
      for (int e = bodies[c].begin; e < bodies[c].end; ++e) {
        const Entry& entry = p.entries[e];
        hash.add(entry.what, entry.when, entry.axis, entry.bucket, entry.collective, entry.node, entry.features, entry.runs);
        for (const Place& place : {entry.a, entry.b, entry.c, entry.d}) add_place(hash, place);
        if (entry.e.set()) add_place(hash, entry.e);
        if (entry.operand != 0) hash.add(entry.operand);
        if (entry.phase != 0) hash.add_text("phase").add(entry.phase);
        if (entry.type != ElementType::float32) hash.add_text(name_of(entry.type));
        if (entry.fused) hash.add_text("fused");
      }
}

constexpr void add_lists(Fnv& hash, const Program& p) {
  for (int role = 0; role < p.roles; ++role)
    for (int i = p.lists[role].begin; i < p.lists[role].end; ++i) {
      const Instruction& line = p.instructions[i];
      hash.add(line.op, line.when, line.axis, line.chunk, line.micro_batch, line.transfer, line.peer, line.bucket, line.token, line.sequence,
               line.collective);
    }
}

constexpr void add_address(Fnv& hash, const Address& a) { hash.add(a.region, a.along, a.pool, a.copy, a.begin, a.stride); }

HEDDLE_COLD constexpr void add_collectives(Fnv& hash, const Program& p) {
  for (int i = 0; i < p.collective_count; ++i) {
    const Collective& c = p.collectives[i];
    hash.add(c.kind, c.purpose, c.axis, c.order, c.accumulates, c.slices, c.elements, c.payload);
    if (c.type != ElementType::float32) hash.add_text(name_of(c.type));
    for (const Address* end : {&c.source, &c.target, &c.arrived}) add_address(hash, *end);
  }
}

/// Of a plan without groups nothing.
constexpr void add_groups(Fnv& hash, const Program& p) {
  for (int g = 0; g < p.groups.count; ++g) hash.add(p.groups.list[g].numerator, p.groups.list[g].denominator, p.groups.list[g].decays);
  for (int k = 0; k < p.graph->parameter_count && p.groups.any(); ++k) hash.add(p.groups.of_parameter[k]);
  for (int i = 0; i < p.piece_count; ++i) hash.add(p.pieces[i].bucket, p.pieces[i].group, p.pieces[i].begin, p.pieces[i].elements);
}

/// The ranks of a plan that are processes compare it before they start.
///
/// Tested  plan/read/program_hash_test
[[nodiscard]] HEDDLE_COLD constexpr std::uint64_t program_hash(const Program& p) {
  Fnv hash;
  add_graph(hash, *p.graph);
  for (int a = 0; a < p.mesh.count; ++a) hash.add(p.mesh.axes[a], p.mesh.sizes[a]);
  hash.add(p.batch.batch, p.batch.remedy, p.batch.ranks, p.batch.rounds, p.batch.micro_batches, p.batch.micro_rows, p.batch.grain_rows, p.batch.tree);
  for (int i = 0; i < p.batch.share_count; ++i) hash.add(p.batch.shares[i]);
  hash.add(p.training, p.roles, p.chunks, p.loss.takes.code, p.loss.terms);
  if (p.storage.gathered != ElementType::float32) hash.add_text(name_of(p.storage.gathered));
  hash.add(p.storage.axis, p.storage.parts, p.storage.parameters, p.storage.gradients, p.storage.states, p.storage.adds_slices, p.storage.keeps,
           p.clips, p.scales_loss, p.unit_count);
  if (p.groups.clips_values) hash.add_text("clips values");
  if (p.guards) hash.add_text("guards");
  for (int role = 0; role < p.roles; ++role) hash.add(p.arenas[role].total, p.arenas[role].flat_elements());
  for (int c = 0; c < p.chunks; ++c) hash.add(p.device_of_chunk[c], p.first_node[c]);
  add_lists(hash, p);
  add_bodies(hash, p);
  add_collectives(hash, p);
  for (int t = 0; t < p.transfer_count; ++t) {
    const Transfer& transfer = p.transfers[t];
    hash.add(transfer.value, transfer.from_chunk, transfer.to_chunk, transfer.gradient, transfer.elements, transfer.use);
    add_place(hash, transfer.source);
    add_place(hash, transfer.target);
  }
  for (int b = 0; b < p.bucket_count + p.frozen_count; ++b) hash.add(p.buckets[b].role, p.buckets[b].begin, p.buckets[b].elements);
  for (int u = 0; u < p.use_count; ++u) hash.add(p.uses[u].owner, p.uses[u].node, p.uses[u].role, p.uses[u].bucket);
  for (int k = 0; k < p.graph->parameter_count; ++k)
    hash.add(p.parameters[k].role, p.parameters[k].begin, p.parameters[k].elements, p.parameters[k].split.code, p.parameters[k].owner_begin);
  add_groups(hash, p);
  return hash.value();
}

}  // namespace heddle::plan_room
