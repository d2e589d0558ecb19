// SPDX-License-Identifier: MIT
// Room: plan. Writes the forward body of each chunk: load, leaves, sums of what they give as Partial, loss.
// Sees: graph, plan/lower/body, plan/lower/leaf_writer, plan/lower/scratch.  Does not see: processes, threads, kernels.
// In: BodyInput and value facts.  Out: entries, frames, the home of every value.
#pragma once

#include <cstddef>

#include "heddle/plan/lower/body.hpp"
#include "heddle/plan/lower/leaf_writer.hpp"
#include "heddle/plan/lower/scratch.hpp"
#include "heddle/plan/lower/unit_walk.hpp"

namespace heddle::plan_room {

/// Writes the forward body of each chunk, layer by layer: of Linear, ReLU, Linear three forward entries, in this order.
struct ForwardWriter {
  const BodyInput& in;
  ValueFacts facts;
  Bodies& out;
  Tables<Place, int> tables;
  Place* here = tables.make<Place>(in.graph.node_count + 1);  // by value: where the current chunk sees it
  int* uses = tables.make<int>(in.graph.node_count + 1);      // by root: reads still to come in this body
  ScratchSpace scratch{};
  bool takes_input = false;  // a node of the chunk takes the input of the model

  constexpr ForwardWriter(const BodyInput& input, const ValueFacts& all, Bodies& bodies) : in(input), facts(all), out(bodies) {}

  constexpr void write(int chunk) {
    const int first = in.layout.first_node[chunk];
    const int last = in.layout.first_node[chunk + 1];
    out.forward[chunk].begin = out.entries.count;
    scratch.clear();
    count_uses(chunk, first, last);
    bring_in(chunk);
    const Node* const nodes = in.graph.nodes;
    UnitWalks units{in, out, first, last, BodyKind::forward};
    units.open();
    for (int n = first; n < last; ++n) {
      const Node& node = nodes[n];
      if (node.parameter_count > 0) units.enter(n);
      place_output(chunk, n);
      write_leaf(chunk, n);
      for (int k = 0; k < node.operand_count; ++k) end_use(node.operands[k], first);
    }
    if (chunk + 1 == in.layout.chunk_count) write_loss(chunk);
    out.forward[chunk].end = out.entries.count;
    out.scratch_bytes[chunk] = scratch.peak;
    out.scratch_full = out.scratch_full || scratch.full;
  }

 private:
  /// Values of other chunks: received into this frame, or seen in the frame of a chunk on the same device; the input is loaded.
  constexpr void bring_in(int chunk) {
    for (int e = 0; e < out.edges.count; ++e)
      if (const PlacedEdge& placed = out.edges.data[e]; placed.edge.to_chunk == chunk)
        here[placed.edge.value] = placed.remote ? placed.value_target : out.home[placed.edge.value];
    if (!takes_input) return;
    here[0] = out.take(chunk, PoolKind::frame, in.held().value(0));
    Entry& load = out.append(BodyOp::load_input);
    load.type = in.graph.input.type;
    load.features = in.graph.input.elements();
    load.d = here[0];
  }
  constexpr void count_uses(int chunk, int first, int last) {
    const Node* const nodes = in.graph.nodes;
    takes_input = false;
    for (int n = first; n < last; ++n) {
      const Node& node = nodes[n];
      for (int k = 0; k < node.operand_count; ++k) {
        const int value = node.operands[k];
        if (value > first) ++uses[facts.root[value]];
        if (value == 0) takes_input = true;
      }
    }
    if (chunk + 1 == in.layout.chunk_count) ++uses[facts.root[in.graph.node_count]];
  }
  constexpr void place_output(int chunk, int node) {
    const int value = node + 1;
    const int root = facts.root[value];
    if (root != value)
      here[value] = here[root];
    else if (facts.framed[root])
      here[value] = out.take(chunk, PoolKind::frame, in.held().value(value));
    else
      here[value] = Place{Place::scratch, scratch.take(in.held().value(value))};
    out.home[value] = here[value];
  }
  constexpr void end_use(int value, int first) {
    if (value <= first) return;
    const int root = facts.root[value];
    if (--uses[root] == 0 && here[root].pool == Place::scratch) scratch.release(here[root].offset);
  }
  /// What the backward of a leaf reads beside values is kept, unless the leaf runs again; what its phases have told each other is kept then too.
  constexpr void write_leaf(int chunk, int node) {
    LeafWriter writer{in, out, scratch, here};
    const bool keeps = in.training && !facts.again[node];
    if (keeps && in.held().has_taken(node)) out.taken[node] = out.take(chunk, PoolKind::frame, in.held().taken(node));
    if (keeps && in.held().has_given(node)) out.given[node] = out.take(chunk, PoolKind::frame, in.held().given(node));
    const bool leaves = in.training && in.graph.leaf(node).statistics.dimensions != 0 && in.held().statistics(node) > 0;
    if (leaves && (keeps || in.held().kept_of_phases(node) > 0)) out.statistics[node] = out.take(chunk, PoolKind::frame, in.held().statistics(node));
    writer.write(node, out.taken[node], out.given[node]);
  }
  /// In training the gradient of the loss is made in the same pass; in evaluation outputs are stored, the loss only if asked for.
  constexpr void write_loss(int chunk) {
    const Place output = here[in.graph.node_count];
    const When when = in.training ? When::always : When::reporting;
    if (!in.training) {
      Entry& store = out.append(BodyOp::store_output);
      store.features = in.graph.output().elements();
      store.a = output;
    }
    const Place targets = out.take(chunk, PoolKind::frame, in.held().of(in.target_features));
    Entry& load = out.append(BodyOp::load_targets);
    load.when = when;
    load.features = in.target_features;
    load.d = targets;
    Entry& loss = out.append(BodyOp::loss, in.graph.node_count);
    loss.when = when;
    loss.features = in.graph.output().elements();
    loss.a = output;
    loss.b = targets;
    if (in.training) loss.d = out.loss_gradient = out.take(chunk, PoolKind::frame, in.held().value(in.graph.node_count));
    if (!in.graph.laid_between(in.graph.node_count).replicated()) write_terms(loss);
  }
  /// The output lies in parts: before the loss each rank tells the others the terms of its own.
  constexpr void write_terms(Entry& terms) {
    const Entry loss = terms;
    LeafWriter writer{in, out, scratch, here};
    const Shape all{in.graph.split.ranks * in.layout.loss.terms};
    terms.what = BodyOp::loss_terms;
    terms.c = writer.aside(in.held().of(in.layout.loss.terms));
    const Place together = writer.aside(in.held().of(all.elements()));
    writer.lay(loss.node, all, laid::shard(0), laid::replicate, terms.c, together, ElementType::float32);
    out.entries.data[out.entries.count - 1].when = loss.when;
    writer.release(terms.c);
    Entry& last = out.append(BodyOp::loss, loss.node);
    last = loss;
    last.c = together;
    writer.release(together);
  }
};

/// The edges between chunks, the forward bodies of all chunks, and what is sent.
constexpr void write_forwards(const BodyInput& in, const ValueFacts& facts, Bodies& out) {
  UnitCollectives{in.layout, in.batch, in.storage, {in.buckets, in.bucket_count, in.frozen_count}, in.before, in.unit_count, in.training}.write(
      in.numbers, out.collectives);
  place_edges(in, out);
  ForwardWriter forward{in, facts, out};
  for (int c = 0; c < in.layout.chunk_count; ++c) forward.write(c);
  place_transfers(in, out);
}

}  // namespace heddle::plan_room
