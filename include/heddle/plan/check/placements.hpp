// SPDX-License-Identifier: MIT
// Room: plan. Every value lies as its reader takes it: no reader, stage, sink or optimizer sees a term of a sum or a part instead of the whole.
// Sees: plan/program, graph.  Does not see: policies, processes, threads.
// In: a Program.  Out: ok, or P04 with the layer.
#pragma once

#include <cstdint>

#include "heddle/core/rule.hpp"
#include "heddle/plan/check/restated.hpp"
#include "heddle/plan/program/conversion.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// One body. A leaf that takes or gives a value another way than it lies has its conversion beside it, on the very place; there is no other.
/// Linear by rows behind Linear by columns has 1 in the forward: the output, a term on each rank, is summed by the next entry.
struct PlacementCheck {
  const Program& p;
  IndexRange body;
  bool backward = false;
  int expected = 0;
  int found = 0;
  Diagnosis fault{};

  constexpr void refuse(int node, std::string_view what, Laid from, Laid to) {
    if (!fault.ok()) return;
    fault = Diagnosis{Code{'P', 4}, ""} << what << p.graph->describe(node).view() << " is " << from << " along axis tensor and must be " << to
                                        << ", but nothing beside it makes it so. Fix: convert it once, before anything reads it.";
  }
  /// The entry at `e` must lay what is at `place` from one way to the other.
  constexpr void expect(int e, int node, std::string_view what, Laid from, Laid to, const Place& place, bool before) {
    ++expected;
    if (e >= body.begin && e < body.end) {
      const Entry& entry = p.entries[e];
      const Place& met = before || entry.what == BodyOp::reduce_value ? entry.d : entry.a;
      if (entry.what == conversion(from, to) && entry.node == node && entry.axis == Axis::tensor && entry.when == When::always && met == place)
        return;
    }
    refuse(node, what, from, to);
  }
  constexpr void forward(int e, const Entry& entry) {
    const Graph& g = *p.graph;
    const int n = entry.node;
    const Signature& s = g.signature(n);
    const bool first = entry.phase <= 1 || !entry.b.set();  // of phases
    if (first && g.converts_input(n)) expect(e - 1, n, "the input of ", g.laid_between(g.nodes[n].operands[0]), s.input, entry.a, true);
    if (entry.d.set() && g.converts_output(n)) expect(e + 1, n, "the output of ", s.output, g.laid_between(n + 1), entry.d, false);
  }
  /// What is kept in parts and read whole is gathered just before. False if this entry does not read it.
  constexpr bool again(int e, const Entry& entry) {
    const Graph& g = *p.graph;
    if (!g.converts_input(entry.node) || !gathers_again(g, entry.node, entry.what)) return false;
    expect(e - 1, entry.node, "the kept input of ", g.laid_between(g.nodes[entry.node].operands[0]), g.signature(entry.node).input, entry.a, true);
    return true;
  }
  /// A leaf of two operands has a backward for each: what both read is laid before the first.
  [[nodiscard]] constexpr bool is_first(int e, int node) const {
    while (--e >= body.begin)
      if (passes_back(p.entries[e].what) && p.entries[e].node == node) return false;
    return true;
  }
  constexpr void back(int e, const Entry& entry) {
    const Graph& g = *p.graph;
    const int n = entry.node;
    const Signature& s = g.signature(n);
    const int value = g.nodes[n].operands[entry.operand];
    const int at = entry.phase <= 1 && again(e, entry) ? e - 2 : e - 1;
    if (const Laid from = g.gradient_between(n + 1);
        entry.phase <= 1 && from.code != s.output_gradient.code && (g.nodes[n].operand_count == 1 || is_first(e, n)))
      expect(at, n, "the gradient of the output of ", from, s.output_gradient, entry.c, true);
    if (const Laid from = s.operand_gradient(entry.operand), to = g.gradient_between(value); entry.d.set() && from.code != to.code)
      expect(e + 1, n, "the gradient of the input of ", from, to, entry.d, false);
  }
  /// Of a split backward, a leaf whose input needs no gradient: it is run in the weight body alone, which reads what is laid here.
  [[nodiscard]] constexpr bool only_weighs(int node) const {
    if (!p.splits_backward || gradients_of(p.graph->nodes[node]) == 0) return false;
    for (int e = body.begin; e < body.end; ++e)
      if (passes_back(p.entries[e].what) && p.entries[e].node == node) return false;
    return true;
  }
  /// A conversion that belongs to a forward: of what the leaf beside it takes or gives. In a backward body such a leaf runs again.
  [[nodiscard]] constexpr bool of_forward(int e) const {
    const Entry& entry = p.entries[e];
    const auto runs = [&](int at) {
      if (at < body.begin || at >= body.end || p.entries[at].node != entry.node) return false;
      return p.entries[at].what == BodyOp::leaf_forward || p.entries[at].what == BodyOp::add;
    };
    if (runs(e + 1) && (p.entries[e + 1].a == entry.d || p.entries[e + 1].b == entry.d)) return true;
    return runs(e - 1) && p.entries[e - 1].d == (entry.what == BodyOp::reduce_value ? entry.d : entry.a);
  }
  /// A sum has no entry of its own backward: its gradient is laid once, if anybody needs it, and handed on.
  constexpr void sum(int node, bool needed) {
    const Laid from = p.graph->gradient_between(node + 1);
    const Laid to = p.graph->signature(node).output_gradient;
    if (from == to) return;
    int times = 0;
    for (int e = body.begin; e < body.end; ++e) times += p.entries[e].what == conversion(from, to) && p.entries[e].node == node ? 1 : 0;
    if (needed && times != 1) refuse(node, "the gradient of the output of ", from, to);
    expected += times;
  }
  /// The gradient of a sum is laid between the backwards of the leaves around it.
  constexpr void sum_in_order(int e, int node, int before) {
    int next = e + 1;
    while (next < body.end && !passes_back(p.entries[next].what)) ++next;
    if ((before >= 0 && before < node) || (next < body.end && p.entries[next].node > node))
      refuse(node, "the gradient of the output of ", p.graph->gradient_between(node + 1), p.graph->signature(node).output_gradient);
  }
  /// The loss takes the whole output; or parts of it, with the terms of all parts gathered just before.
  constexpr void loss(int e, const Entry& entry) {
    const Laid lies = p.graph->laid_between(p.graph->node_count);
    if (lies.replicated()) return;
    if (lies != p.loss.takes) return refuse(p.graph->node_count - 1, "the output of ", lies, laid::replicate);
    ++expected;
    bool told = e - 2 >= body.begin;
    if (told) {
      const Entry& terms = p.entries[e - 2];
      const Entry& gather = p.entries[e - 1];
      told = terms.what == BodyOp::loss_terms && terms.a == entry.a && terms.b == entry.b && terms.d == entry.d && terms.when == entry.when &&
             gather.what == BodyOp::gather_value && gather.node == entry.node && gather.axis == Axis::tensor && gather.when == entry.when &&
             gather.a == terms.c && gather.d == entry.c;
    }
    if (!told && fault.ok())
      fault = Diagnosis{Code{'P', 4}, ""} << "the loss takes the output of " << p.graph->describe(p.graph->node_count - 1).view() << ", which is "
                                          << lies
                                          << " along axis tensor, but the terms of all parts are not gathered just before it. Fix: let "
                                             "every rank make its terms and gather them once, before the loss.";
  }
  constexpr void check_laid(int e, const Entry& entry, int before) {
    ++found;
    if (entry.node == p.graph->node_count) return;  // of the loss
    if (entry.axis != Axis::tensor || entry.when != When::always)
      return refuse(entry.node, "a value of ", p.graph->laid_between(entry.node + 1), p.graph->signature(entry.node).output);
    if (backward && p.graph->adds(entry.node) && !of_forward(e)) sum_in_order(e, entry.node, before);
  }
  constexpr void walk(int first_node, int end_node) {
    int before = -1;
    for (int e = body.begin; e < body.end && fault.ok(); ++e) {
      const Entry& entry = p.entries[e];
      const BodyOp what = entry.what;
      if (what == BodyOp::leaf_forward || (what == BodyOp::add && entry.node >= 0)) {
        forward(e, entry);
      } else if (passes_back(what)) {
        before = entry.node;
        back(e, entry);
      } else if (converts(what)) {
        check_laid(e, entry, before);
      } else if (what == BodyOp::loss) {
        loss(e, entry);
      } else if (what == BodyOp::leaf_backward_weight) {
        again(e, entry);
      }
    }
    const int untrained = p.graph->last_untrained();
    for (int n = first_node; n < end_node && backward; ++n)
      if (p.graph->adds(n) || only_weighs(n)) sum(n, n >= untrained && p.graph->nodes[n].needs_gradient);
    if (fault.ok() && found != expected)
      fault = Diagnosis{Code{'P', 4}, ""} << (backward ? "a backward" : "a forward or weight") << " body lays " << found
                                          << " values another way along axis tensor, not " << expected
                                          << ". Fix: convert each once, before anything reads it.";
  }
};

/// Reductions of one parameter's gradient in the body that makes it: after the leaf's entry; once a step, or each time a ring is reduced.
[[nodiscard]] constexpr int parameter_reductions(const Program& p, const IndexRange& body, int node, int parameter) {
  const When wanted = p.storage.gradients ? When::always : When::last_micro_batch;
  int found = 0;
  bool done = false;
  for (int e = body.begin; e < body.end; ++e) {
    const Entry& entry = p.entries[e];
    if ((entry.what == BodyOp::leaf_backward || entry.what == BodyOp::leaf_backward_weight) && entry.node == node) done = true;
    if (entry.what != BodyOp::reduce_parameter || entry.node != node || entry.bucket != parameter) continue;
    if (done && entry.axis == Axis::tensor) found += entry.when == wanted ? 1 : p.batch.total_micro_batches();
  }
  return found;
}

/// Whole parameters of which each rank has a term of the gradient: reduced once, or their copies would drift apart.
[[nodiscard]] constexpr Diagnosis check_parameter_terms(const Program& p, int chunk, const IndexRange& body) {
  for (int n = p.first_node[chunk]; n < p.first_node[chunk + 1]; ++n)
    for (int k = 0; k < gradients_of(p.graph->nodes[n]); ++k) {
      if (!p.graph->signature(n).parameter_gradients[k].partial()) continue;
      if (const int found = parameter_reductions(p, body, n, k); found != 1)
        return Diagnosis{Code{'P', 4}, ""} << "the gradient of parameter '" << p.graph->parameter_name(n, k).view()
                                           << "' is Partial along axis tensor and is reduced " << found
                                           << " times, not once. Fix: reduce it once, after the last micro-batch.";
    }
  return {};
}

/// P04. Reads every body once; programs without axis tensor have nothing to convert.
/// Tested  plan/check/placements_test, equivalence/tensor_parallel_test
[[nodiscard]] constexpr Diagnosis check_placements(const Program& p) {
  if (!p.graph->split.any()) return {};
  for (int c = 0; c < p.chunks; ++c) {
    for (const IndexRange* bodies : {p.forward_bodies, p.backward_bodies, p.weight_bodies}) {
      if (bodies != p.forward_bodies && !p.training) continue;
      PlacementCheck check{p, bodies[c], bodies == p.backward_bodies};
      check.walk(p.first_node[c], p.first_node[c + 1]);
      if (!check.fault.ok()) return check.fault;
    }
    if (!p.training) continue;
    if (const Diagnosis found = check_parameter_terms(p, c, (p.splits_backward ? p.weight_bodies : p.backward_bodies)[c]); !found.ok()) return found;
  }
  return {};
}

}  // namespace heddle::plan_room
