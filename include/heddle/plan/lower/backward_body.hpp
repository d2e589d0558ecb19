// SPDX-License-Identifier: MIT
// Room: plan. Writes the backward body of each chunk: leaves in reverse, sums of gradients in descending order of their terms. Under an order
// that splits the backward: two bodies, gradients of inputs first, those of parameters apart; what the second reads again is held.
// Sees: graph, plan/lower/body, plan/lower/scratch, plan/lower/segment_runner.  Does not see: processes, threads, kernels.
// In: BodyInput and bodies whose forward is written.  Out: entries, scratch, reductions started as soon as a bucket is final.
#pragma once

#include <cstddef>

#include "heddle/plan/lower/body.hpp"
#include "heddle/plan/lower/scratch.hpp"
#include "heddle/plan/lower/segment_runner.hpp"
#include "heddle/plan/lower/unit_walk.hpp"

namespace heddle::plan_room {

/// Writes the backward body of each chunk, from its last layer to its first: of Linear, ReLU, Linear 3 backward entries, in reverse.
struct BackwardWriter {
  const BodyInput& in;
  Bodies& out;
  /// A place that holds gradients; several values may share one: both operands of a sum do, which are 2 uses.
  struct Buffer {
    Place place;
    int uses = 0;
  };
  static constexpr int none = -1;
  Tables<Buffer, Place, int, bool> tables{};
  List<Buffer> buffers = tables.make_list<Buffer>(3 * in.graph.node_count + 2 * in.graph.joins() + 4);
  int* gradient = tables.make<int>(in.graph.node_count + 1);       // by value: number of its buffer, none before the first term
  Place* leaves_at = tables.make<Place>(in.graph.node_count + 1);  // by value of another chunk: where its gradient is written
  ScratchSpace space{};
  bool split = in.layout.order.splits_backward;
  int untrained = in.graph.last_untrained(), chunk_in_hand = 0;
  bool* reread = tables.make<bool>(in.graph.node_count + 1);       // by value: a weight part reads its gradient again
  Place gathered{};                                                // what was gathered again, until its leaf has read it
  Place told{};                                                    // between the phases of a leaf, until the last has read it
  Place* of_output = tables.make<Place>(in.graph.node_count + 1);  // by node with parameters: the gradient of its output, for its weight part
  int* bucket_of = tables.make<int>(in.graph.node_count + 1);      // by node: 1 + the bucket that its backward completes

  SegmentRunner again;

  constexpr BackwardWriter(const BodyInput& input, const ValueFacts& facts, const Recomputed& recomputed, Bodies& bodies)
      : in(input), out(bodies), again(input, facts, recomputed, bodies, space) {
    for (int v = 0; v <= in.graph.node_count; ++v) gradient[v] = none;
    for (int b = 0; b < in.bucket_count; ++b) bucket_of[in.buckets[b].lowest_node] = b + 1;
  }

  constexpr void write(int chunk) {
    const int first = in.layout.first_node[chunk];
    out.backward[chunk].begin = out.entries.count;
    open(chunk);
    if (split) find_reread(first, in.layout.first_node[chunk + 1]);
    UnitWalks units{in, out, first, in.layout.first_node[chunk + 1], split ? BodyKind::input : BodyKind::backward, again.facts.again};
    units.open();
    const bool runs_again = again.recomputed.segment_count > 0;
    for (int n = in.layout.first_node[chunk + 1] - 1; n >= first; --n) {
      const Node& node = in.graph.nodes[n];
      const TracedLeaf& traced = in.graph.leaves[node.leaf];
      if (node.parameter_count > 0) units.enter(n);
      if (gradient[n + 1] == none || !in.graph.runs_backward(n)) continue;  // nobody needs it
      if (runs_again) again.before(n, units, [&](int value) { return seen(value, first); });
      const int own = take_gradient(n, gradient[n + 1]);
      for (int k = node.operand_count - 1; k >= 0; --k) traced.leaf.hands_on() ? give(node.operands[k], own, first) : write_leaf(n, k, own, first);
      drop_aside(gathered);
      drop_aside(told);
      drop(own);
      if (runs_again) again.after(n);
      if (!split && node.trained_count() > 0) finish_parameters(n);
    }
    close(chunk);
    units.close();
    out.backward[chunk].end = out.entries.count;
    note_scratch(chunk);
    if (split) write_weights(chunk);
  }

 private:
  constexpr int buffer(const Place& place) {
    buffers.append() = Buffer{place, 1};
    return buffers.count - 1;
  }
  constexpr Place aside(std::int64_t bytes) { return Place{Place::scratch, space.take(bytes)}; }
  constexpr Place room(bool read_again, std::int64_t bytes) {
    return read_again ? out.take(chunk_in_hand, PoolKind::gradient_reread, bytes) : aside(bytes);
  }
  constexpr int fresh(int value) { return buffer(room(reread[value], in.held().value(value))); }
  /// The gradient that a leaf with parameters reads, also where a sum or a reshape hands it on unchanged.
  constexpr void find_reread(int first, int last) {
    for (int n = first; n < last; ++n) {
      reread[n + 1] = in.graph.nodes[n].trained_count() > 0;
      for (int k = 0; k < in.graph.nodes[n].operand_count && in.graph.leaf(n).hands_on(); ++k)
        if (in.graph.nodes[n].operands[k] > first && reread[in.graph.nodes[n].operands[k]]) reread[n + 1] = true;
    }
  }
  constexpr void drop(int b) {
    if (--buffers.data[b].uses == 0 && buffers.data[b].place.pool == Place::scratch) space.release(buffers.data[b].place.offset);
  }
  constexpr void note_scratch(int chunk) {
    if (space.peak > out.scratch_bytes[chunk]) out.scratch_bytes[chunk] = space.peak;
    out.scratch_full = out.scratch_full || space.full || buffers.refused > 0;
  }
  [[nodiscard]] constexpr std::int64_t features(int value) const { return in.graph.spec(value).elements(); }

  /// Terms that arrive from later chunks come first, the latest chunk's before all.
  constexpr void open(int chunk) {
    space.clear();
    buffers.count = 0;
    chunk_in_hand = again.chunk_in_hand = chunk;
    for (int e = 0; e < out.edges.count; ++e)
      if (out.edges.data[e].edge.to_chunk == chunk) leaves_at[out.edges.data[e].edge.value] = out.edges.data[e].gradient_source;
    if (chunk + 1 == in.layout.chunk_count) gradient[in.graph.node_count] = buffer(out.loss_gradient);
    for (int e = out.edges.count - 1; e >= 0; --e) {  // edges are ordered by the chunk that takes them
      const PlacedEdge& placed = out.edges.data[e];
      if (placed.edge.from_chunk != chunk || !placed.returns) continue;
      const int arrived = buffer(placed.gradient_target);
      sum(placed.edge.value, arrived);
    }
  }
  /// Values of other chunks have no buffer of the next chunk.
  constexpr void close(int chunk) {
    for (int e = 0; e < out.edges.count; ++e)
      if (out.edges.data[e].edge.to_chunk == chunk) gradient[out.edges.data[e].edge.value] = none;
  }
  /// gradient[value] += what is in the buffer `term`, which is given up.
  constexpr void sum(int value, int term) {
    int& g = gradient[value];
    if (g == none) {
      g = term;
      return;
    }
    const int old = g;
    if (buffers.data[old].uses > 1) g = fresh(value);
    out.append_sum(features(value), buffers.data[old].place, buffers.data[term].place, buffers.data[g].place);
    if (g != old) drop(old);
    drop(term);
  }
  [[nodiscard]] constexpr bool needs_none(int value, int first) const { return needs_no_gradient(in.graph, value, first, untrained); }
  /// Passes the gradient in buffer `own` on to an operand as it is.
  constexpr void give(int value, int own, int first) {
    if (needs_none(value, first)) return;
    if (value > first) {
      ++buffers.data[own].uses;
      return sum(value, own);
    }
    if (gradient[value] == none) {
      out.append_copy(in.graph.spec(value), buffers.data[own].place, leaves_at[value]);
      gradient[value] = buffer(leaves_at[value]);
    } else {
      out.append_sum(features(value), leaves_at[value], buffers.data[own].place, leaves_at[value]);
    }
  }
  /// The gradient of one operand, and of the parameters.
  constexpr void write_leaf(int node, int operand, int own, int first) {
    const Leaf& leaf = in.graph.leaf(node);
    const int value = in.graph.nodes[node].operands[operand];
    if (leaf.operands == 2 && needs_none(value, first)) return;
    const bool in_parts = split && in.graph.nodes[node].trained_count() > 0;
    const bool alone = in_parts || in.graph.frozen(node);
    if (in_parts) {
      of_output[node] = buffers.data[own].place;
      ++buffers.data[own].uses;  // never given up: nothing may write there before the weight part
      if (needs_none(value, first)) return;
    }
    Entry& begins = read_saved(alone ? BodyOp::leaf_backward_input : BodyOp::leaf_backward, node, first);
    begins.c = buffers.data[own].place;
    begins.operand = static_cast<std::int8_t>(operand);
    if (needs_none(value, first)) return;
    Entry& entry = begins.phase > 0 ? write_phases(begins, leaf.backward_phases) : begins;
    const bool leaves = value <= first;
    if (leaves && gradient[value] == none) {
      gradient[value] = buffer(leaves_at[value]);
      return give_term(entry, node, value, leaves_at[value]);
    }
    const bool kept = !reread[value] || buffers.data[own].place.pool != Place::scratch;
    const bool as_it_lies = in.graph.signature(node).operand_gradient(operand).code == in.graph.gradient_between(value).code;
    const bool in_place = leaf.elementwise && buffers.data[own].uses == 1 && kept && as_it_lies;
    if (in_place) ++buffers.data[own].uses;
    const int term = in_place ? own : fresh(value);
    give_term(entry, node, value, buffers.data[term].place);
    if (!leaves) return sum(value, term);
    out.append_sum(features(value), leaves_at[value], buffers.data[term].place, leaves_at[value]);
    drop(term);
  }
  constexpr Entry& read_saved(BodyOp what, int node, int first) {
    if (gathers_again(in.graph, node, what)) gather_again(node, first);
    Entry& entry = out.append(what, node);
    if (gathers_input(in.graph, node))
      entry.a = gathered;
    else if (saves_input(in.graph, node))
      entry.a = out.taken[node].set() ? out.taken[node] : seen(in.graph.nodes[node].operands[0], first);
    if (in.graph.nodes[node].operand_count == 2 && saves_input(in.graph, node)) entry.b = seen(in.graph.nodes[node].operands[1], first);
    if (saves_output(in.graph, node)) entry.b = out.given[node].set() ? out.given[node] : out.home[node + 1];
    entry.e = out.statistics[node];
    if (in.graph.leaf(node).backward_phases.any() && in.graph.runs_phases(node)) entry.phase = 1;
    return entry;
  }
  /// The first makes gradients of parameters, the last that of the input, and is returned.
  constexpr Entry& write_phases(Entry& first, const Phases& phases) {
    told = aside(told_in_all(phases, in.batch.grains()));
    return PhaseWriter{in, out}.behind(first, phases, BodyOp::leaf_backward_input, told);
  }
  constexpr void gather_again(int node, int first) {
    const int value = in.graph.nodes[node].operands[0];
    const Place parts = seen(value, first);
    gathered = aside(in.held().taken(node));
    lay(node, in.held().whole_input(node), in.graph.laid_between(value), in.graph.signature(node).input, parts, gathered);
  }
  constexpr void drop_aside(Place& place) {
    if (place.set()) space.release(place.offset);
    place = Place{};
  }
  constexpr void write_weights(int chunk) {
    const int first = in.layout.first_node[chunk];
    out.weight[chunk].begin = out.entries.count;
    space.clear();
    UnitWalk units{in, out, first, in.layout.first_node[chunk + 1], BodyKind::weight};
    units.open();
    for (int n = in.layout.first_node[chunk + 1] - 1; n >= first; --n) {
      if (in.graph.nodes[n].trained_count() == 0) continue;
      units.enter(n);
      Entry& entry = read_saved(BodyOp::leaf_backward_weight, n, first);
      entry.c = of_output[n];
      Place kept = gathered.set() ? seen(in.graph.nodes[n].operands[0], first) : entry.a;
      for (const Place* place : {&kept, &entry.b, &entry.c, &entry.e})
        if (place->pool >= 0) out.weight_reads[place->pool] = true;
      drop_aside(gathered);
      finish_parameters(n);
    }
    units.close();
    note_scratch(chunk);
    out.weight[chunk].end = out.entries.count;
  }
  /// The gradient of the output as the leaf takes it: as the value lies, or made of it. Gives up `own`.
  constexpr int take_gradient(int node, int own) {
    const Laid from = in.graph.gradient_between(node + 1);
    const Laid to = in.graph.signature(node).output_gradient;
    if (from.code == to.code) return own;
    const Shape whole = in.held().whole_output(node);
    if (sums_in_place(from, to)) {  // no other value has this buffer: a sum or a reshape hands on no terms
      out.append_conversion(in, node, whole, from, to, {}, {}, buffers.data[own].place, in.graph.values);
      return own;
    }
    const int taken = buffer(room(reread[node + 1], in.held().given(node)));
    lay(node, whole, from, to, buffers.data[own].place, buffers.data[taken].place);
    drop(own);
    return taken;
  }
  /// The gradient of the input goes to `term` as that of the value lies: whole, in parts, or as terms that are summed where the value was made.
  constexpr void give_term(Entry& entry, int node, int value, const Place& term) {
    const Laid from = in.graph.signature(node).operand_gradient(entry.operand), to = in.graph.gradient_between(value);
    entry.d = term;
    if (from.code == to.code) return;
    const Shape whole = in.held().whole_input(node);
    if (sums_in_place(from, to)) return out.append_conversion(in, node, whole, from, to, {}, {}, term, in.graph.values);
    entry.d = aside(in.held().taken(node));
    drop_aside(gathered);
    lay(node, whole, from, to, entry.d, term);
    space.release(entry.d.offset);
  }
  constexpr void lay(int node, const Shape& whole, Laid from, Laid to, const Place& a, const Place& d) {
    const Place parts = travels(from, to) ? aside(in.held().parts(whole.elements(), in.graph.values)) : Place{};
    out.append_conversion(in, node, whole, from, to, a, parts, d, in.graph.values);
    if (parts.set()) space.release(parts.offset);
  }
  /// Gradients of parameters that are whole on every rank of axis tensor, and of which each rank has a term.
  constexpr void finish_parameters(int node) {
    for (int p = 0; p < in.graph.nodes[node].trained_count(); ++p) {
      if (!in.graph.signature(node).parameter_gradients[p].partial()) continue;
      out.append_parameter_sum(in, node, p);
    }
    start_reductions(node);
  }
  [[nodiscard]] constexpr Place seen(int value, int first) const { return seen_by_chunk(in, out, value, first); }
  /// A gradient bucket is final when the backward of its lowest layer has run for the last micro-batch; one that is made in a ring, in every one.
  constexpr void start_reductions(int node) {
    for (const Axis a : batch_axes) {
      if (bucket_of[node] == 0 || !in.layout.batch_split[static_cast<int>(a)] || in.layout.mesh.size(a) == 1) continue;
      if (in.storage.gradients) out.append(BodyOp::zero_gaps, node).bucket = static_cast<std::int16_t>(bucket_of[node] - 1);
      Entry& start = out.append(BodyOp::reduce_start, node);
      start.when = in.storage.gradients ? When::always : When::last_micro_batch;
      start.bucket = static_cast<std::int16_t>(bucket_of[node] - 1);
      start.axis = a;
      start.collective = in.numbers.reduction(start.bucket, a);
      break;
    }
  }
};

constexpr void write_backwards(const BodyInput& in, const ValueFacts& facts, const Recomputed& recomputed, Bodies& out) {
  BackwardWriter backward{in, facts, recomputed, out};
  for (int c = in.layout.chunk_count - 1; c >= 0; --c) backward.write(c);
}

}  // namespace heddle::plan_room
