// SPDX-License-Identifier: MIT
// Room: plan. Bodies are interpreted on names instead of numbers: what every entry reads is the very tensor that the graph and the layout say.
// Sees: plan/check/phase_flow, plan/check/fused_pair, plan/check/flow_tensors, plan/program, graph.  Does not see: lowering, policies, processes.
// In: a Program.  Out: ok, or S17 with the layer, what it reads and what lies there.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/plan/check/flow_tensors.hpp"
#include "heddle/plan/check/fused_pair.hpp"
#include "heddle/plan/check/phase_flow.hpp"
#include "heddle/plan/check/restated.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// S17. Interprets every body of a Program once, for one micro-batch, and what is sent between bodies; 2 chunks under 1F1B have 4 bodies. It knows
/// of the lowering entries alone: what a place holds follows from what was written there, what it is to hold from the graph and its signatures.
/// Tested  plan/check/data_flow_test
struct DataFlow : PhaseFlow {
  FusedPair pair{};

  constexpr void run() {
    names.find(graph, p.training);
    for (int l = 0; l < graph.leaf_count; ++l) leaves[l].describe(graph.leaves[l].leaf, graph.split.any() ? graph.split.signatures[l] : unsplit);
    for (int i = 0; i < p.chunks * pool_kinds; ++i) tensors.pools[i + 2] = FlowPool{p.pools[i].slot_bytes, 0, p.pools[i].role, 0, 0, 0};
    for (int c = 0; c < p.chunks && fault.ok(); ++c) {
      arrive(c, false);
      body(c, BodyKind::forward, p.forward_bodies[c]);
    }
    if (fault.ok() && !(judged && (stored || p.training))) refuse(graph.node_count) << (judged ? " has no output stored" : " is never made") << fix;
    for (int c = p.chunks - 1; c >= 0 && p.training && fault.ok(); --c) {
      arrive(c, true);
      body(c, p.splits_backward ? BodyKind::input : BodyKind::backward, p.backward_bodies[c]);
      if (p.splits_backward) body(c, BodyKind::weight, p.weight_bodies[c]);
      for (int n = begin_node; n < end_node && fault.ok(); ++n)
        if (made[n] == 0 && gradients_of(graph.nodes[n]) > 0 && names.gradients[n + 1] != 0)
          refuse(n) << " makes no gradient of its parameters" << fix;
    }
  }

 private:
  /// What other chunks send to this one, as it lies where it is sent from.
  constexpr void arrive(int to, bool gradients) {
    tensors.role = p.device_of_chunk[to];
    for (int t = 0; t < p.transfer_count; ++t) {
      const Transfer& transfer = p.transfers[t];
      if (transfer.to_chunk != to || transfer.use >= 0 || transfer.gradient != gradients) continue;
      const FlowTensor sent = tensors.at(transfer.source);
      if (sent.what != 0 && sent.end - sent.offset == p.bytes(transfer).value && tensors.put(transfer.target, sent.elements, sent.what, sent.how))
        continue;
      fault = Diagnosis{Code{'S', 17}, ""} << "chunk " << static_cast<int>(transfer.from_chunk) << " sends chunk " << to << ' ' << transfer.elements
                                           << (gradients ? " elements of a gradient" : " elements of a value") << ", but "
                                           << (sent.what == 0 ? "nothing lies where it sends from"
                                                              : "what it sends, or the place for it, has another size")
                                           << fix;
      return;
    }
  }
  constexpr void body(int of_chunk, BodyKind of_kind, const IndexRange& range) {
    chunk = of_chunk;
    kind = of_kind;
    begin_node = p.first_node[chunk];
    end_node = p.first_node[chunk + 1];
    const int role = p.device_of_chunk[chunk];
    tensors.open(role, p.arenas[role][RegionKind::scratch].bytes());
    for (int e = range.begin, end = range.end; e < end && fault.code.letter == '-'; ++e) {
      const Entry& entry = p.entries[number = e];
      const BodyOp what = entry.what;
      const bool always = entry.when == When::always;
      if (always && what == BodyOp::leaf_forward)
        forward(entry);
      else if (always && what >= BodyOp::leaf_backward && what <= BodyOp::leaf_backward_weight)
        backward(entry);
      else if (what == BodyOp::gather_start || what == BodyOp::gather_wait)
        continue;  // of parameters: another rule follows them
      else if (moves_parameters(what) || (always && (p.training || !of_loss(what))) ||
               (!p.training && entry.when == When::reporting && (of_loss(what) || what == BodyOp::gather_value)))
        visit(entry);
      else
        refuse(entry.node) << (always ? " is made unasked in" : " is left out for some micro-batches in") << here().view() << fix;
      if (pair.second == e && fault.code.letter == '-') pair.close(*this);
      if (entry.fused && fault.code.letter == '-') pair.open(*this, end);
    }
  }
  constexpr void visit(const Entry& entry) {
    switch (entry.what) {
      case BodyOp::add: return add(entry);
      case BodyOp::copy: return copy(entry);
      case BodyOp::reduce_value:
      case BodyOp::gather_value:
      case BodyOp::scatter_value:
      case BodyOp::slice_value: return convert(entry);
      case BodyOp::load_input: return load(entry, FlowNames::input_of(entry.operand));
      case BodyOp::load_targets: return load(entry, FlowNames::targets);
      case BodyOp::loss_terms:
      case BodyOp::loss: return loss(entry);
      case BodyOp::store_output: return store(entry);
      case BodyOp::sum_grains:
      case BodyOp::reduce_phase: return sum(entry);
      case BodyOp::reduce_start:
      case BodyOp::reduce_wait:
      case BodyOp::reduce_parameter:
      case BodyOp::zero_gaps:
      case BodyOp::add_slice:
        if (kind == BodyKind::forward || kind == BodyKind::input) refuse(entry.node) << " has gradients reduced in" << here().view() << fix;
        return;  // else GradientFlow follows them
      case BodyOp::leaf_forward:
      case BodyOp::leaf_backward:
      case BodyOp::leaf_backward_input:
      case BodyOp::leaf_backward_weight:
      case BodyOp::gather_start:
      case BodyOp::gather_wait: return;  // followed before
    }
  }
  constexpr void forward(const Entry& entry) {
    const int n = entry.node;
    if ((n < begin_node || n >= end_node) && !of_chunk(n)) return;
    const Node& node = graph.nodes[n];
    const FlowLeaf& leaf = leaves[node.leaf];
    const FlowTensor& in = tensors.at(entry.a);
    if (in.what != names.values[node.operands[0]] || in.how != leaf.takes || in.asked) return wrong(n, " its input", in, leaf.takes);
    if (leaf.other > 0 && !holds(n, entry.b, names.values[node.operands[1]], leaf.takes_other, " its second input")) return;
    if (!leaf.computes) return unasked(n, " only hands on what it takes, but is run in");
    if (leaf.tells && !phase(entry, false)) return;
    if (!tensors.put(entry.d, leaf.out, names.values[n + 1], leaf.gives)) return too_small(n, leaf.out);
    if (leaf.other > 0) spare(n, entry.b, entry.d, false, "its second input");
    if (leaf.tells) spare_told(entry, false);
    if (entry.a.pool == entry.d.pool && gone(entry.a, in, entry.d, leaf.elementwise)) return writes_over(n, "its input");
    if (leaf.statistics == 0 || !entry.e.set()) return;
    if (!tensors.put(entry.e, leaf.statistics, FlowNames::statistics(n), leaf.keeps, false, 1, float_bytes)) return too_small(n, leaf.statistics);
    if (tensors.at(entry.d).what != names.values[n + 1]) return writes_over(n, "its output");
    if (entry.a != entry.d && tensors.at(entry.a).what != names.values[graph.nodes[n].operands[0]]) writes_over(n, "its input");
  }
  constexpr void backward(const Entry& entry) {
    const int n = entry.node;
    if ((n < begin_node || n >= end_node) && !of_chunk(n)) return;
    const Node& node = graph.nodes[n];
    const FlowLeaf& leaf = leaves[node.leaf];
    if (graph.frozen(n) && entry.what != BodyOp::leaf_backward_input) return unasked(n, " is frozen, but makes gradients of its parameters in");
    const bool saved = entry.what != BodyOp::leaf_backward_input || leaf.input_part_reads_saved;
    const bool both = saved && leaf.reads_input && leaf.other > 0;
    if (saved && leaf.reads_input && !holds(n, entry.a, names.values[node.operands[0]], leaf.takes, " its saved input")) return;
    if (both && !holds(n, entry.b, names.values[node.operands[1]], leaf.takes_other, " its second saved input")) return;
    if (saved && leaf.reads_output && !holds(n, entry.b, names.values[n + 1], leaf.gives, " its saved output")) return;
    if (saved && leaf.statistics > 0 && !holds(n, entry.e, FlowNames::statistics(n), leaf.keeps, " its statistics")) return;
    const FlowTensor& back = tensors.at(entry.c);
    if (back.what != names.gradients[n + 1] || back.how != leaf.takes_back) return wrong(n, " the gradient of its output", back, leaf.takes_back);
    if (gradients_of(node) > 0 && entry.what != BodyOp::leaf_backward_input && entry.phase <= 1) {
      if (made[n] != 0 && !p.storage.gradients && grains_of_step(p.batch) > 1) return unasked(n, " makes the gradients of its parameters twice in");
      made[n] = number + 1;
    }
    if (leaf.tells_back && !phase(entry, true)) return;
    const std::int16_t to = entry.d.pool;
    if (to == Place::nowhere || entry.what == BodyOp::leaf_backward_weight) return;
    if (!is_real(graph.leaf(n).in.type)) return unasked(n, " reads what has no gradient, but makes one in");
    const std::int64_t back_to = entry.operand == 0 ? leaf.in : leaf.other;
    if (!tensors.put(entry.d, back_to, names.term(graph, n, entry.operand), entry.operand == 0 ? leaf.gives_back : leaf.gives_other_back))
      return too_small(n, back_to);
    if (entry.c.pool == to && gone(entry.c, back, entry.d, leaf.elementwise)) return writes_over(n, "the gradient of its output");
    if (leaf.tells_back) spare_told(entry, true);
    const auto over = [&](const Place& read, bool elementwise) { return read.pool == to && gone(read, tensors.at(read), entry.d, elementwise); };
    if (saved && ((leaf.reads_input && over(entry.a, leaf.elementwise)) || ((leaf.reads_output || both) && over(entry.b, leaf.elementwise)) ||
                  (leaf.statistics > 0 && over(entry.e, false))))
      writes_over(n, "what it has saved");
  }
  /// Two terms of a sum of ranks are added to a term; of two wholes, or two parts, the sum lies as they do.
  constexpr void add(const Entry& entry) {
    const FlowTensor& a = tensors.at(entry.a);
    const FlowTensor& b = tensors.at(entry.b);
    const int n = entry.node < 0 ? begin_node : entry.node;
    if (a.what != 0 && b.what != 0 && a.how == b.how && a.elements == entry.features && b.elements == entry.features) {
      const std::int16_t to = entry.d.pool;
      if (!tensors.put(entry.d, entry.features, a.what + b.what, a.how)) return too_small(n, entry.features);
      if ((entry.a.pool == to && gone(entry.a, a, entry.d, true)) || (entry.b.pool == to && gone(entry.b, b, entry.d, true)))
        writes_over(n, "a term of its sum");
      return;
    }
    fault = Diagnosis{Code{'S', 17}, "in"} << here().view() << " two tensors of " << entry.features << " elements a row are added";
    if (entry.node >= 0) fault << " for layer " << entry.node;
    say_tensor(fault << ", but one is ", names, graph.node_count, a, a.how);
    say_tensor(fault << ", the other ", names, graph.node_count, b, b.how);
    fault << fix;
  }
  constexpr void copy(const Entry& entry) {
    const FlowTensor& from = tensors.at(entry.a);
    if (from.what == 0 || from.elements != entry.features) return wrong(begin_node, " what is copied", from, from.how);
    if (!has_type(entry, from.what) || !put(begin_node, entry.d, entry.features, from.what, from.how)) return;
    spare(begin_node, entry.a, entry.d, true, "what it copies");
  }
  /// A collective over the ranks of axis tensor, or a cut: it takes one way to lie and gives another.
  constexpr void convert(const Entry& entry) {
    const int node = entry.node;
    const int ranks = graph.split.ranks;
    const BodyOp what = entry.what;
    const bool gathers = what == BodyOp::gather_value;
    const bool cuts = what == BodyOp::scatter_value || what == BodyOp::slice_value;
    const std::int64_t part = entry.features / ranks;
    if (entry.axis != Axis::tensor || ranks == 1)
      return void(refuse(node) << " is laid another way along axis " << name_of(entry.axis) << " in" << here().view()
                               << ", but values are split along axis tensor alone, into " << ranks << fix);
    if (!has_type(entry, tensors.at(what == BodyOp::reduce_value ? entry.d : entry.a).what)) return;
    const bool lays_parts = gathers || what == BodyOp::scatter_value;
    if (lays_parts && !tensors.put(entry.b, part, FlowNames::shares, lying::whole, false, ranks, bytes_of(entry.type)))
      return too_small(node, entry.features);
    const FlowTensor& from = tensors.at(what == BodyOp::reduce_value ? entry.d : entry.a);
    const std::int64_t takes = gathers ? entry.runs : what == BodyOp::slice_value ? lying::whole : lying::term;
    if (from.what == 0 || from.how != takes || from.elements != (gathers ? part : entry.features) || (from.asked && entry.when == When::always))
      return wrong(node, " what is to lie another way", from, takes);
    put(node, entry.d, cuts ? part : entry.features, from.what, cuts ? entry.runs : lying::whole, entry.when != When::always);
    if (what != BodyOp::reduce_value)
      spare(node, what == BodyOp::slice_value ? entry.a : entry.b, entry.d, false, "what is to lie another way, or the room of its parts");
  }
  constexpr void load(const Entry& entry, std::uint64_t what) {
    if (entry.what == BodyOp::load_input && !takes(entry, graph.input_of(entry.operand).elements(), begin_node)) return;
    if (entry.features == 0) return void(untargeted = entry.d);
    if (has_type(entry, what)) put(begin_node, entry.d, entry.features, what, lying::whole, entry.when != When::always);
  }
  constexpr void store(const Entry& entry) {
    const int last = graph.node_count;
    const std::int64_t how = lies(graph.output().shape, graph.laid_between(last));
    stored = holds(last, entry.a, names.values[last], how, " the output to be stored") && takes(entry, tensors.at(entry.a).elements);
  }
  constexpr bool takes(const Entry& entry, std::int64_t there, int node = -1) {
    if (entry.features == there) return true;
    refuse(node < 0 ? graph.node_count : node) << " takes in" << here().view() << ' ' << entry.features << " elements a row, but there are " << there
                                               << fix;
    return false;
  }
  /// The loss takes the whole output; or the part of this rank, with the terms of all parts.
  constexpr void loss(const Entry& entry) {
    const int last = graph.node_count;
    const bool asked = entry.when != When::always;
    const bool makes_terms = entry.what == BodyOp::loss_terms;
    const bool in_parts = makes_terms || entry.c.set();
    const std::int64_t how = in_parts ? lies(graph.output().shape, p.loss.takes) : lying::whole;
    if (in_parts && how <= 0) return void(refuse(last) << " takes parts of the output, but can take it whole only" << fix);
    if (!holds(last, entry.a, names.values[last], how, " the output of the model", asked) || !takes(entry, tensors.at(entry.a).elements)) return;
    const bool reads_targets = !untargeted.set() || entry.b != untargeted;
    if (reads_targets && !holds(last, entry.b, FlowNames::targets, lying::whole, " the targets", asked)) return;
    if (!makes_terms && in_parts && !holds(last, entry.c, FlowNames::terms, lying::whole, " the terms of all parts", asked)) return;
    if (p.training != entry.d.set()) return void(refuse(last) << (p.training ? " makes no gradient" : " makes a gradient in an evaluation") << fix);
    if (!makes_terms && in_parts && p.training && !holds(last, entry.d, FlowNames::shares, how, " what its terms have left")) return;
    if (makes_terms && !put(last, entry.c, p.loss.terms, FlowNames::terms, 1, asked)) return;
    judged = judged || !makes_terms;
    if (p.training) put(last, entry.d, entry.features, makes_terms ? FlowNames::shares : FlowNames::loss, how);
    if (makes_terms) spare(last, entry.a, entry.c, false, "the output of the model");
    if (makes_terms && reads_targets) spare(last, entry.b, entry.c, false, "the targets");
    if (!p.training) return;
    spare(last, entry.a, entry.d, true, "the output of the model");  // a gradient may lie where the output does, see LossCall
    if (reads_targets) spare(last, entry.b, entry.d, false, "the targets");
    if (in_parts) spare(last, entry.c, entry.d, false, "the terms of all parts");
  }
};

}  // namespace heddle::plan_room
