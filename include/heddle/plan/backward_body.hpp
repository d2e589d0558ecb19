// SPDX-License-Identifier: MIT
// Room: plan. Writes the backward body of each chunk: leaves in reverse, sums of gradients in descending order of their terms. Under an order
// that splits the backward: two bodies, gradients of inputs first, those of parameters apart; what the second reads again is held.
// Sees: graph, plan/body, plan/scratch, plan/segment_runner.  Does not see: processes, threads, kernels.
// In: BodyInput and bodies whose forward is written.  Out: entries, scratch, reductions started as soon as a bucket is final.
#pragma once

#include <cstddef>

#include "heddle/plan/body.hpp"
#include "heddle/plan/scratch.hpp"
#include "heddle/plan/segment_runner.hpp"
#include "heddle/plan/unit_walk.hpp"

namespace heddle::inline plan_room {

template <int Nodes, int Chunks, class B> struct BackwardWriter {
  const BodyInput& in;
  B& out;
  int edge_count = 0;

  /// A place that holds gradients; several values may share one (both operands of a sum do).
  struct Buffer {
    Place place;
    int uses = 0;
  };
  static constexpr int none = -1;
  Buffer buffers[std::size_t{3 * Nodes + 4}]{};
  int buffer_count = 0;
  int gradient[std::size_t{Nodes + 1}]{};     // by value: number of its buffer, none before the first term
  Place leaves_at[std::size_t{Nodes + 1}]{};  // by value of another chunk: where its gradient is written
  ScratchSpace space{};
  bool split = in.layout.order.splits_backward;
  int untrained = in.graph.last_untrained();
  int chunk_in_hand = 0;
  bool held[std::size_t{Nodes + 1}]{};        // by value: a weight part reads its gradient again
  Place gathered{};                           // what was gathered again, until its leaf has read it
  Place of_output[std::size_t{Nodes + 1}]{};  // by node with parameters: the gradient of its output, for its weight part
  int bucket_of[std::size_t{Nodes + 1}]{};    // by node: 1 + the bucket that its backward completes

  SegmentRunner<Nodes, B> again;

  constexpr BackwardWriter(const BodyInput& input, const ValueFacts<Nodes>& facts, const Recomputed<Nodes>& recomputed, B& bodies, int edges)
      : in(input), out(bodies), edge_count(edges), again(input, facts, recomputed, bodies, space) {
    for (int& g : gradient) g = none;
    for (int b = 0; b < in.bucket_count; ++b) bucket_of[in.buckets[b].lowest_node] = b + 1;
  }

  constexpr void write(int chunk) {
    const int first = in.layout.first_node[chunk];
    out.backward[chunk].begin = out.entry_count;
    open(chunk);
    if (split) find_held(first, in.layout.first_node[chunk + 1]);
    UnitWalk<B> units{in, out, first, in.layout.first_node[chunk + 1], split ? BodyKind::input : BodyKind::backward, again.facts.again};
    units.open();
    for (int n = in.layout.first_node[chunk + 1] - 1; n >= first; --n) {
      units.enter(n);
      if (gradient[n + 1] == none) continue;  // nobody needs it
      again.before(n, units, [&](int value) { return seen(value, first); });
      const int own = take_gradient(n, gradient[n + 1]);
      if (in.graph.adds(n) || in.graph.leaf(n).reshapes)
        for (int k = in.graph.nodes[n].operand_count - 1; k >= 0; --k) give(in.graph.nodes[n].operands[k], own, first);
      else
        write_leaf(n, own, first);
      drop_gathered();
      drop(own);
      again.after(n);
      if (split) continue;
      reduce_parameters(n);
      start_reductions(n);
    }
    close(chunk);
    units.close();
    out.backward[chunk].end = out.entry_count;
    if (space.peak > out.scratch_bytes[chunk]) out.scratch_bytes[chunk] = space.peak;
    if (split) write_weights(chunk);
  }

 private:
  constexpr int buffer(const Place& place) {
    buffers[buffer_count] = Buffer{place, 1};
    return buffer_count++;
  }
  constexpr Place aside(std::int64_t bytes) { return Place{Place::scratch, space.take(bytes)}; }
  constexpr int fresh(int value) {
    const std::int64_t bytes = in.value_bytes(value);
    return buffer(held[value] ? out.take(chunk_in_hand, PoolKind::held, bytes) : aside(bytes));
  }
  /// The gradient that a leaf with parameters reads, also where a sum or a reshape hands it on unchanged.
  constexpr void find_held(int first, int last) {
    for (int n = first; n < last; ++n) {
      held[n + 1] = in.graph.nodes[n].parameter_count > 0;
      if (!in.graph.adds(n) && !in.graph.leaf(n).reshapes) continue;
      for (int k = 0; k < in.graph.nodes[n].operand_count; ++k)
        if (in.graph.nodes[n].operands[k] > first && held[in.graph.nodes[n].operands[k]]) held[n + 1] = true;
    }
  }
  constexpr void drop(int b) {
    if (--buffers[b].uses == 0 && buffers[b].place.pool == Place::scratch) space.release(buffers[b].place.offset);
  }
  [[nodiscard]] constexpr std::int64_t features(int value) const { return in.graph.spec(value).elements(); }

  /// Terms that arrive from later chunks come first, the latest chunk's before all.
  constexpr void open(int chunk) {
    space = ScratchSpace{};
    buffer_count = 0;
    chunk_in_hand = again.chunk_in_hand = chunk;
    for (int e = 0; e < edge_count; ++e)
      if (out.edges[e].edge.to_chunk == chunk) leaves_at[out.edges[e].edge.value] = out.edges[e].gradient_source;
    if (chunk + 1 == Chunks) gradient[in.graph.node_count] = buffer(out.loss_gradient);
    for (int e = edge_count - 1; e >= 0; --e) {  // edges are ordered by the chunk that takes them
      const PlacedEdge& placed = out.edges[e];
      if (placed.edge.from_chunk != chunk) continue;
      const int arrived = buffer(placed.gradient_target);
      sum(placed.edge.value, arrived);
    }
  }
  /// Values of other chunks have no buffer of the next chunk.
  constexpr void close(int chunk) {
    for (int e = 0; e < edge_count; ++e)
      if (out.edges[e].edge.to_chunk == chunk) gradient[out.edges[e].edge.value] = none;
  }
  /// gradient[value] += what is in the buffer `term`, which is given up.
  constexpr void sum(int value, int term) {
    int& g = gradient[value];
    if (g == none) {
      g = term;
      return;
    }
    const int old = g;
    if (buffers[old].uses > 1) g = fresh(value);
    out.append_sum(features(value), buffers[old].place, buffers[term].place, buffers[g].place);
    if (g != old) drop(old);
    drop(term);
  }
  [[nodiscard]] constexpr bool needs_none(int value, int first) const { return needs_no_gradient(value, first, untrained); }
  /// Passes the gradient in buffer `own` on to an operand as it is.
  constexpr void give(int value, int own, int first) {
    if (needs_none(value, first)) return;
    if (value > first) {
      ++buffers[own].uses;
      return sum(value, own);
    }
    if (gradient[value] == none) {
      out.append_copy(features(value), buffers[own].place, leaves_at[value]);
      gradient[value] = buffer(leaves_at[value]);
    } else {
      out.append_sum(features(value), leaves_at[value], buffers[own].place, leaves_at[value]);
    }
  }
  constexpr void write_leaf(int node, int own, int first) {
    const Leaf& leaf = in.graph.leaf(node);
    const int value = in.graph.nodes[node].operands[0];
    const bool in_parts = split && in.graph.nodes[node].parameter_count > 0;
    if (in_parts) {
      of_output[node] = buffers[own].place;
      ++buffers[own].uses;  // never given up: nothing may write there before the weight part
      if (needs_none(value, first)) return;
    }
    Entry& entry = read_saved(in_parts ? Do::leaf_backward_input : Do::leaf_backward, node, first);
    entry.c = buffers[own].place;
    if (needs_none(value, first)) return;
    const bool leaves = value <= first;
    if (leaves && gradient[value] == none) {
      gradient[value] = buffer(leaves_at[value]);
      return give_term(entry, node, value, leaves_at[value]);
    }
    const bool kept = !held[value] || buffers[own].place.pool != Place::scratch;
    const bool as_it_lies = in.graph.signature(node).input_gradient == in.graph.rest(value);
    const bool in_place = leaf.elementwise && buffers[own].uses == 1 && kept && as_it_lies;
    if (in_place) ++buffers[own].uses;
    const int term = in_place ? own : fresh(value);
    give_term(entry, node, value, buffers[term].place);
    if (!leaves) return sum(value, term);
    out.append_sum(features(value), leaves_at[value], buffers[term].place, leaves_at[value]);
    drop(term);
  }
  constexpr Entry& read_saved(Do what, int node, int first) {
    const Leaf& leaf = in.graph.leaf(node);
    if (gathers_again(in.graph, node, what)) gather_again(node, first);
    Entry& entry = out.append(what, node);
    if (gathers_input(in.graph, node))
      entry.a = gathered;
    else if (saves_input(leaf))
      entry.a = out.taken[node].set() ? out.taken[node] : seen(in.graph.nodes[node].operands[0], first);
    if (saves_output(leaf)) entry.b = out.given[node].set() ? out.given[node] : out.home[node + 1];
    return entry;
  }
  constexpr void gather_again(int node, int first) {
    const int value = in.graph.nodes[node].operands[0];
    const Place parts = seen(value, first);
    gathered = aside(in.bytes(in.graph.leaf(node).in.elements()));
    lay(node, in.whole_input(node), in.graph.rest(value), in.graph.signature(node).input, parts, gathered);
  }
  constexpr void drop_gathered() {
    if (gathered.set()) space.release(gathered.offset);
    gathered = Place{};
  }
  constexpr void write_weights(int chunk) {
    const int first = in.layout.first_node[chunk];
    out.weight[chunk].begin = out.entry_count;
    space = ScratchSpace{};
    UnitWalk<B> units{in, out, first, in.layout.first_node[chunk + 1], BodyKind::weight};
    units.open();
    for (int n = in.layout.first_node[chunk + 1] - 1; n >= first; --n) {
      if (in.graph.nodes[n].parameter_count == 0) continue;
      units.enter(n);
      Entry& entry = read_saved(Do::leaf_backward_weight, n, first);
      entry.c = of_output[n];
      Place kept = gathered.set() ? seen(in.graph.nodes[n].operands[0], first) : entry.a;
      for (const Place* place : {&kept, &entry.b, &entry.c})
        if (place->pool >= 0) out.weight_reads[place->pool] = true;
      drop_gathered();
      reduce_parameters(n);
      start_reductions(n);
    }
    units.close();
    if (space.peak > out.scratch_bytes[chunk]) out.scratch_bytes[chunk] = space.peak;
    out.weight[chunk].end = out.entry_count;
  }
  /// The gradient of the output as the leaf takes it: as the value lies, or made of it. Gives up `own`.
  constexpr int take_gradient(int node, int own) {
    const Laid from = in.graph.rest(node + 1);
    const Laid to = in.graph.signature(node).output_gradient;
    if (from == to) return own;
    const Shape whole = in.whole_output(node);
    const std::int64_t bytes = in.bytes(in.graph.leaf(node).out.elements());
    const bool read_again = split && in.graph.nodes[node].parameter_count > 0;
    const int taken = buffer(read_again ? out.take(chunk_in_hand, PoolKind::held, bytes) : aside(bytes));
    lay(node, whole, from, to, buffers[own].place, buffers[taken].place);
    drop(own);
    return taken;
  }
  /// The gradient of the input goes to `term` as the value lies; a sum over axis tensor is taken before it is added to anything.
  constexpr void give_term(Entry& entry, int node, int value, const Place& term) {
    const Laid from = in.graph.signature(node).input_gradient;
    const Laid to = in.graph.rest(value);
    const Shape whole = in.whole_input(node);
    entry.d = term;
    if (from == to) return;
    if (from.partial() && to.replicated()) return out.append_conversion(node, whole, from, to, {}, {}, term);
    entry.d = aside(in.bytes(in.graph.leaf(node).in.elements()));
    drop_gathered();
    lay(node, whole, from, to, entry.d, term);
    space.release(entry.d.offset);
  }
  constexpr void lay(int node, const Shape& whole, Laid from, Laid to, const Place& a, const Place& d) {
    const Place parts = travels(from, to) ? aside(in.parts_bytes(whole.elements())) : Place{};
    out.append_conversion(node, whole, from, to, a, parts, d);
    if (parts.set()) space.release(parts.offset);
  }
  /// Gradients of parameters that are whole on every rank of axis tensor, and of which each rank has a term.
  constexpr void reduce_parameters(int node) {
    for (int p = 0; p < in.graph.nodes[node].parameter_count; ++p) {
      if (!in.graph.signature(node).parameter_gradients[p].partial()) continue;
      Entry& entry = out.append(Do::reduce_parameter, node);
      entry.when = in.storage.gradients ? When::always : When::last_micro_batch;
      entry.axis = Axis::tensor;
      entry.bucket = static_cast<std::int16_t>(p);
    }
  }
  /// Where this chunk saw a value in its forward.
  [[nodiscard]] constexpr Place seen(int value, int first) const {
    if (value > first) return out.home[value];
    if (value == 0) return input_place(first);
    for (int e = 0; e < edge_count; ++e)
      if (out.edges[e].edge.value == value && in.layout.first_node[out.edges[e].edge.to_chunk] == first)
        return out.edges[e].remote ? out.edges[e].value_target : out.home[value];
    return {};
  }
  [[nodiscard]] constexpr Place input_place(int first) const {
    for (int c = 0; c < Chunks; ++c)
      if (in.layout.first_node[c] == first)
        for (int e = out.forward[c].begin; e < out.forward[c].end; ++e)
          if (out.entries[e].what == Do::load_input) return out.entries[e].d;
    return {};
  }
  /// A gradient bucket is final when the backward of its lowest layer has run for the last micro-batch; one that is made in a ring, in every one.
  constexpr void start_reductions(int node) {
    if (bucket_of[node] == 0) return;
    for (const Axis a : batch_axes) {
      if (!in.layout.batch_split[static_cast<int>(a)] || in.layout.mesh.size(a) == 1) continue;
      Entry& start = out.append(Do::reduce_start, node);
      start.when = in.storage.gradients ? When::always : When::last_micro_batch;
      start.bucket = static_cast<std::int16_t>(bucket_of[node] - 1);
      start.axis = a;
      break;
    }
  }
};

}  // namespace heddle::inline plan_room
