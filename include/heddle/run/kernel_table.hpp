// SPDX-License-Identifier: MIT
// Room: run. Function pointers for the leaves, loss and optimizer of a plan: the executor itself is no template on models.
// Sees: graph, plan/read/program_hash, run/arithmetic, run/kernel_of, seams/concepts.  Does not see: policies, threads, any backend.
// In: a model, a loss, an optimizer and a compute backend as types.  Out: KernelTable.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "heddle/core/bfloat16.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/graph/losses/several_losses.hpp"
#include "heddle/graph/trace.hpp"
#include "heddle/plan/read/program_hash.hpp"
#include "heddle/run/arithmetic.hpp"
#include "heddle/run/kernel_functions.hpp"
#include "heddle/run/kernel_of.hpp"
#include "heddle/seams/concepts.hpp"

namespace heddle::run_room {

template <class Loss, class Compute>
concept HasLossKernel = requires(const LossCallIn<SpaceOf<Compute>>& call) {
  LossKernelFor<Loss, Compute>::sum(call);
  requires !std::same_as<SpaceOf<Compute>, HostMemory> || std::convertible_to<decltype(LossKernelFor<Loss, Compute>::sum(call)), float>;
};
/// Why a kernel cannot run in this file, if it says so: static constexpr Diagnosis refused.
template <class Kernel> [[nodiscard]] constexpr Diagnosis said_by() {
  if constexpr (requires { Kernel::refused; })
    return Kernel::refused;
  else
    return {};
}
/// G13: a loss has no kernel, or one of several losses has none.
template <class Loss, class Compute> struct LossWithKernel {
  static constexpr Diagnosis check() {
    if constexpr (HasLossKernel<Loss, Compute>)
      return said_by<LossKernelFor<Loss, Compute>>();
    else
      return Diagnosis{Code{'G', 13}, ""} << "loss " << Loss::name() << " has no kernel for " << type_name<Compute>().view()
                                          << ". Fix: specialise heddle::" << loss_kernel_name<Compute>() << '<' << type_name<Loss>().view()
                                          << ", ...> with static float sum(const LossCall&), or derive the loss from MeanOverElements.";
  }
};
template <class... Each, class Compute> struct LossWithKernel<graph_room::Losses<Each...>, Compute> {
  static constexpr Diagnosis check() {
    Diagnosis found;
    (...,
     (found.ok() ? static_cast<void>(found = LossWithKernel<typename graph_room::ReadLossOf<Each>::Loss, Compute>::check()) : static_cast<void>(0)));
    return found;
  }
};

/// G13, P07: static_assert(sizeof(fired<CheckedLoss<Loss, Compute>>)).
template <class Loss, class Compute> struct CheckedLoss {
  static constexpr Diagnosis find() {
    if (const Diagnosis of_kernel = LossWithKernel<Loss, Compute>::check(); !of_kernel.ok()) return of_kernel;
    if constexpr (SplitLossDescription<Loss> && !HasTerms<Loss, Compute>)
      return Diagnosis{Code{'P', 7}, ""} << Loss::name() << " says that it takes outputs in parts, but its kernel for " << type_name<Compute>().view()
                                         << " makes no terms of a part. Fix: give " << loss_kernel_name<Compute>()
                                         << " a static void terms(const LossCall&), or drop splits and terms from the loss.";
    else
      return {};
  }
  static constexpr Diagnosis found = find();
};

template <class L, class Compute>
concept HasKernelForward = requires(const ForwardCallIn<SpaceOf<Compute>>& call) {
  KernelFor<L, Compute>::forward(call);
};
/// A kernel for the memory of the host, where the tensors of the backend do not lie.
template <class L, class Compute>
concept HasKernelOfTheHostAlone = !HasKernelForward<L, Compute> && requires(const ForwardCall& call) {
  KernelFor<L, Compute>::forward(call);
};
template <class L, class Compute>
concept HasKernelOfAnySort = requires {
  sizeof(KernelFor<L, Compute>);
};

/// G13: there is no kernel, or one whose functions do not take the calls.
template <class L, class Compute> [[nodiscard]] constexpr Diagnosis refuse_missing_kernel() {
  constexpr bool names_compute = kernel_name<Compute>() == "Kernel";
  Text<128> kernel{"heddle::"};
  kernel << kernel_name<Compute>() << '<' << type_name<L>().view() << (names_compute ? ", " : "")
         << (names_compute ? type_name<Compute>().view() : "") << '>';
  if constexpr (HasKernelOfTheHostAlone<L, Compute>) {
    const auto memory = type_name<SpaceOf<Compute>>();
    return Diagnosis{Code{'G', 13}, ""} << "layer " << type_name<L>().view() << " has a kernel for " << type_name<Compute>().view() << ", but "
                                        << kernel.view() << " is written for the memory of the host, and tensors lie in " << memory.view()
                                        << ". Fix: let it take ForwardCallIn<" << memory.view() << "> and BackwardCallIn<" << memory.view() << ">.";
  } else if constexpr (HasKernelOfAnySort<L, Compute>) {
    constexpr bool forward = !HasKernelForward<L, Compute>;  // both may be missing: the first one is named
    return Diagnosis{Code{'G', 13}, ""} << "layer " << type_name<L>().view() << " has a kernel for " << type_name<Compute>().view() << ", but "
                                        << kernel.view() << " has no static void "
                                        << (forward ? "forward(const ForwardCall&)" : "backward(const BackwardCall&)")
                                        << ". Fix: add it; the call has the rows, the sizes and the pointers.";
  } else {
    return Diagnosis{Code{'G', 13}, ""} << "layer " << type_name<L>().view() << " has no kernel for " << type_name<Compute>().view()
                                        << ". Fix: specialise " << kernel.view() << " with forward(ForwardCall) and backward(BackwardCall).";
  }
}

/// G13: a kernel has no function, or another number of them, for the phases that its leaf runs in.
template <class L, class Compute> [[nodiscard]] constexpr Diagnosis refuse_other_phases(const Leaf& leaf) {
  const int stated[] = {leaf.forward_phases.count(), leaf.backward_phases.count()};
  const int made[] = {forward_phases_of<L, Compute>(), backward_phases_of<L, Compute>()};
  if (stated[0] == made[0] && stated[1] == made[1]) return {};
  const int way = stated[0] == made[0] ? 1 : 0;
  return Diagnosis{Code{'G', 13}, ""} << "layer " << type_name<L>().view() << " runs " << (way == 0 ? "forward" : "backward") << " in " << stated[way]
                                      << (stated[way] == 1 ? " phase" : " phases") << ", but its kernel for " << type_name<Compute>().view() << " in "
                                      << made[way] << ". Fix: give " << kernel_name<Compute>() << " a static constexpr "
                                      << (way == 0 ? "ForwardPhase forward_phases[]" : "BackwardPhase backward_phases[]")
                                      << " with a function for each phase, or let its describe state as many.";
}

/// Looks for a layer that a backend cannot run, whole or in two parts: if an order splits the backward, or if it is frozen and passes a gradient on.
/// In Sequential<Linear<4, 3>, Mine> the number of Mine is 1.
template <class Compute, bool Split> struct KernelCheck {
  const Graph& graph;
  int number = 0;  // of the leaf in hand
  Diagnosis fault{};
  template <class L> constexpr int layer(int value) {
    if constexpr (Composite<L>)
      L::trace(*this, value);
    else if constexpr (!HasKernel<L, Compute> && !RunsNoKernel<L>)
      fault = refuse_missing_kernel<L, Compute>();
    else if constexpr (!said_by<KernelFor<L, Compute>>().ok())
      fault = said_by<KernelFor<L, Compute>>();
    else if constexpr (!HasBackwardInParts<L, Compute> && !RunsNoKernel<L>)
      if (runs_in_parts())
        fault = Diagnosis{Code{'G', 14}, ""} << "layer " << type_name<L>().view() << " has parameters, but its kernel for "
                                             << type_name<Compute>().view() << " has no backward in two parts, which "
                                             << (Split ? "the order of the plan" : "Frozen")
                                             << " needs. Fix: let it leave out a gradient whose pointer is null and say"
                                                " static constexpr bool backward_in_parts = true.";
    if constexpr (!Composite<L> && HasKernel<L, Compute>)
      if (fault.ok()) fault = refuse_other_phases<L, Compute>(graph.leaves[number].leaf);
    if constexpr (!Composite<L>) ++number;
    return value;
  }
  template <class L> constexpr int child(int, int value) { return layer<L>(value); }
  template <class L> constexpr int named(std::string_view, int value) { return layer<L>(value); }
  template <int, class Block> constexpr int repeat(int value) { return layer<Block>(value); }
  template <class Op> constexpr int join(int, int value, const Joint& = {}) { return layer<Op>(value); }
  template <class> constexpr int source(int, int value) { return ++number, value; }
  template <class...> constexpr void siblings() {}

 private:
  [[nodiscard]] constexpr bool runs_in_parts() const {
    if (graph.leaves[number].leaf.parameter_count == 0) return false;
    bool runs = Split;
    for (int n = 0; n < graph.node_count && !runs; ++n) runs = graph.nodes[n].leaf == number && graph.frozen(n) && graph.runs_backward(n);
    return runs;
  }
};

/// G13, and G14 if an order splits the backward or a layer is frozen: static_assert(sizeof(fired<CheckedKernels<Model, Compute, Split>>)).
template <class Model, class Compute, bool Split> struct CheckedKernels {
  static constexpr Diagnosis found = [] {
    KernelCheck<Compute, Split> check{Traced<Model>::graph};
    check.template layer<Model>(0);
    return check.fault;
  }();
};

/// Walks a model as the tracer does and notes the kernels of each leaf for a plan that keeps values as `values`. Linear, ReLU and Linear give
/// count 3.
template <class Compute, int Leaves, ElementType values> struct KernelCollector {
  LeafKernelsIn<SpaceOf<Compute>> leaves[std::size_t{Leaves > 0 ? Leaves : 1}]{};
  int count = 0;
  const Graph* graph = nullptr;
  Bytes scratch{};  ///< the most that one of them takes

  template <class L> constexpr int layer(int value) {
    if constexpr (Composite<L>)
      return L::trace(*this, value);
    else if constexpr (RunsNoKernel<L>)
      ++count;
    else if constexpr (!HasKernel<L, Compute> || !said_by<KernelFor<L, Compute>>().ok())
      ++count;  // refused by CheckedKernels
    else
      note<L>();
    return value;
  }
  template <class L> constexpr int child(int, int value) { return layer<L>(value); }
  template <class L> constexpr int named(std::string_view, int value) { return layer<L>(value); }
  template <int, class Block> constexpr int repeat(int value) { return layer<Block>(value); }
  template <class Op> constexpr int join(int, int value, const Joint& = {}) { return layer<Op>(value); }
  template <class> constexpr int source(int, int value) { return ++count, value; }
  template <class...> constexpr void siblings() {}

 private:
  template <class L> constexpr void note() {
    if (const Bytes own = scratch_of<L, Compute>(graph->leaves[count].leaf); own.value > scratch.value) scratch = own;
    leaves[count++] = kernels_of<L>();
  }
  template <class L> static constexpr LeafKernelsIn<SpaceOf<Compute>> kernels_of() {
    LeafKernelsIn<SpaceOf<Compute>> all;
    if constexpr (TakesBFloat16<L, Compute>) {
      using Value = std::conditional_t<values == ElementType::bfloat16, BFloat16, float>;
      all.forward = &KernelFor<L, Compute>::template forward<Value>;
      all.backward = &KernelFor<L, Compute>::template backward<Value>;
      all.takes_bfloat16 = values == ElementType::bfloat16;
      if constexpr (PreparesFor<L, Compute, Value>) all.prepare = &KernelFor<L, Compute>::template prepare<Value>;
    } else {
      all.forward = &KernelFor<L, Compute>::forward;
      all.backward = &KernelFor<L, Compute>::backward;
      if constexpr (Prepares<L, Compute>) all.prepare = &KernelFor<L, Compute>::prepare;
    }
    if constexpr (forward_phases_of<L, Compute>() > 1) all.forward_phases = KernelFor<L, Compute>::forward_phases;
    if constexpr (backward_phases_of<L, Compute>() > 1) all.backward_phases = KernelFor<L, Compute>::backward_phases;
    note_tails<L, Compute, values>(all);
    if constexpr (TakesSum<L, Compute>) {
      if constexpr (!TakesBFloat16<L, Compute> || values != ElementType::bfloat16)
        all.forward_of_sum = &KernelFor<L, Compute>::forward_of_sum;
      else if constexpr (TakesSumOfBFloat16<L, Compute>)
        all.forward_of_sum = &KernelFor<L, Compute>::template forward_of_sum<BFloat16>;
    }
    return all;
  }
};

/// Owns the kernels of all leaves of a model, as a constant: 3 pairs of functions for Linear, ReLU, Linear<10, 4>.
template <class Model, class Compute, ElementType values = ElementType::float32> struct ModelKernels {
  static constexpr auto collected = [] {
    KernelCollector<Compute, Traced<Model>::counted.leaves, values> collector;
    collector.graph = &Traced<Model>::graph;
    collector.template layer<Model>(0);
    return collector;
  }();
};

/// Kernels of a loss for a plan that keeps values as `values`.
template <class Loss, class Compute, ElementType values> void note_loss(KernelTableIn<SpaceOf<Compute>>& table) {
  if constexpr (values == ElementType::bfloat16 && LossTakesBFloat16<Loss, Compute>) {
    table.loss = &LossKernelFor<Loss, Compute>::template sum<BFloat16>;
    if constexpr (HasTerms<Loss, Compute>) table.loss_terms = &LossKernelFor<Loss, Compute>::template terms<BFloat16>;
    table.loss_takes_bfloat16 = true;
  } else {
    table.loss = &LossKernelFor<Loss, Compute>::sum;
    if constexpr (HasTerms<Loss, Compute>) table.loss_terms = &LossKernelFor<Loss, Compute>::terms;
  }
}

/// Of a plan that is refused none: its model may have layers without kernels. `Reference` is a Compute of the host. Kernels are those for values of
/// the type that the plan keeps them in.
template <class Model, class Loss, class Optimizer, class Compute, bool Sound = true, class Reference = Compute,
          ElementType values = ElementType::float32>
[[nodiscard]] KernelTableIn<SpaceOf<Compute>> kernel_table() {
  constexpr bool on_host = std::is_same_v<SpaceOf<Compute>, HostMemory>;
  KernelTableIn<SpaceOf<Compute>> table;
  if constexpr (Sound) {
    using Kernels = ModelKernels<Model, Compute, values>;
    table.leaves = Kernels::collected.leaves;
    if constexpr (CheckedLoss<Loss, Compute>::found.ok()) note_loss<Loss, Compute, values>(table);
    table.targets = target_ranges_of<Loss>(Traced<Model>::graph.output());
    table.states = Optimizer::states;
    table.workspace_bytes = std::max(Compute::workspace + Kernels::collected.scratch, loss_scratch_of<Loss, Compute>()).value;
    table.functions = Fnv{}.add_text(type_name<Loss>().view()).add_text(type_name<Optimizer>().view()).value();
    if constexpr (on_host) {
      if constexpr (CheckedLoss<Loss, Compute>::found.ok())
        if constexpr (HasEachLoss<Loss, Compute>) table.each_loss = &LossKernelFor<Loss, Compute>::each;
      table.step = [](const void* constants, std::int64_t elements, float* parameters, const float* gradients, float* const* states) {
        OptimizerKernelFor<Optimizer, Compute>::step(*static_cast<const typename Optimizer::Constants*>(constants), elements, parameters, gradients,
                                                     states);
      };
      table.add = &Compute::add;
      table.copy = &Compute::copy;
      table.arithmetic = arithmetic_of<Compute>();
    } else {
      table.step = [](const void* constants, const StepCallIn<SpaceOf<Compute>>& call) {
        OptimizerKernelFor<Optimizer, Compute>::step(static_cast<const typename Optimizer::Constants*>(constants), call);
      };
      if constexpr (std::is_same_v<SpaceOf<Reference>, HostMemory>) table.reference = kernel_table<Model, Loss, Optimizer, Reference>();
    }
  }
  return table;
}

}  // namespace heddle::run_room
