// SPDX-License-Identifier: MIT
// Room: plan. What the bodies are made of: their input, their storage, the edges between chunks and where these are kept.
// Sees: graph, policy answers, plan/lower/values, plan/program.  Does not see: processes, threads, kernels.
// In: Graph, Layout, BatchDivision.  Out: Bodies with edges placed, entries still to be written.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/plan/lower/collectives.hpp"
#include "heddle/plan/lower/held.hpp"
#include "heddle/plan/lower/scratch.hpp"
#include "heddle/plan/lower/tables.hpp"
#include "heddle/plan/lower/values.hpp"
#include "heddle/plan/program/conversion.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

[[nodiscard]] constexpr std::int16_t pool_of(int chunk, PoolKind kind) {
  return static_cast<std::int16_t>(chunk * pool_kinds + static_cast<int>(kind));
}

/// No trained parameter has a part in the value, or it is the input. What another chunk made before the first trained layer (up to value `first`) is
/// sent back all the same, but not to layers that run no backward since all their parameters are frozen.
[[nodiscard]] constexpr bool needs_no_gradient(const Graph& graph, int value, int first, int untrained) {
  return value <= graph.first_backward || (value <= untrained ? value > first : !graph.nodes[value - 1].needs_gradient);
}

/// What the writers of bodies read.
/// Of 2 grains of 3 rows 5 features take 128 bytes: 15 floats fill one line of 64 in each grain.
struct BodyInput {
  const Graph& graph;
  const Layout& layout;
  const BatchDivision& batch;
  const FlatBucket* buckets = nullptr;
  int bucket_count = 0;
  int frozen_count = 0;  ///< behind these
  const std::int16_t* bucket_of_node = nullptr;
  Storage storage{};
  bool training = true;
  std::int64_t target_features = 1;
  const ParameterPlace* parameters = nullptr;
  CollectiveNumbers numbers{};
  BeforeStep before{};
  int unit_count = 0;

  [[nodiscard]] constexpr HeldBytes held() const { return {graph, batch}; }
  [[nodiscard]] constexpr int device(int chunk) const { return layout.device_of_chunk[chunk]; }
};

/// An edge between chunks with the places at its ends. On one device both ends are the same place.
struct PlacedEdge {
  CutEdge edge;
  bool remote = false;
  bool returns = false;   ///< a layer of the taking chunk makes a gradient of the value
  Place value_target;     ///< where the taking chunk sees the value (remote only)
  Place gradient_source;  ///< where the taking chunk writes the gradient
  Place gradient_target;  ///< where the giving chunk sees it
};

/// What is written of the bodies, in tables of another owner that have their initial values.
struct Bodies {
  List<Entry> entries;
  List<Transfer> transfers;
  List<PlacedEdge> edges;
  List<Collective> collectives;
  IndexRange* forward;          ///< by chunk
  IndexRange* backward;         ///< by chunk; the input part if the backward is split
  IndexRange* weight;           ///< by chunk; empty unless the backward is split
  bool* weight_reads;           ///< pools whose slots live until the weight part has run
  Place* home;                  ///< by value: where its producer puts it
  Place* taken;                 ///< by node: its input as its leaf takes it, where that is kept beside the value
  Place* given;                 ///< by node: its output as its leaf gives it, where that is kept beside the value
  Place* statistics;            ///< by node: what its forward leaves for its backward
  std::int64_t* slot_bytes;     ///< by pool
  std::int64_t* scratch_bytes;  ///< by chunk: the larger of both directions
  Place loss_gradient{};
  bool scratch_full = false;  ///< more lived at a time than a body has room for

  constexpr Place take(int chunk, PoolKind kind, std::int64_t bytes) {
    const std::int16_t pool = pool_of(chunk, kind);
    const Place place{pool, slot_bytes[pool]};
    slot_bytes[pool] += bytes;
    return place;
  }
  constexpr Entry& append(BodyOp what, int node = -1) {
    Entry& entry = entries.append();
    entry.what = what;
    entry.node = node;
    return entry;
  }
  constexpr Entry& append_sum(std::int64_t features, const Place& a, const Place& b, const Place& d) {
    Entry& entry = append(BodyOp::add);
    entry.features = features;
    entry.a = a;
    entry.b = b;
    entry.d = d;
    return entry;
  }
  /// The collective of the last entry, along its axis.
  constexpr Collective& append_collective(Entry& entry, CollectiveKind kind, Purpose purpose) {
    Collective& c = collectives.append();
    entry.collective = static_cast<std::int16_t>(collectives.count - 1);
    c.kind = kind;
    c.purpose = purpose;
    c.axis = entry.axis;
    return c;
  }
  /// A value of the ranks of axis tensor that lies one way is laid another way; `whole` is its shape on one device.
  constexpr void append_conversion(const BodyInput& in, int node, const Shape& whole, Laid from, Laid to, const Place& a, const Place& b,
                                   const Place& d, ElementType type) {
    Entry& entry = append(conversion(from, to), node);
    entry.type = type;
    entry.axis = Axis::tensor;
    entry.features = whole.elements();
    for (int k = 0; k < (from.sharded() ? from : to).dimension(); ++k) entry.runs *= whole.sizes[k];
    entry.a = a;
    entry.b = b;
    entry.d = d;
    if (entry.what == BodyOp::slice_value) return;
    const bool sums = entry.what == BodyOp::reduce_value, gathers = entry.what == BodyOp::gather_value;
    Collective& c = append_collective(entry,
                                      sums      ? CollectiveKind::all_reduce
                                      : gathers ? CollectiveKind::all_gather
                                                : CollectiveKind::reduce_scatter,
                                      Purpose::value);
    if (!gathers) c.order = order_of(c.purpose, in.batch, in.layout.mesh, in.training);
    c.source = address_of(sums ? d : gathers ? a : b);
    c.target = address_of(gathers ? b : d);
    c.payload = entry.features * in.batch.micro_rows;
    c.type = type;
    c.elements = (sums ? in.held().of(entry.features, type) : in.held().parts(entry.features, type)) / bytes_of(type);
  }
  /// Of a gradient that is whole on every rank of axis tensor, where it is made: in the last level, or in the ring of its unit.
  constexpr void append_parameter_sum(const BodyInput& in, int node, int parameter) {
    const ParameterPlace& place = in.parameters[in.graph.nodes[node].first_parameter + parameter];
    const bool ring = in.storage.gradients;
    Entry& entry = append(BodyOp::reduce_parameter, node);
    entry.when = ring ? When::always : When::last_micro_batch;
    entry.axis = Axis::tensor;
    entry.bucket = static_cast<std::int16_t>(parameter);
    Collective& c = append_collective(entry, CollectiveKind::all_reduce, Purpose::parameter_term);
    c.order = order_of(c.purpose, in.batch, in.layout.mesh, in.training);
    c.target.region = ring ? RegionKind::fresh : RegionKind::gradients;
    c.target.copy = static_cast<std::int16_t>(ring ? in.buckets[in.bucket_of_node[node]].slot : in.batch.levels() - 1);
    c.target.begin = place.begin - (ring ? in.buckets[in.bucket_of_node[node]].begin : 0);
    c.source = c.target;
    c.elements = c.payload = place.elements;
  }
  constexpr void append_copy(const Spec& value, const Place& from, const Place& to) {
    Entry& entry = append(BodyOp::copy);
    entry.type = value.type;
    entry.features = value.elements();
    entry.a = from;
    entry.d = to;
  }
  [[nodiscard]] constexpr Diagnosis fault() const {
    if (const Diagnosis found = check_room("entries", entries); !found.ok()) return found;
    if (const Diagnosis found = check_room("transfers", transfers); !found.ok()) return found;
    if (const Diagnosis found = check_room("edges", edges); !found.ok()) return found;
    if (const Diagnosis found = check_room("collectives", collectives); !found.ok()) return found;
    return check_limit("values in the scratch of one body", ScratchSpace::most, ScratchSpace::most + (scratch_full ? 1 : 0));
  }
};

/// The tables of bodies, of the sizes that one plan needs.
/// A plan of 3 layers in 2 chunks has 4 homes of values and 8 sizes of slots, one for each pool.
template <int Nodes, int Chunks, int Edges, int MostEntries, int MostCollectives = 0> struct BodyTables {
  static constexpr int most_transfers = 2 * Edges;
  Entry entries[std::size_t{MostEntries}]{};
  Transfer transfers[std::size_t{Edges > 0 ? most_transfers : 1}]{};
  PlacedEdge edges[std::size_t{Edges > 0 ? Edges : 1}]{};
  Collective collectives[std::size_t{MostCollectives > 0 ? MostCollectives : 1}]{};
  IndexRange forward[std::size_t{Chunks}]{};
  IndexRange backward[std::size_t{Chunks}]{};
  IndexRange weight[std::size_t{Chunks}]{};
  bool weight_reads[std::size_t{Chunks * pool_kinds}]{};
  Place home[std::size_t{Nodes + 1}]{};
  Place taken[std::size_t{Nodes + 1}]{};
  Place given[std::size_t{Nodes + 1}]{};
  Place statistics[std::size_t{Nodes + 1}]{};
  std::int64_t slot_bytes[std::size_t{Chunks * pool_kinds}]{};
  std::int64_t scratch_bytes[std::size_t{Chunks}]{};
  Place loss_gradient{};
  int entry_count = 0;
  int transfer_count = 0;
  int edge_count = 0;
  int collective_count = 0;
  Diagnosis fault;

  constexpr Bodies open() {
    return {{entries, MostEntries, entry_count},
            {transfers, most_transfers, transfer_count},
            {edges, Edges, edge_count},
            {collectives, MostCollectives, collective_count},
            forward,
            backward,
            weight,
            weight_reads,
            home,
            taken,
            given,
            statistics,
            slot_bytes,
            scratch_bytes,
            loss_gradient};
  }
  constexpr void close(const Bodies& written) {
    loss_gradient = written.loss_gradient;
    entry_count = written.entries.count;
    transfer_count = written.transfers.count;
    edge_count = written.edges.count;
    collective_count = written.collectives.count;
    fault = written.fault();
  }
};

/// Layers before the first one with trained parameters run no backward, so of what only they take there is no gradient.
[[nodiscard]] constexpr bool returns_gradient(const BodyInput& in, const CutEdge& edge, int untrained) {
  if (edge.value <= in.graph.first_backward || !in.graph.nodes[edge.value - 1].needs_gradient) return false;
  for (int n = in.layout.first_node[edge.to_chunk]; n < in.layout.first_node[edge.to_chunk + 1]; ++n)
    for (int k = 0; k < in.graph.nodes[n].operand_count; ++k)
      if (n >= untrained && in.graph.nodes[n].operands[k] == edge.value) return true;
  return false;
}

/// Where a chunk that begins with node `first` saw a value in its forward.
[[nodiscard]] constexpr Place seen_by_chunk(const BodyInput& in, const Bodies& bodies, int value, int first) {
  if (value > first) return bodies.home[value];
  if (value > 0) {
    for (int e = 0; e < bodies.edges.count; ++e)
      if (bodies.edges.data[e].edge.value == value && in.layout.first_node[bodies.edges.data[e].edge.to_chunk] == first)
        return bodies.edges.data[e].remote ? bodies.edges.data[e].value_target : bodies.home[value];
    return {};
  }
  for (int c = 0; c < in.layout.chunk_count; ++c)
    if (in.layout.first_node[c] == first)
      for (int e = bodies.forward[c].begin; e < bodies.forward[c].end; ++e)
        if (bodies.entries.data[e].what == BodyOp::load_input && bodies.entries.data[e].node < 0) return bodies.entries.data[e].d;
  return {};
}

/// Gives every edge its places: a remote value is received into the frame of the chunk that takes it.
constexpr void place_edges(const BodyInput& in, Bodies& bodies) {
  const int untrained = in.graph.last_untrained();
  each_cut_edge(in.graph, in.layout, [&](const CutEdge& edge) {
    PlacedEdge& placed = bodies.edges.append();
    placed.edge = edge;
    placed.remote = in.device(edge.from_chunk) != in.device(edge.to_chunk);
    const std::int64_t bytes = in.held().value(edge.value);
    if (placed.remote) placed.value_target = bodies.take(edge.to_chunk, PoolKind::frame, bytes);
    placed.returns = in.training && returns_gradient(in, edge, untrained);
    if (!placed.returns) return;
    placed.gradient_target = bodies.take(edge.from_chunk, PoolKind::gradient_in, bytes);
    placed.gradient_source = placed.remote ? bodies.take(edge.to_chunk, PoolKind::gradient_out, bytes) : placed.gradient_target;
  });
}

/// Two transfers for each remote edge: the value there, its gradient back if there is one.
constexpr void place_transfers(const BodyInput& in, Bodies& bodies) {
  for (int e = 0; e < bodies.edges.count; ++e) {
    const PlacedEdge& placed = bodies.edges.data[e];
    if (!placed.remote) continue;
    Transfer t;
    t.value = static_cast<std::int16_t>(placed.edge.value);
    t.from_chunk = static_cast<std::int16_t>(placed.edge.from_chunk);
    t.to_chunk = static_cast<std::int16_t>(placed.edge.to_chunk);
    t.from_role = static_cast<std::int16_t>(in.device(t.from_chunk));
    t.to_role = static_cast<std::int16_t>(in.device(t.to_chunk));
    t.source = bodies.home[t.value];
    t.target = placed.value_target;
    t.elements = in.held().value(t.value) / bytes_of(in.graph.spec(t.value).type);
    t.payload = in.graph.spec(t.value).elements() * in.batch.micro_rows;
    bodies.transfers.append() = t;
    if (!placed.returns) continue;
    const Transfer there = t;
    t.from_chunk = there.to_chunk;
    t.to_chunk = there.from_chunk;
    t.from_role = there.to_role;
    t.to_role = there.from_role;
    t.gradient = true;
    t.source = placed.gradient_source;
    t.target = placed.gradient_target;
    bodies.transfers.append() = t;
  }
}

}  // namespace heddle::plan_room
