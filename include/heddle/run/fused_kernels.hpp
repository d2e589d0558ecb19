// SPDX-License-Identifier: MIT
// Room: run. Two fused entries as one call of a kernel: an elementwise layer in the tail of another, or a sum that the layer behind it makes itself.
// Sees: plan/program, run/kernel_table, run/rank_tensors, seams/concepts.  Does not see: policies, threads, transports, any backend.
// In: a pair of entries and the kernels of their layers.  Out: whether these can, and the call of one grain.
#pragma once

#include "heddle/plan/program/program.hpp"
#include "heddle/run/kernel_table.hpp"
#include "heddle/run/rank_tensors.hpp"
#include "heddle/seams/concepts.hpp"

namespace heddle::run_room {

/// The kernels of a pair. Of Linear, GELU the kernel of Linear has one that takes a tail, and that of GELU one that runs in it; of a Residual and a
/// LayerNorm behind it that of LayerNorm has one that makes the sum.
///
/// Tested  run/fused_kernels_test
class FusedKernels {
 public:
  /// `second_runs` is true while the layer of the second entry does: what is thrown then is its.
  FusedKernels(const Program& p, const KernelTable& kernels, RankTensors& tensors, const Entry& first, const Entry& second, bool& second_runs)
      : t_(tensors), second_runs_(second_runs), first_(first), second_(second), leaf_(p.graph->leaf(second.node)),
        behind_(kernels.leaves[p.graph->nodes[second.node].leaf]), before_(sums() ? behind_ : kernels.leaves[p.graph->nodes[first.node].leaf]) {}

  /// Both kernels can; else each entry runs by itself.
  [[nodiscard]] bool there() const {
    if (t_.program().graph->values != ElementType::float32) return false;  // one by one, each with floats of its own
    if (sums()) return behind_.forward_of_sum != nullptr;
    if (forwards()) return before_.forward_with_tail != nullptr && behind_.forward_in_tail != nullptr;
    return before_.backward_with_tail != nullptr && behind_.backward_in_tail != nullptr;
  }
  [[nodiscard]] bool sums() const { return first_.what == BodyOp::add; }
  [[nodiscard]] bool forwards() const { return first_.what == BodyOp::leaf_forward; }

  /// `call` is that of the first entry, or of the layer behind a sum.
  void forward(const ForwardCall& call, int grain) const {
    if (!sums()) return before_.forward_with_tail(call, {&leaf_, call.output, at(second_.d, grain), nullptr, behind_.forward_in_tail, &second_runs_});
    second_runs_ = true;
    behind_.forward_of_sum(call, {at(first_.a, grain), at(first_.b, grain), at(first_.d, grain)});
    second_runs_ = false;
  }
  void backward(const BackwardCall& call, int grain) const {
    const float* const saved = at(leaf_.saves == Saves::output ? second_.b : second_.a, grain);
    before_.backward_with_tail(call, {&leaf_, call.input_gradient, at(second_.d, grain), saved, behind_.backward_in_tail, &second_runs_});
  }

 private:
  /// What an elementwise layer, or a norm, takes and gives has as many elements.
  [[nodiscard]] float* at(const Place& place, int grain) const { return t_.at_grain(place, leaf_.in.elements(), grain); }

  RankTensors& t_;
  bool& second_runs_;
  const Entry& first_;
  const Entry& second_;
  const Leaf& leaf_;
  const LeafKernels& behind_;
  const LeafKernels& before_;
};

}  // namespace heddle::run_room
