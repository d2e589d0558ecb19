// SPDX-License-Identifier: MIT
// Room: run. Two fused entries as one call of a kernel: an elementwise layer in the tail of another, or a sum that the layer behind it makes itself.
// Sees: plan/program, run/kernel_operands, run/kernel_table, seams/concepts.  Does not see: policies, threads, transports, any backend.
// In: a pair of entries and the kernels of their layers.  Out: whether these can, and the call of one grain.
#pragma once

#include <cstdint>
#include <type_traits>

#include "heddle/plan/program/program.hpp"
#include "heddle/run/kernel_operands.hpp"
#include "heddle/run/kernel_table.hpp"
#include "heddle/seams/concepts.hpp"

namespace heddle::run_room {

/// The kernels of a pair. Of Linear, GELU the kernel of Linear has one that takes a tail, and that of GELU one that runs in it; of a Residual and a
/// LayerNorm behind it that of LayerNorm has one that makes the sum. Values lie as the plan keeps them, float32 or bfloat16: of 16 rows of 768 in
/// bfloat16 a kernel reads two terms of 24,576 bytes each and writes the sum and what the norm gives.
///
/// Law     the bits of the two one by one, unless the library of a card runs a function in its own product (Autotuned)
/// Tested  run/fused_kernels_test, backend/cuda_one_card_test, equivalence/cuda_mixed_test
template <class Work> class FusedKernels {
 public:
  using Space = typename Work::Space;
  using Kernels = LeafKernelsIn<Space>;
  /// `second_runs` is true while the layer of the second entry does: what is thrown then is its.
  FusedKernels(const Program& p, const typename Work::Kernels& kernels, KernelOperands<Work>& operands, Work& work, const Entry& first,
               const Entry& second, bool& second_runs)
      : operands_(operands), work_(work), second_runs_(second_runs), first_(first), second_(second), leaf_(p.graph->leaf(second.node)),
        behind_(kernels.leaves[p.graph->nodes[second.node].leaf]), before_(sums() ? behind_ : kernels.leaves[p.graph->nodes[first.node].leaf]) {}

  /// Both kernels can; else each entry runs by itself.
  [[nodiscard]] bool there() const {
    constexpr bool on_host = std::is_same_v<Space, HostMemory>;
    if (operands_.on() && (on_host || !behind_.takes_bfloat16 || !before_.takes_bfloat16)) return false;  // one by one, each with floats of its own
    if (sums()) return behind_.forward_of_sum != nullptr;
    if (forwards()) return before_.forward_with_tail != nullptr && behind_.forward_in_tail != nullptr;
    return before_.backward_with_tail != nullptr && behind_.backward_in_tail != nullptr;
  }
  [[nodiscard]] bool sums() const { return first_.what == BodyOp::add; }
  [[nodiscard]] bool forwards() const { return first_.what == BodyOp::leaf_forward; }

  /// `call` is that of the first entry, or of the layer behind a sum.
  void forward(const ForwardCallIn<Space>& call, int grain) const {
    if (!sums()) return before_.forward_with_tail(call, tail(call.output, nullptr, behind_.forward_in_tail, grain));
    second_runs_ = true;
    behind_.forward_of_sum(call, {at(first_.a, grain), at(first_.b, grain), at(first_.d, grain)});
    second_runs_ = false;
  }
  void backward(const BackwardCallIn<Space>& call, int grain) const {
    const float* const saved = at(leaf_.saves == Saves::output ? second_.b : second_.a, grain);
    before_.backward_with_tail(call, tail(call.input_gradient, saved, behind_.backward_in_tail, grain));
  }
  /// Before the first step, of so many rows.
  void prepare(const Leaf& first, std::int64_t rows) const {
    if (sums() || before_.prepare_with_tail == nullptr) return;
    before_.prepare_with_tail(first, rows, tail(nullptr, nullptr, forwards() ? behind_.forward_in_tail : behind_.backward_in_tail, 0), !forwards());
  }

 private:
  using Run = void (*)(const TailIn<Space>&, std::int64_t, std::int64_t);
  [[nodiscard]] TailIn<Space> tail(const float* made, const float* saved, Run run, int grain) const {
    return {&leaf_, made, at(second_.d, grain), saved, run, &second_runs_, behind_.known, work_.space()};
  }
  /// What an elementwise layer, or a norm, takes and gives has as many elements.
  [[nodiscard]] float* at(const Place& place, int grain) const { return operands_.value(place, leaf_.in.elements(), grain); }

  KernelOperands<Work>& operands_;
  Work& work_;
  bool& second_runs_;
  const Entry& first_;
  const Entry& second_;
  const Leaf& leaf_;
  const Kernels& behind_;
  const Kernels& before_;
};

}  // namespace heddle::run_room
