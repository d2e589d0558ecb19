// SPDX-License-Identifier: MIT
// Room: tests. Two Programs compared field by field: the one that the compiler lowered and the one that was lowered while the test ran.
// Sees: graph, plan.  Does not see: processes, kernels.
#pragma once

#include <string>

#include "heddle/core/written.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::tests {

/// The first difference of two Programs in words; empty if they are equal.
class Difference {
 public:
  Difference(const Program& a, const Program& b) {
    facts(a, b);
    if (words_.empty()) lists(a, b);
    if (words_.empty()) bodies(a, b);
    if (words_.empty()) places(a, b);
  }
  [[nodiscard]] const std::string& words() const { return words_; }

 private:
  template <class T> void same(const char* name, int at, const T& a, const T& b) {
    if (!words_.empty() || a == b) return;
    words_ = written({name, " of number ", at});
    if constexpr (requires { std::to_string(a); }) words_ += written({": ", std::to_string(a), " and ", std::to_string(b)});
  }
  void same(const char* name, int at, const IndexRange& a, const IndexRange& b) {
    same(name, at, a.begin, b.begin);
    same(name, at, a.end, b.end);
  }
  template <class T> void pointers(const char* name, const T* a, const T* b) { same(name, 0, a == nullptr, b == nullptr); }
  void facts(const Program& a, const Program& b) {
    same("roles", 0, a.roles, b.roles);
    same("chunks", 0, a.chunks, b.chunks);
    same("nodes", 0, a.graph->node_count, b.graph->node_count);
    same("parameters", 0, a.graph->parameter_count, b.graph->parameter_count);
    same("ranks that split layers", 0, a.graph->split.ranks, b.graph->split.ranks);
    same("training", 0, a.training, b.training);
    same("splits_backward", 0, a.splits_backward, b.splits_backward);
    same("clips", 0, a.clips, b.clips);
    same("scales_loss", 0, a.scales_loss, b.scales_loss);
    same("guards", 0, a.guards, b.guards);
    same("terms of the loss", 0, a.loss.terms, b.loss.terms);
    same("axes", 0, a.mesh.count, b.mesh.count);
    for (int i = 0; i < a.mesh.count; ++i) {
      same("axis", i, a.mesh.axes[i], b.mesh.axes[i]);
      same("size", i, a.mesh.sizes[i], b.mesh.sizes[i]);
    }
    for (int i = 0; i < axis_count; ++i) same("batch_split", i, a.batch_split[i], b.batch_split[i]);
    same("rows", 0, a.batch.batch, b.batch.batch);
    same("micro_rows", 0, a.batch.micro_rows, b.batch.micro_rows);
    same("grain_rows", 0, a.batch.grain_rows, b.batch.grain_rows);
    same("rounds", 0, a.batch.rounds, b.batch.rounds);
    same("micro-batches", 0, a.batch.micro_batches, b.batch.micro_batches);
    same("storage axis", 0, a.storage.axis, b.storage.axis);
    same("storage parts", 0, a.storage.parts, b.storage.parts);
    const auto flags = [](const Storage& s) {
      return (s.parameters ? 1 : 0) + (s.gradients ? 2 : 0) + (s.states ? 4 : 0) + (s.adds_slices ? 8 : 0) + (s.keeps ? 16 : 0);
    };
    same("storage", 0, flags(a.storage), flags(b.storage));
    same("transfers", 0, a.transfer_count, b.transfer_count);
    same("collectives", 0, a.collective_count, b.collective_count);
    same("buckets", 0, a.bucket_count, b.bucket_count);
    same("buckets of frozen parameters", 0, a.frozen_count, b.frozen_count);
    same("units", 0, a.unit_count, b.unit_count);
    same("uses", 0, a.use_count, b.use_count);
    groups(a, b);
    for (int n = 0; n < a.graph->node_count && words_.empty(); ++n) {
      same("name", n, a.graph->name(n), b.graph->name(n));
      same("input of a leaf", n, a.graph->leaf(n).in.shape, b.graph->leaf(n).in.shape);
      same("elements of a leaf", n, a.graph->leaf(n).in.type, b.graph->leaf(n).in.type);
      same("rows of a leaf together", n, a.graph->leaf(n).rows_together, b.graph->leaf(n).rows_together);
      same("momentum of a leaf", n, a.graph->leaf(n).momentum, b.graph->leaf(n).momentum);
      for (int k = 0; k < Leaf::most_parameters; ++k)
        same("what a leaf tracks", n, int{a.graph->leaf(n).parameters[k].tracks}, int{b.graph->leaf(n).parameters[k].tracks});
      same("value", n, a.graph->spec(n + 1).shape, b.graph->spec(n + 1).shape);
      same("signature", n, a.graph->signature(n), b.graph->signature(n));
    }
  }
  void groups(const Program& a, const Program& b) {
    same("groups", 0, a.groups.count, b.groups.count);
    same("pieces", 0, a.piece_count, b.piece_count);
    for (int g = 0; g < a.groups.count && words_.empty(); ++g) same("group", g, a.groups.list[g], b.groups.list[g]);
    for (int k = 0; k < a.graph->parameter_count && a.groups.any() && words_.empty(); ++k)
      same("group of a parameter", k, a.groups.of_parameter[k], b.groups.of_parameter[k]);
    for (int i = 0; i < a.piece_count && words_.empty(); ++i) same("piece", i, a.pieces[i], b.pieces[i]);
  }
  void lists(const Program& a, const Program& b) {
    for (int r = 0; r < a.roles; ++r) {
      same("list", r, a.lists[r], b.lists[r]);
      for (int i = a.lists[r].begin; i < a.lists[r].end && words_.empty(); ++i) line(i, a.instructions[i], b.instructions[i]);
    }
    for (int t = 0; t < a.transfer_count && words_.empty(); ++t) transfer(t, a.transfers[t], b.transfers[t]);
    for (int c = 0; c < a.collective_count && words_.empty(); ++c) collective(c, a.collectives[c], b.collectives[c]);
  }
  void line(int i, const Instruction& a, const Instruction& b) {
    same("op of a line", i, a.op, b.op);
    same("when of a line", i, a.when, b.when);
    same("axis of a line", i, a.axis, b.axis);
    same("chunk of a line", i, a.chunk, b.chunk);
    same("micro-batch of a line", i, a.micro_batch, b.micro_batch);
    same("transfer of a line", i, a.transfer, b.transfer);
    same("peer of a line", i, a.peer, b.peer);
    same("bucket of a line", i, a.bucket, b.bucket);
    same("token of a line", i, a.token, b.token);
    same("sequence of a line", i, a.sequence, b.sequence);
    same("collective of a line", i, a.collective, b.collective);
  }
  void transfer(int t, const Transfer& a, const Transfer& b) {
    same("value of a transfer", t, a.value, b.value);
    same("from_chunk of a transfer", t, a.from_chunk, b.from_chunk);
    same("to_chunk of a transfer", t, a.to_chunk, b.to_chunk);
    same("from_role of a transfer", t, a.from_role, b.from_role);
    same("to_role of a transfer", t, a.to_role, b.to_role);
    same("gradient of a transfer", t, a.gradient, b.gradient);
    same("source of a transfer", t, a.source, b.source);
    same("target of a transfer", t, a.target, b.target);
    same("elements of a transfer", t, a.elements, b.elements);
    same("payload of a transfer", t, a.payload, b.payload);
    same("use of a transfer", t, a.use, b.use);
  }
  void collective(int c, const Collective& a, const Collective& b) {
    same("kind of a collective", c, a.kind, b.kind);
    same("purpose of a collective", c, a.purpose, b.purpose);
    same("axis of a collective", c, a.axis, b.axis);
    same("source of a collective", c, a.source, b.source);
    same("target of a collective", c, a.target, b.target);
    same("elements of a collective", c, a.elements, b.elements);
    same("payload of a collective", c, a.payload, b.payload);
    same("slices of a collective", c, a.slices, b.slices);
    same("accumulation of a collective", c, a.accumulates, b.accumulates);
    same("where a collective arrives", c, a.arrived, b.arrived);
  }
  void bodies(const Program& a, const Program& b) {
    for (int c = 0; c < a.chunks; ++c) {
      same("forward of a chunk", c, a.forward_bodies[c], b.forward_bodies[c]);
      same("backward of a chunk", c, a.backward_bodies[c], b.backward_bodies[c]);
      same("weight part of a chunk", c, a.weight_bodies[c], b.weight_bodies[c]);
      same("device of a chunk", c, a.device_of_chunk[c], b.device_of_chunk[c]);
      same("end of a chunk", c, a.first_node[c + 1], b.first_node[c + 1]);
      for (const IndexRange& body : {a.forward_bodies[c], a.backward_bodies[c], a.weight_bodies[c]})
        for (int e = body.begin; e < body.end && words_.empty(); ++e) entry(e, a.entries[e], b.entries[e]);
    }
  }
  void entry(int e, const Entry& a, const Entry& b) {
    same("kind of an entry", e, a.what, b.what);
    same("when of an entry", e, a.when, b.when);
    same("axis of an entry", e, a.axis, b.axis);
    same("element type of an entry", e, a.type, b.type);
    same("bucket of an entry", e, a.bucket, b.bucket);
    same("collective of an entry", e, a.collective, b.collective);
    same("node of an entry", e, a.node, b.node);
    same("features of an entry", e, a.features, b.features);
    same("runs of an entry", e, a.runs, b.runs);
    same("place a of an entry", e, a.a, b.a);
    same("place b of an entry", e, a.b, b.b);
    same("place c of an entry", e, a.c, b.c);
    same("place d of an entry", e, a.d, b.d);
    same("place e of an entry", e, a.e, b.e);
    same("operand of an entry", e, a.operand, b.operand);
    same("whether an entry is fused with the next", e, a.fused, b.fused);
  }
  void places(const Program& a, const Program& b) {
    const int micro_batches = a.batch.total_micro_batches();
    for (int p = 0; p < a.chunks * pool_kinds && words_.empty(); ++p) {
      same("role of a pool", p, a.pools[p].role, b.pools[p].role);
      same("chunk of a pool", p, a.pools[p].chunk, b.pools[p].chunk);
      same("bytes of a slot", p, a.pools[p].slot_bytes, b.pools[p].slot_bytes);
      same("slots of a pool", p, a.pools[p].slots, b.pools[p].slots);
      same("base of a pool", p, a.pools[p].base, b.pools[p].base);
      for (int m = 0; m < micro_batches; ++m) same("slot", p * micro_batches + m, a.slot(p, m), b.slot(p, m));
    }
    for (int p = 0; p < a.graph->parameter_count; ++p) {
      same("node of a parameter", p, a.parameters[p].node, b.parameters[p].node);
      same("index of a parameter", p, a.parameters[p].index, b.parameters[p].index);
      same("role of a parameter", p, a.parameters[p].role, b.parameters[p].role);
      same("begin of a parameter", p, a.parameters[p].begin, b.parameters[p].begin);
      same("elements of a parameter", p, a.parameters[p].elements, b.parameters[p].elements);
      same("split of a parameter", p, a.parameters[p].split.code, b.parameters[p].split.code);
      same("values of a parameter", p, a.parameters[p].values(), b.parameters[p].values());
    }
    for (int k = 0; k < a.bucket_count + a.frozen_count && words_.empty(); ++k) bucket(k, a.buckets[k], b.buckets[k]);
    for (int u = 0; u < a.unit_count; ++u) {
      same("role of a unit", u, a.units[u].role, b.units[u].role);
      same("begin of a unit", u, a.units[u].begin, b.units[u].begin);
      same("elements of a unit", u, a.units[u].elements, b.units[u].elements);
      same("unit in the norm", u, a.units[u].counts, b.units[u].counts);
    }
    for (int u = 0; u < a.use_count; ++u) {
      same("owner of a use", u, a.uses[u].owner, b.uses[u].owner);
      same("node of a use", u, a.uses[u].node, b.uses[u].node);
      same("role of a use", u, a.uses[u].role, b.uses[u].role);
      same("bucket of a use", u, a.uses[u].bucket, b.uses[u].bucket);
    }
    for (int n = 0; n < a.graph->node_count; ++n) same("bucket of a node", n, a.bucket_of_node[n], b.bucket_of_node[n]);
    for (int r = 0; r < a.roles; ++r) arena(r, a.arenas[r], b.arenas[r]);
  }
  void bucket(int k, const FlatBucket& a, const FlatBucket& b) {
    same("role of a bucket", k, a.role, b.role);
    same("lowest node of a bucket", k, a.lowest_node, b.lowest_node);
    same("highest node of a bucket", k, a.highest_node, b.highest_node);
    same("begin of a bucket", k, a.begin, b.begin);
    same("elements of a bucket", k, a.elements, b.elements);
    same("payload of a bucket", k, a.payload, b.payload);
    same("slot of a bucket", k, a.slot, b.slot);
    same("sharing of a bucket", k, a.shared, b.shared);
    same("training of a bucket", k, !a.frozen, !b.frozen);
    same("values of a bucket", k, a.values(), b.values());
  }
  void arena(int r, const ArenaMap& a, const ArenaMap& b) {
    for (int k = 0; k < region_kinds; ++k) {
      const int number = 100 * r + k;
      same("begin of a region", number, a.regions[k].begin, b.regions[k].begin);
      same("bytes of a region", number, a.regions[k].slot_bytes, b.regions[k].slot_bytes);
      same("copies of a region", number, a.regions[k].copies, b.regions[k].copies);
      same("slices of a region", number, a.regions[k].parts, b.regions[k].parts);
      same("addressing of a region", number, static_cast<int>(a.regions[k].addressing), static_cast<int>(b.regions[k].addressing));
    }
    same("bytes of an arena", r, a.total, b.total);
  }
  std::string words_;
};

}  // namespace heddle::tests
