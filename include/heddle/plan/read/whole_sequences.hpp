// SPDX-License-Identifier: MIT
// Room: plan. SequenceParallel that splits no value between layers: a remark with the reason.
// Sees: plan/program, plan/read, graph.  Does not see: machines, processes, threads.
// In: a Program whose policy was asked to split sequences.  Out: remark_on_whole_sequences.
#pragma once

#include <cstdint>

#include "heddle/plan/program/program.hpp"
#include "heddle/plan/read/advice_report.hpp"

namespace heddle::plan_room {

/// What a model gives SequenceParallel. Linear<8, 32>, GELU, Linear<32, 8> behind Input<15, 8> have a marked sequence of 15, which 2 ranks do not
/// divide.
struct SequencesOf {
  std::int64_t indivisible = 0;  ///< a marked sequence that the ranks do not divide; 0 if there is none
  bool marked = false;           ///< a layer marks the sequence of what it gives
  bool split = false;            ///< what a layer gives lies in parts along it

  constexpr SequencesOf(const Graph& graph, int ranks) {
    for (int n = 0; n < graph.node_count; ++n) {
      const Spec& out = graph.leaf(n).out;
      if (out.sequence < 0 || out.sequence >= out.shape.dimensions) continue;
      marked = true;
      if (out.shape.sizes[out.sequence] % ranks != 0) indivisible = out.shape.sizes[out.sequence];
      split = split || graph.laid_between(n + 1) == laid::shard(out.sequence);
    }
  }
};

/// Adds A11 where the policy was asked to split sequences and splits none. Of a Repeat that is the whole model, which takes and gives whole values,
/// there is one.
///
/// Tested  plan/read/whole_sequences_test
constexpr void remark_on_whole_sequences(AdviceReport& report, const Program& p, bool asked) {
  const int ranks = p.mesh.size(Axis::tensor);
  if (!asked || ranks == 1) return;
  const SequencesOf found{*p.graph, ranks};
  if (found.split) return;
  Diagnosis d = Diagnosis{Code{'A', 11}, ""} << "SequenceParallel splits no value of " << p.graph->model.view() << ", so each of the " << ranks
                                             << " ranks of axis tensor holds what lies between split layers whole, because ";
  if (!found.marked)
    d << "no layer marks a sequence. Fix: use TensorParallel<" << ranks << ">, or mark one: Input<16, 64> does, and leaf.out.sequence of your layer.";
  else if (found.indivisible != 0)
    d << ranks << " does not divide its sequence of " << found.indivisible << ". Fix: use a sequence whose length " << ranks
      << " divides, or TensorParallel<" << ranks << ">.";
  else
    d << "input and output of the model are whole, and so is a Repeat that begins with one or ends with the other. Fix: put a layer before and "
         "behind it, or use TensorParallel<"
      << ranks << ">.";
  report.add(d);
}

}  // namespace heddle::plan_room
