// SPDX-License-Identifier: MIT
// Room: run. Two fused entries as one call of a kernel: an elementwise layer in the tail of another, or a sum that the layer behind it makes itself.
// Sees: plan/program, run/kernel_table, run/rank_tensors, seams/concepts.  Does not see: policies, threads, transports, any backend.
// In: a pair of entries and the kernels of their layers.  Out: whether these can, and the call of one grain.
#pragma once

#include <cstdint>
#include <type_traits>

#include "heddle/plan/program/program.hpp"
#include "heddle/run/kernel_operands.hpp"
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

/// A sum that the norm behind it makes, in another memory than the host's: its terms lie there as the plan keeps values, float32 or bfloat16. Of 16
/// rows of 768 in bfloat16 a kernel reads two terms of 24,576 bytes each and writes the sum and what the norm gives.
///
/// Law     the bits of the sum and the norm one by one
/// Tested  backend/cuda_one_card_test, equivalence/cuda_mixed_test
template <class Work> class FusedSum {
 public:
  using Space = typename Work::Space;
  /// `second_runs` as in FusedKernels.
  FusedSum(const Program& p, const KernelTableIn<Space>& kernels, KernelOperands<Work>& operands, const Entry& first, const Entry& second,
           bool& second_runs)
      : operands_(operands), second_runs_(second_runs), first_(first), elements_(first.what == BodyOp::add ? first.features : 0) {
    if (first.what != BodyOp::add) return;
    const LeafKernelsIn<Space>& norm = kernels.leaves[p.graph->nodes[second.node].leaf];
    if (!operands.on() || norm.takes_bfloat16) of_sum_ = norm.forward_of_sum;
  }

  /// The kernel can; else each entry runs by itself.
  [[nodiscard]] bool there() const { return of_sum_ != nullptr; }
  /// `call` is that of the norm.
  void forward(const ForwardCallIn<Space>& call, int grain) const {
    second_runs_ = true;
    of_sum_(call, {at(first_.a, grain), at(first_.b, grain), at(first_.d, grain)});
    second_runs_ = false;
  }

 private:
  [[nodiscard]] float* at(const Place& place, int grain) const { return operands_.value(place, elements_, grain); }

  KernelOperands<Work>& operands_;
  bool& second_runs_;
  const Entry& first_;
  std::int64_t elements_;  // of a row
  void (*of_sum_)(const ForwardCallIn<Space>&, const AddendsIn<Space>&) = nullptr;
};
/// What a pair of entries is in the memory that `Work` is at work in.
template <class Work>
[[nodiscard]] auto fused_in(const Program& p, const typename Work::Kernels& kernels, RankTensors& tensors, KernelOperands<Work>& operands,
                            const Entry& first, const Entry& second, bool& second_runs) {
  if constexpr (std::is_same_v<typename Work::Space, HostMemory>)
    return FusedKernels{p, kernels, tensors, first, second, second_runs};
  else
    return FusedSum<Work>{p, kernels, operands, first, second, second_runs};
}

}  // namespace heddle::run_room
