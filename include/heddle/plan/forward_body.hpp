// SPDX-License-Identifier: MIT
// Room: plan. Writes the forward body of each chunk: load, leaves, sums of what they give as Partial, loss.
// Sees: graph, plan/body, plan/scratch.  Does not see: processes, threads, kernels.
// In: BodyInput and value facts.  Out: entries, frames, the home of every value.
#pragma once

#include "heddle/plan/body.hpp"
#include "heddle/plan/scratch.hpp"
#include "heddle/plan/unit_walk.hpp"

namespace heddle::inline plan_room {

template <int Nodes, int Chunks, class B> struct ForwardWriter {
  const BodyInput& in;
  const ValueFacts<Nodes>& facts;
  B& out;
  int edge_count = 0;
  Place here[Nodes + 1]{};  // by value: where the current chunk sees it
  int uses[Nodes + 1]{};    // by root: reads still to come in this body
  ScratchSpace scratch{};

  constexpr void write(int chunk) {
    const int first = in.layout.first_node[chunk];
    const int last = in.layout.first_node[chunk + 1];
    out.forward[chunk].begin = out.entry_count;
    scratch = ScratchSpace{};
    bring_in(chunk, first, last);
    count_uses(chunk, first, last);
    UnitWalk<B> units{in, out, first, last, BodyKind::forward};
    units.open();
    for (int n = first; n < last; ++n) {
      units.enter(n);
      place_output(chunk, n);
      write_leaf(n);
      for (int k = 0; k < in.graph.nodes[n].operand_count; ++k) end_use(in.graph.nodes[n].operands[k], first);
    }
    if (chunk + 1 == Chunks) write_loss(chunk);
    out.forward[chunk].end = out.entry_count;
    out.scratch_bytes[chunk] = scratch.peak;
  }

 private:
  /// Values of other chunks: received into this frame, or seen in the frame of a chunk on the same device; the input is loaded.
  constexpr void bring_in(int chunk, int first, int last) {
    for (int e = 0; e < edge_count; ++e)
      if (out.edges[e].edge.to_chunk == chunk)
        here[out.edges[e].edge.value] = out.edges[e].remote ? out.edges[e].value_target : out.home[out.edges[e].edge.value];
    bool takes_input = false;
    for (int n = first; n < last; ++n)
      for (int k = 0; k < in.graph.nodes[n].operand_count; ++k) takes_input = takes_input || in.graph.nodes[n].operands[k] == 0;
    if (!takes_input) return;
    here[0] = out.take(chunk, PoolKind::frame, in.value_bytes(0));
    Entry& load = out.append(Do::load_input);
    load.features = in.graph.input.elements();
    load.d = here[0];
  }
  constexpr void count_uses(int chunk, int first, int last) {
    for (int n = first; n < last; ++n)
      for (int k = 0; k < in.graph.nodes[n].operand_count; ++k)
        if (in.graph.nodes[n].operands[k] > first) ++uses[facts.root[in.graph.nodes[n].operands[k]]];
    if (chunk + 1 == Chunks) ++uses[facts.root[in.graph.node_count]];
  }
  constexpr void place_output(int chunk, int node) {
    const int value = node + 1;
    const int root = facts.root[value];
    if (root != value)
      here[value] = here[root];
    else if (facts.framed[root])
      here[value] = out.take(chunk, PoolKind::frame, in.value_bytes(value));
    else
      here[value] = Place{Place::scratch, scratch.take(in.value_bytes(value))};
    out.home[value] = here[value];
  }
  constexpr void end_use(int value, int first) {
    if (value <= first) return;
    const int root = facts.root[value];
    if (--uses[root] == 0 && here[root].pool == Place::scratch) scratch.release(here[root].offset);
  }
  constexpr void write_leaf(int node) {
    const Node& n = in.graph.nodes[node];
    const Place from = take_input(node);
    const Place to = place_given(node);
    const std::int64_t features = in.graph.leaf(node).out.elements();
    if (in.graph.adds(node)) {
      out.append_sum(features, here[n.operands[1]], from, to).node = node;
    } else if (in.graph.leaf(node).reshapes) {
      if (!(from == to)) out.append_copy(features, from, to);
    } else {
      Entry& entry = out.append(Do::leaf_forward, node);
      entry.features = features;
      entry.a = from;
      entry.d = to;
    }
    if (in.graph.converts_input(node)) release(from);
    if (in.graph.converts_output(node)) lay_output(node, to);
  }
  constexpr Place scratch_place(std::int64_t bytes) { return Place{Place::scratch, scratch.take(bytes)}; }
  constexpr void release(const Place& place) {
    if (place.pool == Place::scratch) scratch.release(place.offset);
  }
  /// The input as the leaf takes it: as it lies, or made of it; kept if the backward reads it.
  constexpr Place take_input(int node) {
    const int value = in.graph.nodes[node].operands[0];
    if (!in.graph.converts_input(node)) return here[value];
    const Laid to = in.graph.signature(node).input;
    const Shape whole = in.whole_input(node);
    const bool kept = in.training && saves_input(in.graph.leaf(node));
    const std::int64_t bytes = in.bytes(in.graph.leaf(node).in.elements());
    const Place taken = kept ? out.take(in.layout.chunk_of(node), PoolKind::frame, bytes) : scratch_place(bytes);
    if (kept) out.taken[node] = taken;
    lay(node, whole, in.graph.rest(value), to, here[value], taken);
    return taken;
  }
  /// Where the leaf writes: where the value lies, or aside if it must be laid another way.
  constexpr Place place_given(int node) {
    if (keeps_output(in.graph, node)) return here[node + 1];
    const std::int64_t bytes = in.bytes(in.graph.leaf(node).out.elements());
    if (!in.training || !saves_output(in.graph.leaf(node))) return scratch_place(bytes);
    return out.given[node] = out.take(in.layout.chunk_of(node), PoolKind::frame, bytes);
  }
  constexpr void lay_output(int node, const Place& from) {
    const Laid how = in.graph.signature(node).output;
    const Shape whole = in.whole_output(node);
    if (keeps_output(in.graph, node)) return out.append_conversion(node, whole, how, in.graph.rest(node + 1), {}, {}, from);
    lay(node, whole, how, in.graph.rest(node + 1), from, here[node + 1]);
    release(from);
  }
  constexpr void lay(int node, const Shape& whole, Laid from, Laid to, const Place& a, const Place& d) {
    const Place parts = travels(from, to) ? scratch_place(in.parts_bytes(whole.elements())) : Place{};
    out.append_conversion(node, whole, from, to, a, parts, d);
    release(parts);
  }
  /// In training the gradient of the loss is made in the same pass; in evaluation outputs are stored, the loss only if asked for.
  constexpr void write_loss(int chunk) {
    const Place output = here[in.graph.node_count];
    const When when = in.training ? When::always : When::reporting;
    if (!in.training) {
      Entry& store = out.append(Do::store_output);
      store.features = in.graph.output().elements();
      store.a = output;
    }
    const Place targets = out.take(chunk, PoolKind::frame, in.bytes(in.target_features));
    Entry& load = out.append(Do::load_targets);
    load.when = when;
    load.features = in.target_features;
    load.d = targets;
    Entry& loss = out.append(Do::loss, in.graph.node_count);
    loss.when = when;
    loss.features = in.graph.output().elements();
    loss.a = output;
    loss.b = targets;
    if (in.training) loss.d = out.loss_gradient = out.take(chunk, PoolKind::frame, in.value_bytes(in.graph.node_count));
    if (!in.graph.rest(in.graph.node_count).replicated()) write_terms(loss);
  }
  /// The output lies in parts: before the loss each rank tells the others the terms of its own.
  constexpr void write_terms(Entry& terms) {
    const Entry loss = terms;
    const Shape all{in.graph.split.ranks * in.layout.loss.terms};
    terms.what = Do::loss_terms;
    terms.c = scratch_place(in.bytes(in.layout.loss.terms));
    const Place together = scratch_place(in.bytes(all.elements()));
    lay(loss.node, all, laid::shard(0), laid::replicate, terms.c, together);
    out.entries[out.entry_count - 1].when = loss.when;
    release(terms.c);
    Entry& last = out.append(Do::loss, loss.node);
    last = loss;
    last.c = together;
    release(together);
  }
};

}  // namespace heddle::inline plan_room
