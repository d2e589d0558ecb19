// SPDX-License-Identifier: MIT
// Room: plan. What a stage of a pipeline needs, by where it begins and ends: read off the graph, before anything is lowered.
// Sees: graph, policy/cut, plan/lower/values, plan/lower/units, plan/lower/memory.  Does not see: instructions, processes, threads.
// In: Graph, BatchDivision, Storage, slots of a pipeline.  Out: StageMemory, bytes of the nodes between two cuts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "heddle/plan/lower/held.hpp"
#include "heddle/plan/lower/memory.hpp"
#include "heddle/plan/lower/stage_arrays.hpp"
#include "heddle/plan/lower/tables.hpp"
#include "heddle/plan/lower/units.hpp"
#include "heddle/plan/lower/values.hpp"
#include "heddle/policy/cut.hpp"

namespace heddle::plan_room {

/// What a plan keeps, whatever the cut.
/// Of 2 grains of 3 rows 5 features take 128 bytes, as in BodyInput.
struct StageRequest {
  const Graph& graph;  // as one rank sees it
  const BatchDivision& batch;
  Storage storage;
  int states = 0;
  BeforeStep before{};
  std::int64_t target_features = 1;
  bool splits_backward = false;
  std::int64_t loss_terms = 0;  ///< floats that a rank tells of one row, where the output lies in parts

  [[nodiscard]] constexpr HeldBytes held() const { return {graph, batch}; }
};

/// Places to cut are numbered from 0, before the first piece, to `pieces`, after the last; a stage begins at one and ends at a later one.
///
/// Parameters, gradients, states and what is saved or sent are those of the lowering; scratch is the most that lives at one node of a forward
/// without a backward, which that of the gradients mirrors, but for gaps between tensors; what runs again lies beside all of it.
/// Tested  plan/lower/stage_memory_test, plan/lower/fitted_cut_test
template <class Arrays> struct StageMemory : Arrays {
  using Arrays::arrives, Arrays::boundary, Arrays::flat, Arrays::flops, Arrays::framed, Arrays::frozen, Arrays::in_place, Arrays::largest_unit;
  using Arrays::largest_frozen_unit, Arrays::readers, Arrays::received, Arrays::reread, Arrays::scratch, Arrays::sent, Arrays::zeros;
  typename Arrays::Cut cut;

 private:
  int units = 0;          // if nothing is cut
  std::int64_t ties = 0;  // at most: a slice of every use of tied parameters but its own arrives
  StageRequest request;

 public:
  /// `facts`: of values, as ValueTables or as ValueFacts that show them; `recomputed` alike. Both are of a plan that nothing cuts.
  template <class Facts, class Again>
  constexpr StageMemory(const StageRequest& asked, const Facts& facts, const Again& recomputed)
      : Arrays(asked.graph.node_count), cut{asked.graph, 1}, request(asked) {
    for (int n = 0; n < request.graph.node_count; ++n)
      for (int k = 0; k < request.graph.nodes[n].operand_count; ++k) ++readers[request.graph.nodes[n].operands[k]];
    for (int k = 0; k <= cut.pieces; ++k) {
      boundary[k] = k == 0 && readers[0] == 0 ? 0 : request.held().value(cut.piece_node[k]);
      if (k < cut.pieces) flops[k + 1] = flops[k] + cut.flops[k];
    }
    units = add_units(flat, largest_unit, false, true);
    if (holds_frozen()) add_units(frozen, largest_frozen_unit, true, request.storage.parameters);
    for (int n = 0; n < request.graph.node_count; ++n)
      if (request.graph.nodes[n].tied_to >= 0 && !request.graph.frozen(n))
        ties += rounded_up(float_bytes * request.graph.parameter_elements(n) + line_bytes * request.graph.nodes[n].parameter_count, unit_bytes) /
                request.storage.state_parts();
    add_saved(facts);
    for (int p = 0; p < cut.pieces; ++p)
      for (int i = 0; i < 4; ++i) scratch[p].of[i / 2][i % 2] = most_alive(p, i / 2 == 1, i % 2 == 1);
    add_made_again(facts, recomputed);
    if (cut.pieces > 0 && !request.graph.laid_between(request.graph.node_count).replicated()) add_loss_terms();
  }
  [[nodiscard]] constexpr int pieces() const { return cut.pieces; }

  /// Bytes of the flat buffer of pieces begin to end - 1: each unit is padded, also where a cut has made two of it.
  [[nodiscard]] constexpr std::int64_t flat_bytes(int begin, int end) const { return between(flat[begin], flat[end]); }
  /// Of parameters that are not trained.
  [[nodiscard]] constexpr std::int64_t frozen_bytes(int begin, int end) const { return between(frozen[begin], frozen[end]); }
  [[nodiscard]] static constexpr std::int64_t between(const FlatUpTo& a, const FlatUpTo& b) {
    if (a.open == 0) return b.closed - a.closed + rounded_up(b.open, unit_bytes);
    if (a.closed == b.closed && b.open > 0) return rounded_up(b.open - a.open, unit_bytes);
    return rounded_up(a.unit - a.open, unit_bytes) + b.closed - a.closed - rounded_up(a.unit, unit_bytes) + rounded_up(b.open, unit_bytes);
  }
  /// The most of scratch and of a unit in pieces that are added one by one, from the last of a stage to its first.
  /// Of pieces with units of 4,096 and 8,192 bytes unit is 8,192.
  struct Largest {
    std::int64_t scratch = 0;
    std::int64_t later_scratch = 0;  // scratch of all pieces but the first
    std::int64_t unit = 0;
    std::int64_t frozen_unit = 0;
    std::int64_t zeros = 0;
    bool sent = true;  // the output of the piece that is added next takes the place of what is sent
  };
  constexpr void add(int piece, int end, Largest& most_of) const {
    most_of.sent = most_of.sent && end < cut.pieces;
    const int output = most_of.sent ? 0 : 1;
    most_of.sent = most_of.sent && in_place[piece];
    const std::int64_t first = scratch[piece].of[0][output];
    const std::int64_t later = scratch[piece].of[most_of.sent ? 0 : 1][output];
    most_of.scratch = first > most_of.later_scratch ? first : most_of.later_scratch;
    if (later > most_of.later_scratch) most_of.later_scratch = later;
    if (largest_unit[piece] > most_of.unit) most_of.unit = largest_unit[piece];
    if (zeros[piece] > most_of.zeros) most_of.zeros = zeros[piece];
    if (largest_frozen_unit[piece] > most_of.frozen_unit) most_of.frozen_unit = largest_frozen_unit[piece];
  }
  /// Of a stage whose pools have `slots` slots each, by PoolKind.
  [[nodiscard]] constexpr std::int64_t bytes(int begin, int end, const int* slots, const Largest& most_of) const {
    const Storage& kept = request.storage;
    const std::int64_t all = flat_bytes(begin, end);
    std::int64_t sum =
        all / kept.parameter_parts() + all / kept.gradient_parts() * request.batch.levels() + all / kept.state_parts() * request.states;
    const std::int64_t still = frozen_bytes(begin, end);
    sum += ties + still / kept.parameter_parts() +
           (!kept.parameters ? 0
            : kept.keeps     ? all * bytes_of(kept.gathered) / float_bytes + still
                             : 2 * (most_of.unit * bytes_of(kept.gathered) / float_bytes + most_of.frozen_unit));
    if (kept.gradients) sum += 2 * most_of.unit;
    if (kept.adds_slices) sum += 2 * most_of.unit / kept.parts;
    sum += rounded_up(float_bytes * most_of.zeros, line_bytes);
    std::int64_t frame = framed[end] - framed[begin] + received[begin];
    std::int64_t pools = 0;
    if (end == cut.pieces) {
      frame += request.held().of(request.target_features) + boundary[end];
      sum += rounded_up(float_bytes * (request.batch.rank_grains() + 1), line_bytes);
    } else {
      frame += sent[end];
      pools += slots[static_cast<int>(PoolKind::gradient_in)] * gradient_at(end);
    }
    if (begin > 0) pools += slots[static_cast<int>(PoolKind::gradient_out)] * gradient_at(begin);
    if (request.splits_backward) pools += slots[static_cast<int>(PoolKind::gradient_reread)] * (reread[end] - reread[begin] - arrives[end]);
    pools += slots[static_cast<int>(PoolKind::frame)] * frame;
    if (begin > 0 && gradient_at(begin) == 0 && pools < of_evaluation(begin, end)) pools = of_evaluation(begin, end);
    return sum + pools + most_of.scratch + rounded_up(float_bytes * request.before.floats(units), line_bytes);
  }
  /// Frames of an evaluation in a stage that others stand before and behind: one is received, one computes, two are sent. Where gradients are sent
  /// back a training has more room than these take.
  static constexpr int frames_of_evaluation = 4;
  [[nodiscard]] constexpr std::int64_t of_evaluation(int begin, int end) const {
    const int micro_batches = request.batch.total_micro_batches();
    if (end == cut.pieces) return 0;
    return (micro_batches < frames_of_evaluation ? micro_batches : frames_of_evaluation) * (boundary[begin] + boundary[end]);
  }
  /// Bytes of the gradient that is sent back there: none where all layers before are frozen.
  [[nodiscard]] constexpr std::int64_t gradient_at(int place) const {
    return cut.piece_node[place] > request.graph.first_backward ? boundary[place] : 0;
  }
  [[nodiscard]] constexpr std::int64_t bytes(int begin, int end, const int* slots) const {
    Largest most_of;
    for (int p = end - 1; p >= begin; --p) add(p, end, most_of);
    return bytes(begin, end, slots, most_of);
  }

 private:
  [[nodiscard]] constexpr bool holds_frozen() const {
    int n = 0;
    while (n < request.graph.node_count && !request.graph.frozen(n)) ++n;
    return n < request.graph.node_count;
  }
  /// Units of what is trained, or of what is not: `pads` each of them, or lets them lie side by side. Returns how many there are if nothing is cut.
  template <class Flat, class Units> constexpr int add_units(Flat& up_to, Units& largest, bool still, bool pads) {
    const Graph& graph = request.graph;
    const std::int64_t multiple = pads ? unit_bytes : 1;
    Tables<std::int64_t, int> notes;
    auto* const raw = notes.make<std::int64_t>(graph.node_count);     // by unit
    auto* const before = notes.make<std::int64_t>(graph.node_count);  // by unit: padded bytes of those before it
    int* const unit_at = notes.make<int>(cut.pieces + 1);             // by place: the last unit that has begun, -1: none
    auto* const raw_at = notes.make<std::int64_t>(cut.pieces + 1);
    int unit = -1, block = -1;
    for (int p = 0; p < cut.pieces; ++p) {
      unit_at[p] = unit;
      raw_at[p] = unit < 0 ? 0 : raw[unit];
      for (int n = cut.piece_node[p]; n < cut.piece_node[p + 1]; ++n) {
        const Node& node = graph.nodes[n];
        if ((still ? node.frozen_count : node.trained_count()) == 0) continue;
        if (unit < 0 || node.block < 0 || node.block != block) {
          ++unit;
          if (unit > 0) before[unit] = before[unit - 1] + rounded_up(raw[unit - 1], multiple);
        }
        block = node.block;
        raw[unit] += parameter_bytes(graph, n);
      }
    }
    unit_at[cut.pieces] = unit;
    raw_at[cut.pieces] = unit < 0 ? 0 : raw[unit];
    for (int k = 0; k <= cut.pieces; ++k) {
      const int u = unit_at[k];
      if (u < 0) continue;
      const bool whole = !pads || raw_at[k] == raw[u];
      up_to[k] = whole ? FlatUpTo{before[u] + rounded_up(raw_at[k], multiple), 0, 0} : FlatUpTo{before[u], raw_at[k], raw[u]};
    }
    for (int p = 0; p < cut.pieces && pads; ++p)
      for (int u = up_to[p].open > 0 ? unit_at[p] : unit_at[p] + 1; u <= unit_at[p + 1]; ++u)
        if (rounded_up(raw[u], unit_bytes) > largest[p]) largest[p] = rounded_up(raw[u], unit_bytes);
    return unit + 1;
  }
  template <class Facts> constexpr void add_saved(const Facts& facts) {
    const Graph& graph = request.graph;
    Tables<bool> notes;
    bool* const needed = notes.make<bool>(graph.node_count + 1);  // by value: read again in the backward
    for (int n = 0; n < graph.node_count; ++n) {
      for (int k = 0; k < graph.nodes[n].operand_count && saves_input(graph, n); ++k) needed[graph.nodes[n].operands[k]] = true;
      if (saves_output(graph, n)) needed[n + 1] = true;
    }
    for (int p = 0; p < cut.pieces; ++p) {
      framed[p + 1] = framed[p];
      reread[p + 1] = reread[p];
      for (int n = cut.piece_node[p]; n < cut.piece_node[p + 1]; ++n) {
        if (facts.root[n + 1] == n + 1 && facts.framed[n + 1]) framed[p + 1] += request.held().value(n + 1);
        framed[p + 1] += facts.again[n] ? request.held().kept_of_phases(n) : request.held().beside(n);
        const std::int64_t laid = request.held().laid_gradient(n);
        if (graph.nodes[n].trained_count() > 0 || (laid > 0 && graph.leaf(n).hands_on())) reread[p + 1] += request.held().value(n + 1) + laid;
        for (int k = 0; k < graph.nodes[n].parameter_count && graph.split.any(); ++k)
          if (const std::int64_t all = graph.leaf(n).parameters[k].shape.elements(); graph.signature(n).parameters[k].partial() && all > zeros[p])
            zeros[p] = all;
      }
    }
    for (int k = 1; k <= cut.pieces && request.splits_backward; ++k) {
      int node = cut.piece_node[k] - 1;
      while (node > 0 && takes_place(node)) --node;
      if (graph.nodes[node].trained_count() > 0) arrives[k] = request.held().value(node + 1);
    }
    received[0] = boundary[0];
    for (int k = 1; k < cut.pieces; ++k) {
      const int value = cut.piece_node[k];
      if (!facts.framed[facts.root[value]]) sent[k] = boundary[k];
      received[k] = boundary[k];
      bool again = false;  // by what shares the value's place, but is made behind the cut
      for (int v = value + 1; v <= graph.node_count && facts.root[v] == facts.root[value]; ++v) again = again || needed[v];
      if (again) received[k] += boundary[k];
    }
  }
  /// What a segment makes again lies in scratch beside the gradients of its pieces.
  template <class Facts, class Again> constexpr void add_made_again(const Facts& facts, const Again& recomputed) {
    for (int s = 0; s < recomputed.segment_count; ++s) {
      std::int64_t bytes = 0;
      for (int n = recomputed.segments[s].begin; n < recomputed.segments[s].end; ++n)
        if (facts.again[n])
          bytes += (facts.root[n + 1] == n + 1 ? request.held().value(n + 1) : 0) + request.held().beside(n) - request.held().kept_of_phases(n);
      for (int p = 0; p < cut.pieces; ++p)
        if (cut.piece_node[p] < recomputed.segments[s].end && cut.piece_node[p + 1] > recomputed.segments[s].begin)
          for (int i = 0; i < 4; ++i) scratch[p].of[i / 2][i % 2] += bytes;
    }
  }
  /// The terms of the own part of the output, those of all parts, and what travels, beside the output.
  constexpr void add_loss_terms() {
    const HeldBytes held = request.held();
    const std::int64_t all = request.graph.split.ranks * request.loss_terms;
    const std::int64_t beside = held.of(request.loss_terms) + held.of(all) + held.parts(all, ElementType::float32);
    for (int i = 0; i < 4; ++i) {
      std::int64_t& greatest = scratch[cut.pieces - 1].of[i / 2][i % 2];
      const std::int64_t now = (i % 2 == 1 ? held.value(request.graph.node_count) : 0) + beside;
      if (now > greatest) greatest = now;
    }
  }
  /// The most that lives at one node of a piece; a value that takes the place of another is counted once.
  [[nodiscard]] constexpr std::int64_t most_alive(int piece, bool input, bool output) {
    const Graph& graph = request.graph;
    const int first = cut.piece_node[piece], last = cut.piece_node[piece + 1];
    std::int64_t now = input ? boundary[piece] : 0;
    std::int64_t peak = now;
    int same = last;  // the first value that has the place of the output
    while (same > first && takes_place(same - 1)) --same;
    in_place[piece] = same == first;
    for (int n = first; n < last; ++n) {
      const Node& node = graph.nodes[n];
      std::int64_t freed = 0, taken = 0;
      for (int k = 0; k < node.operand_count; ++k) {
        const int v = node.operands[k];
        const bool counted = v > first ? v < same || output : input;
        if (cut.last_reader[v] == n && (k == 0 || v != node.operands[0]) && counted) freed += request.held().value(v);
        if (counted && (k == 0 || v != node.operands[0])) taken += request.held().value(v);
      }
      if (takes_place(n)) now -= freed;
      const std::int64_t given = n + 1 < same || output ? request.held().value(n + 1) : 0;
      if (takes_place(n)) taken = 0;
      const std::int64_t others = now - taken;
      now += given;
      const std::int64_t here = others + request.held().most_of_node(n, taken, given);
      if (here > peak) peak = here;
      if (!takes_place(n)) now -= freed;
    }
    return peak;
  }
  [[nodiscard]] constexpr bool takes_place(int node) const {
    return may_take_place(request.graph, node) && readers[request.graph.nodes[node].operands[0]] == 1;
  }
};

}  // namespace heddle::plan_room
