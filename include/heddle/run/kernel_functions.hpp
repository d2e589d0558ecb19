// SPDX-License-Identifier: MIT
// Room: run. Functions of kernels as pointers, for tensors of one memory: what an executor runs, whatever the model is.
// Sees: graph/loss, plan/program, run/arithmetic, seams/concepts.  Does not see: policies, threads, any backend.
// In: nothing.  Out: LeafKernels, KernelTable.
#pragma once

#include <cstdint>

#include "heddle/graph/loss.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/arithmetic.hpp"
#include "heddle/seams/concepts.hpp"

namespace heddle::run_room {

/// As what a plan keeps values; float32 where there is none.
[[nodiscard]] constexpr ElementType values_kept_by(const Program& p) { return p.graph == nullptr ? ElementType::float32 : p.graph->values; }

/// The 2 functions of one traced leaf, its forward and its backward; and of one in phases a function for each of them.
template <class Space> struct LeafKernelsIn {
  void (*forward)(const ForwardCallIn<Space>&) = nullptr;
  void (*backward)(const BackwardCallIn<Space>&) = nullptr;
  const ForwardPhaseIn<Space>* forward_phases = nullptr;
  const BackwardPhaseIn<Space>* backward_phases = nullptr;
  // of fused entries; null where the kernel has none
  void (*forward_with_tail)(const ForwardCallIn<Space>&, const TailIn<Space>&) = nullptr;
  void (*backward_with_tail)(const BackwardCallIn<Space>&, const TailIn<Space>&) = nullptr;
  void (*forward_in_tail)(const TailIn<Space>&, std::int64_t begin, std::int64_t end) = nullptr;
  void (*backward_in_tail)(const TailIn<Space>&, std::int64_t begin, std::int64_t end) = nullptr;
  void (*forward_of_sum)(const ForwardCallIn<Space>&, const AddendsIn<Space>&) = nullptr;
  void (*prepare)(const Leaf& leaf, std::int64_t rows, const Space&) = nullptr;  // before the first step; null where there is nothing to choose
  void (*prepare_with_tail)(const Leaf& leaf, std::int64_t rows, const TailIn<Space>&, bool back) = nullptr;
  KnownFunction known = KnownFunction::none;  // what libraries know an elementwise layer as
  bool takes_bfloat16 = false;                // forward and backward are given values in bfloat16, and parameters rounded to it
};
using LeafKernels = LeafKernelsIn<HostMemory>;

/// Everything that runs arithmetic, by traced leaf. With Adam states is 2, with MomentumSGD 1.
/// They take calls of one memory: a device of another memory takes no such table. KernelTable is that of the host.
template <class Space> struct KernelTableIn;
template <> struct KernelTableIn<HostMemory> {
  const LeafKernels* leaves = nullptr;
  float (*loss)(const LossCall&) = nullptr;
  void (*loss_terms)(const LossCall&) = nullptr;                                  ///< null where the loss takes whole outputs only
  void (*each_loss)(const LossCall&, double* means, double* divisors) = nullptr;  ///< of several losses; null where there is one
  TargetRanges targets{};                                                         ///< what a row of targets has
  int states = 0;
  void (*step)(const void* constants, std::int64_t elements, float* parameters, const float* gradients, float* const* states) = nullptr;
  void (*add)(float* target, const float* a, const float* b, std::int64_t n) = nullptr;
  void (*copy)(float* target, const float* source, std::int64_t n) = nullptr;
  std::int64_t workspace_bytes = 0;
  Arithmetic arithmetic = arithmetic_in<FloatArithmetic>;
  std::uint64_t functions = 0;  ///< of the names of loss and optimizer, which processes compare: a Program has neither
  static constexpr bool loss_takes_bfloat16 = false;

  [[nodiscard]] const KernelTableIn& on_host() const { return *this; }
};
using KernelTable = KernelTableIn<HostMemory>;
/// That of another memory, with 2 states for Adam as well: its loss writes where the call says, and the constants of its step lie there too.
/// `reference` has the kernels of the host that look for numbers which are not finite and take each of several losses of an evaluation; without
/// leaves there are none.
template <class Space> struct KernelTableIn {
  const LeafKernelsIn<Space>* leaves = nullptr;
  void (*loss)(const LossCallIn<Space>&) = nullptr;
  void (*loss_terms)(const LossCallIn<Space>&) = nullptr;
  TargetRanges targets{};
  int states = 0;
  void (*step)(const void* constants, const StepCallIn<Space>&) = nullptr;
  std::int64_t workspace_bytes = 0;
  std::uint64_t functions = 0;
  bool loss_takes_bfloat16 = false;  ///< loss and loss_terms are given outputs and gradients in bfloat16
  KernelTable reference{};

  [[nodiscard]] const KernelTable& on_host() const { return reference; }
};

}  // namespace heddle::run_room
