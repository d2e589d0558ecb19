// SPDX-License-Identifier: MIT
// Room: run. Which kernel a layer, a loss or an optimizer has on a backend, and what that kernel can do.
// Sees: graph, run/kernel_functions, seams/concepts.  Does not see: policies, threads, any backend.
// In: a layer, a loss or an optimizer and a compute backend as types.  Out: a type, and facts of it.
#pragma once

#include <concepts>
#include <cstdint>
#include <iterator>
#include <string_view>
#include <type_traits>

#include "heddle/core/bfloat16.hpp"
#include "heddle/graph/trace.hpp"
#include "heddle/run/kernel_functions.hpp"
#include "heddle/seams/concepts.hpp"

namespace heddle::run_room {

/// A backend names its kernels itself, or they are the specialisations of Kernel, LossKernel and OptimizerKernel for it.
template <class L, class Compute> struct KernelForOf { using type = Kernel<L, Compute>; };
template <class L, class Compute>
requires requires { typename Compute::template KernelOf<L>; }
struct KernelForOf<L, Compute> {
  using type = typename Compute::template KernelOf<L>;
};
template <class L, class Compute> using KernelFor = typename KernelForOf<typename KernelLayerOf<L>::type, Compute>::type;

/// The kernel of a loss on a backend: LossKernel<Loss, Compute>, unless the backend names its own.
template <class Loss, class Compute> struct LossKernelForOf { using type = LossKernel<Loss, Compute>; };
template <class Loss, class Compute>
requires requires { typename Compute::template LossKernelOf<Loss>; }
struct LossKernelForOf<Loss, Compute> {
  using type = typename Compute::template LossKernelOf<Loss>;
};
template <class Loss, class Compute> using LossKernelFor = typename LossKernelForOf<Loss, Compute>::type;

/// The kernel of an optimizer on a backend: OptimizerKernel<Optimizer, Compute>, unless the backend names its own.
template <class Optimizer, class Compute> struct OptimizerKernelForOf { using type = OptimizerKernel<Optimizer, Compute>; };
template <class Optimizer, class Compute>
requires requires { typename Compute::template OptimizerKernelOf<Optimizer>; }
struct OptimizerKernelForOf<Optimizer, Compute> {
  using type = typename Compute::template OptimizerKernelOf<Optimizer>;
};
template <class Optimizer, class Compute> using OptimizerKernelFor = typename OptimizerKernelForOf<Optimizer, Compute>::type;

template <class L, class Compute>
concept HasKernel = requires(const ForwardCallIn<SpaceOf<Compute>>& forward, const BackwardCallIn<SpaceOf<Compute>>& backward) {
  KernelFor<L, Compute>::forward(forward);
  KernelFor<L, Compute>::backward(backward);
};

/// A kernel that may be asked for either gradient alone; a leaf without parameters has but one.
template <class L, class Compute>
concept HasBackwardInParts = requires {
  requires KernelFor<L, Compute>::backward_in_parts;
};

/// Memory for temporary values of a kernel that says with static constexpr Bytes scratch(const Leaf&) that Compute::workspace is too little for it:
/// what it takes beside that. It is asked about the whole leaf; a part of it may take no more.
template <class L, class Compute> [[nodiscard]] constexpr Bytes scratch_of(const Leaf& leaf) {
  if constexpr (requires {
                  { KernelFor<L, Compute>::scratch(leaf) } -> std::same_as<Bytes>;
                })
    return KernelFor<L, Compute>::scratch(leaf);
  else
    return Bytes{0};
}

/// Functions that a kernel has for the phases of a forward, or of a backward.
template <class L, class Compute> [[nodiscard]] constexpr int forward_phases_of() {
  if constexpr (requires { KernelFor<L, Compute>::forward_phases; })
    return static_cast<int>(std::size(KernelFor<L, Compute>::forward_phases));
  else
    return 1;
}
template <class L, class Compute> [[nodiscard]] constexpr int backward_phases_of() {
  if constexpr (requires { KernelFor<L, Compute>::backward_phases; })
    return static_cast<int>(std::size(KernelFor<L, Compute>::backward_phases));
  else
    return 1;
}

/// A kernel that may be given an elementwise layer for its tail.
template <class L, class Compute>
concept TakesTail = std::same_as<typename KernelFor<L, Compute>::TakesTail, KernelFor<L, Compute>> &&
    requires(const ForwardCallIn<SpaceOf<Compute>>& forward, const BackwardCallIn<SpaceOf<Compute>>& backward, const TailIn<SpaceOf<Compute>>& tail) {
  KernelFor<L, Compute>::forward_with_tail(forward, tail);
  KernelFor<L, Compute>::backward_with_tail(backward, tail);
};
/// A kernel of an elementwise layer that may run in such a tail.
template <class L, class Compute>
concept RunsInTail = std::same_as<typename KernelFor<L, Compute>::RunsInTail, KernelFor<L, Compute>> &&
    requires(const TailIn<SpaceOf<Compute>>& tail, std::int64_t element) {
  KernelFor<L, Compute>::forward_in_tail(tail, element, element);
  KernelFor<L, Compute>::backward_in_tail(tail, element, element);
};
/// The same of values in bfloat16.
template <class L, class Compute>
concept TakesTailOfBFloat16 = requires(const ForwardCallIn<SpaceOf<Compute>>& forward, const BackwardCallIn<SpaceOf<Compute>>& backward,
                                       const TailIn<SpaceOf<Compute>>& tail) {
  KernelFor<L, Compute>::template forward_with_tail<BFloat16>(forward, tail);
  KernelFor<L, Compute>::template backward_with_tail<BFloat16>(backward, tail);
};
template <class L, class Compute>
concept RunsInTailOfBFloat16 = requires(const TailIn<SpaceOf<Compute>>& tail, std::int64_t element) {
  KernelFor<L, Compute>::template forward_in_tail<BFloat16>(tail, element, element);
  KernelFor<L, Compute>::template backward_in_tail<BFloat16>(tail, element, element);
};

/// A kernel that may make the sum that it reads.
template <class L, class Compute>
concept TakesSum = std::same_as<typename KernelFor<L, Compute>::TakesSum, KernelFor<L, Compute>> &&
    requires(const ForwardCallIn<SpaceOf<Compute>>& call, const AddendsIn<SpaceOf<Compute>>& sum) {
  KernelFor<L, Compute>::forward_of_sum(call, sum);
};
/// The same of terms and a sum in bfloat16.
template <class L, class Compute>
concept TakesSumOfBFloat16 = requires(const ForwardCallIn<SpaceOf<Compute>>& call, const AddendsIn<SpaceOf<Compute>>& sum) {
  KernelFor<L, Compute>::template forward_of_sum<BFloat16>(call, sum);
};

/// A kernel that takes values in bfloat16 as they lie.
template <class L, class Compute>
concept TakesBFloat16 = std::same_as<typename KernelFor<L, Compute>::TakesBFloat16, KernelFor<L, Compute>> &&
    requires(const ForwardCallIn<SpaceOf<Compute>>& forward, const BackwardCallIn<SpaceOf<Compute>>& backward) {
  KernelFor<L, Compute>::template forward<BFloat16>(forward);
  KernelFor<L, Compute>::template backward<BFloat16>(backward);
};
/// The same of a loss, whose kernel may have terms as well.
template <class Loss, class Compute>
concept LossTakesBFloat16 = std::same_as<typename LossKernelFor<Loss, Compute>::TakesBFloat16, LossKernelFor<Loss, Compute>> &&
    requires(const LossCallIn<SpaceOf<Compute>>& call) {
  LossKernelFor<Loss, Compute>::template sum<BFloat16>(call);
};

/// A kernel that chooses before the first step how it computes so many rows; where it takes bfloat16, of values as they lie.
template <class L, class Compute>
concept Prepares = requires(const Leaf& leaf, std::int64_t rows, const SpaceOf<Compute>& space) {
  KernelFor<L, Compute>::prepare(leaf, rows, space);
};
template <class L, class Compute, class Value>
concept PreparesFor = requires(const Leaf& leaf, std::int64_t rows, const SpaceOf<Compute>& space) {
  KernelFor<L, Compute>::template prepare<Value>(leaf, rows, space);
};

/// The same of how it computes so many rows with a layer in its tail; `back`: of its backward.
template <class L, class Compute, class Value>
concept PreparesTail = requires(const Leaf& leaf, std::int64_t rows, const TailIn<SpaceOf<Compute>>& tail) {
  KernelFor<L, Compute>::template prepare_with_tail<Value>(leaf, rows, tail, true);
};

/// Memory for temporary values of the kernel of a loss: static constexpr Bytes scratch().
template <class Loss, class Compute> [[nodiscard]] constexpr Bytes loss_scratch_of() {
  if constexpr (requires {
                  { LossKernelFor<Loss, Compute>::scratch() } -> std::same_as<Bytes>;
                })
    return LossKernelFor<Loss, Compute>::scratch();
  else
    return Bytes{0};
}

template <class Loss, class Compute>
concept HasTerms = requires(const LossCallIn<SpaceOf<Compute>>& call) {
  LossKernelFor<Loss, Compute>::terms(call);
};

/// Of several losses: each of them by itself.
template <class Loss, class Compute>
concept HasEachLoss = requires(const LossCallIn<SpaceOf<Compute>>& call, double* numbers) {
  LossKernelFor<Loss, Compute>::each(call, numbers, numbers);
};

/// Neither the input of a model nor a sum calls a kernel.
template <class L>
concept RunsNoKernel = requires {
  L::is_input;
}
|| requires { L::is_sum; };

/// The template that a user specialises for a layer on this backend: Kernel<L, Compute>, or what the backend names instead.
template <class Compute> [[nodiscard]] constexpr std::string_view kernel_name() {
  if constexpr (requires { Compute::kernel_name; })
    return Compute::kernel_name;
  else
    return "Kernel";
}

/// The same for a loss: LossKernel, or what the backend names instead.
template <class Compute> [[nodiscard]] constexpr std::string_view loss_kernel_name() {
  if constexpr (requires { Compute::loss_kernel_name; })
    return Compute::loss_kernel_name;
  else
    return "LossKernel";
}

/// The functions of a kernel for tails, of values as the plan keeps them.
template <class L, class Compute, ElementType values> constexpr void note_tails(LeafKernelsIn<SpaceOf<Compute>>& all) {
  constexpr bool halves = TakesBFloat16<L, Compute> && values == ElementType::bfloat16;
  if constexpr (TakesTail<L, Compute> && !halves) {
    all.forward_with_tail = &KernelFor<L, Compute>::forward_with_tail;
    all.backward_with_tail = &KernelFor<L, Compute>::backward_with_tail;
  } else if constexpr (TakesTail<L, Compute> && TakesTailOfBFloat16<L, Compute>) {
    all.forward_with_tail = &KernelFor<L, Compute>::template forward_with_tail<BFloat16>;
    all.backward_with_tail = &KernelFor<L, Compute>::template backward_with_tail<BFloat16>;
  }
  if constexpr (RunsInTail<L, Compute> && !halves) {
    all.forward_in_tail = &KernelFor<L, Compute>::forward_in_tail;
    all.backward_in_tail = &KernelFor<L, Compute>::backward_in_tail;
  } else if constexpr (RunsInTail<L, Compute> && RunsInTailOfBFloat16<L, Compute>) {
    all.forward_in_tail = &KernelFor<L, Compute>::template forward_in_tail<BFloat16>;
    all.backward_in_tail = &KernelFor<L, Compute>::template backward_in_tail<BFloat16>;
  }
  if constexpr (RunsInTail<L, Compute> && requires { KernelFor<L, Compute>::known; }) all.known = KernelFor<L, Compute>::known;
  using Value = std::conditional_t<halves, BFloat16, float>;
  if constexpr (TakesTail<L, Compute> && PreparesTail<L, Compute, Value>)
    all.prepare_with_tail = &KernelFor<L, Compute>::template prepare_with_tail<Value>;
}

}  // namespace heddle::run_room
