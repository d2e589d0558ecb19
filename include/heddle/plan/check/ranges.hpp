// SPDX-License-Identifier: MIT
// Room: plan. Numbers of a Program that was changed by hand: what each line, entry and transfer names is there, so that the other rules may read it.
// Sees: plan/program.  Does not see: lowering, policies, processes, threads.
// In: a Program.  Out: ok, or S20 with the line or entry, the number and how many there are.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/plan/check/restated.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// S20. One pass over all lists, bodies and transfers, before any other rule: those take numbers for places in tables. Programs of the lowering are
/// constants, which name nothing outside of their tables, so a build needs no such pass.
///
/// A line of chunk 2 in a Program of 2 chunks is refused: chunks are 0 and 1.
/// Tested  plan/check/ranges_test
struct RangeCheck {
  const Program& p;
  Diagnosis fault{};

  constexpr void run() {
    tables();
    for (int r = 0; r < p.roles && fault.ok(); ++r)
      for (int i = p.lists[r].begin; i < p.lists[r].end && fault.ok(); ++i) line(p.instructions[i], r, i - p.lists[r].begin);
    const IndexRange* const bodies[] = {p.forward_bodies, p.backward_bodies, p.weight_bodies};
    for (int kind = 0; kind < 3; ++kind)
      for (int c = 0; c < p.chunks && fault.ok(); ++c)
        for (int e = bodies[kind][c].begin; e < bodies[kind][c].end && fault.ok(); ++e) entry(p.entries[e], kind, c, e - bodies[kind][c].begin);
    for (int t = 0; t < p.transfer_count && fault.ok(); ++t) transfer(p.transfers[t], t);
  }

 private:
  static constexpr std::string_view kinds[] = {" of the forward of chunk ", " of the backward of chunk ", " of the weight part of chunk "};
  /// Who names a number: {"line ", 3, " of device ", 0}.
  struct Where {
    std::string_view what;
    int number = 0;
    std::string_view of;
    int whose = 0;  // -1: no number behind `of`
  };

  /// `number` is one of first .. count - 1.
  constexpr bool is_in(const Where& where, std::string_view field, std::int64_t number, std::int64_t count, std::int64_t first = 0) {
    if (number >= first && number < count) return true;
    fault = Diagnosis{Code{'S', 20}, where.what} << where.number;
    fault << where.of;
    if (!where.of.empty() && where.whose >= 0) fault << where.whose;
    fault << " names " << field << ' ' << number << ", but ";
    if (count <= first)
      fault << "there is none";
    else
      fault << "what is there is " << first << " to " << count - 1;
    fault << ". Fix: name one of them.";
    return false;
  }

  constexpr void tables() {
    int end = 0;
    for (int r = 0; r < p.roles; ++r) {
      const Where where{"the list of device ", r, "", 0};
      if (!is_in(where, "as its begin line", p.lists[r].begin, p.lists[r].begin + 1, end)) return;
      if (!is_in(where, "as its end line", p.lists[r].end, p.lists[p.roles - 1].end + 1, p.lists[r].begin)) return;
      end = p.lists[r].end;
    }
    const IndexRange* const bodies[] = {p.forward_bodies, p.backward_bodies, p.weight_bodies};
    for (int kind = 0; kind < 3; ++kind)
      for (int c = 0; c < p.chunks; ++c) {
        const Where where{"a body", 0, kinds[kind], c};
        if (!is_in(where, "as its begin entry", bodies[kind][c].begin, bodies[kind][c].end + 1)) return;
      }
    for (int c = 0; c < p.chunks; ++c) {
      const Where where{"chunk ", c, "", 0};
      if (!is_in(where, "device", p.device_of_chunk[c], p.roles)) return;
      if (!is_in(where, "as its end layer", p.first_node[c + 1], p.graph->node_count + 1, p.first_node[c])) return;
    }
    pieces();
    for (int u = 0; u < p.use_count && fault.ok(); ++u) {
      const Where where{"use ", u, " of tied parameters", -1};
      const TiedUse& use = p.uses[u];
      if (!is_in(where, "device", use.role, p.roles) || !is_in(where, "bucket", use.bucket, p.bucket_count) ||
          !is_in(where, "layer", use.node, p.graph->node_count) || !is_in(where, "layer", use.owner, p.graph->node_count))
        return;
    }
  }
  constexpr void pieces() {
    for (int k = 0; k < p.graph->parameter_count && p.groups.any(); ++k)
      if (!is_in({"parameter ", k, "", 0}, "group", p.groups.of_parameter[k], p.groups.count)) return;
    for (int i = 0; i < p.piece_count; ++i) {
      const Where where{"piece ", i, " of a step", -1};
      const StepPiece& piece = p.pieces[i];
      if (!is_in(where, "bucket", piece.bucket, p.bucket_count) || !is_in(where, "group", piece.group, p.groups.count)) return;
      if (!is_in(where, "as its begin element", piece.begin, p.buckets[piece.bucket].elements)) return;
      if (!is_in(where, "elements", piece.elements, p.buckets[piece.bucket].elements - piece.begin + 1)) return;
    }
  }
  constexpr void line(const Instruction& line, int role, int number) {
    const Where where{"line ", number, " of device ", role};
    const ListOp op = line.op;
    if (!is_in(where, "operation", static_cast<int>(op), static_cast<int>(ListOp::guard) + 1) ||
        !is_in(where, "condition", static_cast<int>(line.when), static_cast<int>(When::first_micro_batch) + 1) ||
        !is_in(where, "axis", static_cast<int>(line.axis), axis_count))
      return;
    const bool moves = op >= ListOp::send_start && op <= ListOp::receive_wait;
    if ((computes(op) || moves) && !is_in(where, "micro-batch", line.micro_batch, p.batch.total_micro_batches())) return;
    if (computes(op)) return void(is_in(where, "chunk", line.chunk, p.chunks));
    if (moves && (!is_in(where, "transfer", line.transfer, p.transfer_count) || !is_in(where, "device", line.peer, p.roles) ||
                  !is_in(where, "token", line.token, p.lists[role].count())))
      return;
    const bool reduces = op == ListOp::reduce_start || op == ListOp::reduce_wait;
    const bool of_bucket = op == ListOp::step || op == ListOp::gather_start || op == ListOp::gather_wait || op == ListOp::tie;
    const bool starts_or_waits = reduces || op == ListOp::gather_start || op == ListOp::gather_wait;
    if (starts_or_waits && !is_in(where, "collective", line.collective, p.collective_count)) return;
    const bool of_gradients = reduces && !p.moves(line, Purpose::loss) && !p.moves(line, Purpose::norm);
    is_in(where, "bucket", line.bucket, p.bucket_count, of_bucket || of_gradients ? 0 : -1);
  }
  constexpr void entry(const Entry& entry, int kind, int chunk, int number) {
    const Where where{"entry ", number, kinds[kind], chunk};
    const BodyOp what = entry.what;
    const int nodes = p.graph->node_count;
    if (!is_in(where, "operation", static_cast<int>(what), static_cast<int>(BodyOp::reduce_phase) + 1) ||
        !is_in(where, "condition", static_cast<int>(entry.when), static_cast<int>(When::later_micro_batches) + 1) ||
        !is_in(where, "axis", static_cast<int>(entry.axis), axis_count))
      return;
    const bool runs = what == BodyOp::leaf_forward || (what >= BodyOp::leaf_backward && what <= BodyOp::leaf_backward_weight);
    const bool between_phases = what == BodyOp::sum_grains || what == BodyOp::reduce_phase;
    const bool of_leaf = runs || between_phases || what == BodyOp::reduce_parameter;
    const bool converts_value = what >= BodyOp::reduce_value && what <= BodyOp::slice_value;
    if (!is_in(where, "layer", entry.node, of_leaf ? nodes : nodes + 1, of_leaf || converts_value ? 0 : -1)) return;
    const bool loads = what == BodyOp::load_input;
    if (!is_in(where, loads ? "input" : "operand", entry.operand,
               loads                           ? p.graph->input_count
               : what == BodyOp::leaf_backward ? p.graph->nodes[entry.node].operand_count
                                               : 1))
      return;
    if (of_leaf) {
      const Leaf& leaf = p.graph->leaf(entry.node);
      const Phases& phases = what == BodyOp::leaf_forward ? leaf.forward_phases : leaf.backward_phases;
      const int most = between_phases ? Phases::most - 1 : runs && phases.any() ? phases.count() : 0;
      if (!is_in(where, "phase", entry.phase, most + 1, between_phases ? 1 : 0)) return;
    }
    if (what == BodyOp::reduce_parameter && !is_in(where, "parameter", entry.bucket, gradients_of(p.graph->nodes[entry.node]))) return;
    const bool of_bucket = (what >= BodyOp::reduce_start && what <= BodyOp::gather_wait) || what == BodyOp::zero_gaps || what == BodyOp::add_slice;
    const bool gathers = what == BodyOp::gather_start || what == BodyOp::gather_wait;
    if (of_bucket && !is_in(where, "bucket", entry.bucket, p.bucket_count + (gathers ? p.frozen_count : 0))) return;
    const bool of_collective = what == BodyOp::add_slice || what == BodyOp::reduce_parameter || what == BodyOp::reduce_phase ||
                               (what >= BodyOp::reduce_start && what <= BodyOp::scatter_value);
    if (of_collective && !is_in(where, "collective", entry.collective, p.collective_count)) return;
    const std::int64_t bytes = p.arenas[p.device_of_chunk[chunk]].total;
    if (!is_in(where, "element type", static_cast<int>(entry.type), element_types)) return;
    const std::int64_t most = bytes / bytes_of(entry.type);
    if (!is_in(where, "elements of a row", entry.features, most + 1) || !is_in(where, "runs", entry.runs, most + 1, 1)) return;
    for (const Place* place : {&entry.a, &entry.b, &entry.c, &entry.d, &entry.e})
      if (!is_there(where, *place, bytes)) return;
  }
  constexpr bool is_there(const Where& where, const Place& place, std::int64_t bytes) {
    return is_in(where, "pool", place.pool, std::int64_t{p.chunks} * pool_kinds, Place::nowhere) &&
           (!place.set() || is_in(where, "byte", place.offset, bytes + 1)) &&
           (place.pool < 0 || p.pools[place.pool].slots > 0 || is_in(where, "pool", place.pool, 0));
  }
  constexpr void transfer(const Transfer& t, int number) {
    const Where where{"transfer ", number, "", 0};
    if (!is_in(where, "chunk", t.from_chunk, p.chunks) || !is_in(where, "chunk", t.to_chunk, p.chunks) ||
        !is_in(where, "device", t.from_role, p.roles) || !is_in(where, "device", t.to_role, p.roles) ||
        !is_in(where, "use", t.use, p.use_count, -1) || !is_in(where, "elements", t.elements, p.arenas[t.to_role].total + 1))
      return;
    if (t.use < 0 && is_there(where, t.source, p.arenas[t.from_role].total)) is_there(where, t.target, p.arenas[t.to_role].total);
  }
};

}  // namespace heddle::plan_room
