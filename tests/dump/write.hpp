// SPDX-License-Identifier: MIT
// Room: tests. Writes what a Program says as plain text, one fact a line: what is executed, where it lies, what moves.
// Sees: graph, plan.  Does not see: policies, processes, kernels.
// In: a Program.  Out: lines that stay as they are as long as the Program does, whatever its members are called.
#pragma once

#include <algorithm>
#include <cstdint>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "dump/words.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/transport_needs.hpp"

namespace heddle::tests {

class ProgramWriter {
 public:
  ProgramWriter(std::ostream& out, const Program& program) : out_(out), p_(program) {}

  /// What training and evaluation share.
  void write_shared() {
    write_graph();
    write_layout();
    write_parameters();
    write_arenas();
  }
  /// What runs in one of them; groups are those of both.
  void write_mode(const TransportNeeds& needs) {
    for (int t = 0; t < p_.transfer_count; ++t) write(t, p_.transfers[t]);
    for (int c = 0; c < p_.collective_count; ++c) write(c, p_.collectives[c]);
    for (int pool = 0; pool < p_.chunks * pool_kinds; ++pool) write_pool(pool);
    write_groups(needs);
    for (int r = 0; r < p_.roles; ++r) write_list(r);
    for (int c = 0; c < p_.chunks; ++c) {
      write_body("forward", c, p_.forward_bodies[c]);
      write_body(p_.splits_backward ? "backward of the input" : "backward", c, p_.backward_bodies[c]);
      write_body("backward of the weights", c, p_.weight_bodies[c]);
    }
  }

 private:
  void write_graph() {
    const Graph& g = *p_.graph;
    out_ << "-- model " << g.model.view() << " as one rank has it\n";
    for (int n = 0; n < g.node_count; ++n) {
      const Node& node = g.nodes[n];
      const Leaf& leaf = g.leaf(n);
      out_ << g.describe(n).view() << " in chunk " << chunk_of(n) << ": reads";
      for (int k = 0; k < node.operand_count; ++k) out_ << " value " << node.operands[k];
      out_ << ", " << leaf.in.elements() << " to " << leaf.out.elements() << " elements, saves " << word_of(leaf.saves);
      if (node.tied_to >= 0) out_ << ", uses the parameters of layer " << node.tied_to;
      if (g.split.any()) write_split(n);
      out_ << '\n';
    }
  }
  void write_split(int n) {
    const Signature& s = p_.graph->signature(n);
    Text<240> text;
    text << ", split: " << s.input << " to " << s.output << ", gradients " << s.output_gradient << " to " << s.input_gradient << ", lies "
         << p_.graph->laid_between(n + 1);
    out_ << text.view();
  }
  void write_layout() {
    out_ << "-- layout\nranks " << p_.mesh.ranks() << ":";
    for (int i = 0; i < p_.mesh.count; ++i) out_ << ' ' << name_of(p_.mesh.axes[i]) << ' ' << p_.mesh.sizes[i];
    out_ << "\nbatch " << p_.batch.batch << ", " << word_of(p_.batch.remedy) << ": " << p_.batch.ranks << " parts x " << p_.batch.rounds
         << " rounds x " << p_.batch.micro_batches << " micro-batches of " << p_.batch.micro_rows << " rows in grains of " << p_.batch.grain_rows
         << (p_.batch.tree ? ", summed as a tree" : "") << '\n';
    for (int i = 0; i < p_.batch.ranks; ++i)
      out_ << "part " << i << ": rows " << p_.batch.first_row_of(i) << " to " << p_.batch.first_row_of(i + 1) << ", " << p_.batch.micro_rows_of(i)
           << " a micro-batch\n";
    for (int c = 0; c < p_.chunks; ++c)
      out_ << "chunk " << c << ": role " << p_.device_of_chunk[c] << ", layers " << p_.first_node[c] << " to " << p_.first_node[c + 1] << '\n';
    if (p_.storage.parts > 1) {
      const Storage& s = p_.storage;
      out_ << s.parts << " slices along " << name_of(s.axis) << " of states " << s.states << ", gradients " << s.gradients << ", parameters "
           << s.parameters << "; gathered once a step " << s.keeps << ", slices are added " << s.adds_slices << '\n';
    }
    if (p_.clips) out_ << "gradients are clipped\n";
    if (p_.scales_loss) out_ << "the loss is scaled\n";
    if (p_.guards) out_ << "a loss that is not finite holds the step\n";
    if (p_.loss.terms > 0 && p_.graph->split.any()) out_ << "a part of the output has " << p_.loss.terms << " terms of the loss\n";
  }
  void write_parameters() {
    out_ << "-- parameters\n";
    for (int k = 0; k < p_.graph->parameter_count; ++k) {
      const ParameterPlace& place = p_.parameters[k];
      out_ << p_.graph->parameter_name(place.node, place.index).view() << ": role " << place.role << ", " << place.elements << " elements at "
           << 4 * place.begin;
      if (place.split.sharded()) out_ << ", part along dimension " << place.split.dimension();
      if (place.split.in_sections()) out_ << " in sections, the first " << place.split.first() << " of " << place.split.shares();
      if (place.owner_begin >= 0) out_ << ", values at " << 4 * place.owner_begin;
      const Leaf& leaf = p_.graph->leaf(place.node);
      if (const Parameter& parameter = leaf.parameters[place.index]; parameter.tracked())
        out_ << ", tracked of " << leaf.values_a_row(place.index) << " values a row, at least " << int{parameter.tracks} << " of a grain";
      out_ << '\n';
    }
    for (int b = 0; b < p_.bucket_count + p_.frozen_count; ++b) {
      const FlatBucket& bucket = p_.buckets[b];
      out_ << "bucket " << b << ": role " << bucket.role << ", layers " << bucket.lowest_node << " to " << bucket.highest_node << ", "
           << bucket.elements << " elements at " << 4 * bucket.begin << ", " << bucket.payload << " of parameters, place " << bucket.slot
           << " of a ring";
      if (bucket.shared) out_ << ", tied";
      if (bucket.frozen) out_ << ", frozen";
      if (bucket.owner_begin >= 0) out_ << ", values at " << 4 * bucket.owner_begin;
      out_ << '\n';
    }
    for (int u = 0; u < p_.unit_count; ++u) {
      const FlatUnit& unit = p_.units[u];
      out_ << "unit " << u << ": role " << unit.role << ", " << unit.elements << " elements at " << 4 * unit.begin
           << (unit.counts ? "" : ", not in the norm") << '\n';
    }
    for (int u = 0; u < p_.use_count; ++u) {
      const TiedUse& use = p_.uses[u];
      out_ << "use " << u << " of layer " << use.owner << ": layer " << use.node << ", role " << use.role << ", bucket " << use.bucket << '\n';
    }
  }
  void write_arenas() {
    for (int r = 0; r < p_.roles; ++r) {
      const ArenaMap& a = p_.arenas[r];
      out_ << "-- arena of role " << r << '\n';
      for (int k = 0; k < region_kinds; ++k)
        if (a.regions[k].bytes() > 0) out_ << region_words[k] << ": bytes " << a.regions[k].begin << " to " << a.regions[k].end() << '\n';
      std::int64_t largest = 0;
      for (int b = 0; b < p_.bucket_count; ++b)
        if (p_.buckets[b].role == r) largest = std::max(largest, 4 * p_.buckets[b].elements);
      out_ << "all parameters " << 4 * a.flat_elements() << ", a level of gradients " << a[RegionKind::gradients].slot_bytes << ", a state "
           << a[RegionKind::states].slot_bytes << ", the largest bucket " << largest << " bytes\n";
    }
  }
  void write(int number, const Transfer& t) {
    out_ << "transfer " << number << ": " << (t.gradient ? "gradient of value " : "value ") << t.value << " from chunk " << t.from_chunk
         << " of role " << t.from_role << " to chunk " << t.to_chunk << " of role " << t.to_role << ", " << t.payload << " of " << t.elements
         << " elements";
    if (t.use >= 0) out_ << ", of use " << t.use;
    write(" from", t.source);
    write(" to", t.target);
    out_ << '\n';
  }
  /// Values lie where their entries have them.
  void write(int number, const Collective& c) {
    if (c.purpose == Purpose::value) return;
    out_ << "collective " << number << ": " << word_of(c.kind) << " of " << word_of(c.purpose) << " along " << name_of(c.axis) << ", " << c.payload
         << " in " << c.slices << " x " << c.elements << " elements";
    if (c.kind != CollectiveKind::all_reduce) write(" from ", c.source);
    write(c.kind == CollectiveKind::all_reduce ? " at " : " to ", c.target);
    if (c.accumulates) write(", later ones to ", c.arrived);
    out_ << '\n';
  }
  void write(std::string_view before, const Address& end) {
    out_ << before << region_words[static_cast<int>(end.region)] << ' ' << end.copy << '+' << end.begin;
    if (end.stride > 0) out_ << " by " << end.stride << " along " << name_of(end.along);
  }
  void write_pool(int number) {
    const Pool& pool = p_.pools[number];
    if (pool.slots == 0) return;
    out_ << "pool " << word_of(static_cast<PoolKind>(number % pool_kinds)) << ' ' << pool.chunk << ": role " << pool.role << ", " << pool.slots
         << " slots of " << pool.slot_bytes << " bytes at " << pool.base << ", by micro-batch";
    for (int m = 0; m < p_.batch.total_micro_batches(); ++m) out_ << ' ' << p_.slot(number, m);
    out_ << '\n';
  }
  void write_groups(const TransportNeeds& needs) {
    for (const std::vector<int>& group : needs.groups) {
      out_ << "group";
      for (const int rank : group) out_ << ' ' << rank;
      out_ << '\n';
    }
  }
  void write_list(int role) {
    out_ << "-- list of role " << role << '\n';
    const IndexRange list = p_.lists[role];
    for (int i = list.begin; i < list.end; ++i) {
      const Instruction& line = p_.instructions[i];
      out_ << word_of(line.op);
      if (line.bucket >= 0) out_ << ", bucket " << line.bucket;
      if (line.op == ListOp::report || p_.moves(line, Purpose::loss)) out_ << ", loss";
      if (p_.moves(line, Purpose::norm)) out_ << ", norm";
      if (line.chunk >= 0) out_ << ", chunk " << line.chunk;
      if (line.transfer >= 0) out_ << ", transfer " << line.transfer;
      if (line.micro_batch >= 0) out_ << ", micro-batch " << line.micro_batch;
      if (line.peer >= 0) out_ << ", with role " << line.peer;
      if (line.sequence >= 0) out_ << ", number " << line.sequence << " of its channel";
      if (line.token >= 0) out_ << ", start " << start_of(list, line.token);
      write_axis(
          line.op == ListOp::reduce_start || line.op == ListOp::reduce_wait || line.op == ListOp::gather_start || line.op == ListOp::gather_wait,
          line.axis);
      if (starts(line.op)) write(p_.collectives[line.collective]);
      out_ << word_of(line.when) << '\n';
    }
  }
  void write_body(std::string_view direction, int chunk, const IndexRange& body) {
    if (body.count() == 0) return;
    out_ << "-- " << direction << " of chunk " << chunk << '\n';
    for (int e = body.begin; e < body.end; ++e) write(p_.entries[e]);
  }
  void write(const Entry& entry) {
    const EntryWords words = words_of(entry.what);
    out_ << words.does;
    if (entry.what == BodyOp::reduce_parameter)
      out_ << ' ' << entry.bucket;
    else if (entry.bucket >= 0)
      out_ << ", bucket " << entry.bucket;
    if (entry.node >= 0) out_ << ", layer " << entry.node;
    if (entry.operand > 0) out_ << ", operand " << int{entry.operand};
    if (entry.phase > 0) out_ << ", phase " << int{entry.phase};
    if (entry.features > 0) out_ << ", " << entry.features << " features";
    if (entry.type != ElementType::float32) out_ << " in " << name_of(entry.type);
    if (entry.runs > 1) out_ << " in " << entry.runs << " runs";
    const Place* const places[4] = {&entry.a, &entry.b, &entry.c, &entry.d};
    for (int k = 0; k < 4; ++k)
      if (places[k]->set()) write(", " + std::string{k == 1 && entry.phase > 0 ? "told" : words.places[k]}, *places[k]);
    write(", statistics", entry.e);
    if (entry.fused) out_ << ", at once with the next";
    write_axis(moves(entry.what), entry.axis);
    if (moves(entry.what) && entry.collective >= 0 && !waits(entry.what)) write(p_.collectives[entry.collective]);
    out_ << word_of(entry.when) << '\n';
  }
  void write(std::string_view before, const Place& place) {
    if (!place.set()) return;
    out_ << before << ' ';
    if (place.pool == Place::scratch)
      out_ << "scratch";
    else
      out_ << word_of(static_cast<PoolKind>(place.pool % pool_kinds)) << ' ' << place.pool / pool_kinds;
    out_ << '+' << place.offset;
  }
  void write(const Collective& c) { out_ << ", " << word_of(c.kind) << " of " << c.payload / c.slices << " of " << c.elements << " elements"; }
  [[nodiscard]] static constexpr bool starts(ListOp op) { return op == ListOp::reduce_start || op == ListOp::gather_start; }
  [[nodiscard]] static constexpr bool waits(BodyOp what) { return what == BodyOp::reduce_wait || what == BodyOp::gather_wait; }
  void write_axis(bool moves, Axis axis) {
    if (moves) out_ << ", along " << name_of(axis);
  }
  [[nodiscard]] static constexpr bool moves(BodyOp what) {
    switch (what) {
      case BodyOp::reduce_start:
      case BodyOp::reduce_wait:
      case BodyOp::gather_start:
      case BodyOp::gather_wait:
      case BodyOp::reduce_value:
      case BodyOp::gather_value:
      case BodyOp::scatter_value:
      case BodyOp::slice_value:
      case BodyOp::reduce_phase:
      case BodyOp::reduce_parameter: return true;
      case BodyOp::load_input:
      case BodyOp::load_targets:
      case BodyOp::leaf_forward:
      case BodyOp::add:
      case BodyOp::copy:
      case BodyOp::loss:
      case BodyOp::leaf_backward:
      case BodyOp::leaf_backward_input:
      case BodyOp::leaf_backward_weight:
      case BodyOp::store_output:
      case BodyOp::zero_gaps:
      case BodyOp::add_slice:
      case BodyOp::sum_grains:
      case BodyOp::loss_terms: return false;
    }
    return false;
  }
  [[nodiscard]] int chunk_of(int node) const {
    int chunk = 0;
    while (p_.first_node[chunk + 1] <= node) ++chunk;
    return chunk;
  }
  /// The number of the start among the starts of its role: what a token stands for.
  [[nodiscard]] int start_of(const IndexRange& list, int token) const {
    int starts = 0;
    for (int i = list.begin; i < list.end; ++i) {
      const Instruction& line = p_.instructions[i];
      if (line.token < 0 || line.op == ListOp::send_wait || line.op == ListOp::receive_wait || line.op == ListOp::reduce_wait ||
          line.op == ListOp::gather_wait)
        continue;
      if (line.token == token) return starts;
      ++starts;
    }
    return -1;
  }

  std::ostream& out_;
  const Program& p_;
};

}  // namespace heddle::tests
