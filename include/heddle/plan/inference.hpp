// SPDX-License-Identifier: MIT
// Room: plan. Inference: a model under a policy that is only applied; the arena has no gradient and no optimizer state.
// Sees: plan, graph.  Does not see: processes, threads, kernels.
// In: a model, Batch<N>, a policy.  Out: the evaluation program with an arena of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "heddle/graph/losses/no_loss.hpp"
#include "heddle/graph/optimizers/sgd.hpp"
#include "heddle/plan/plan.hpp"

namespace heddle::plan_room {

template <class... Types> struct Inference;

/// The arenas of an evaluation without what training needs: parameters, the zeros that stand for some of them, the pools of the forward, its scratch.
template <int Roles, int Pools> struct ForwardArenas {
  ArenaMap maps[std::size_t{Roles}]{};
  Pool pools[std::size_t{Pools}]{};

  /// `scratch`: bytes that the forward of each chunk uses.
  constexpr ForwardArenas(const Program& p, const std::int64_t* scratch) { place_forward_arenas(p, scratch, maps, pools); }
};

/// The plan that would train a model, with the cut that its policy asked for.
template <class Request> struct CutAsAsked : Request { static constexpr Layout layout = Request::answered; };

/// The arenas of the forward of a Request that is sound.
template <class Request>
inline constexpr ForwardArenas<SharedPhases<Request>::roles, SharedPhases<Request>::chunks * pool_kinds> forward_arenas{
    LoweredPrograms<Request>::evaluation, LoweredPrograms<Request>::Evaluate::all_bodies.scratch_bytes};

/// The cut of an Inference: as its policy asked for if the forward fits so; else the one that was fitted to what training needs.
template <class Trained> struct ForwardLayout {
  using Request = RequestOf<Trained>;
  static constexpr Layout layout = [] {
    if constexpr (CheckedParts<Trained>::sound.ok() && fits_cut_to_memory<Request>()) {
      Program p = LoweredPrograms<CutAsAsked<Request>>::evaluation;
      p.arenas = forward_arenas<CutAsAsked<Request>>.maps;
      if (check_memory(p, Request::budget).ok()) return Request::answered;
    }
    return Request::layout;
  }();
};

/// An Inference is checked as the plan that would train it: NoLoss and an optimizer without states stand for the parts that it has not.
/// A budget is of the arena that it has itself.
template <class... Types> struct RequestOf<Inference<Types...>> : RequestOf<Plan<Types..., NoLoss, SGD>> {
  static constexpr Diagnosis own_parts = check_parts_of_inference<Types...>();
  static constexpr Diagnosis parts = own_parts.ok() ? RequestOf<Plan<Types..., NoLoss, SGD>>::parts : own_parts;
  static constexpr Layout layout = ForwardLayout<Plan<Types..., NoLoss, SGD>>::layout;
  static constexpr bool trains = false;  // so it may have nothing to train
  static constexpr Bytes budget{};       // of what would train: none
  static constexpr Bytes own_budget = RequestOf<Plan<Types..., NoLoss, SGD>>::budget;
};

/// The program of an Inference; that of a refused one has no instructions, so that the refusal stays the only error.
template <class TheInference> struct ForwardProgram {
  static constexpr auto whole = ProgramOf<TheInference, false>::program;
  static constexpr auto program = [] {
    auto p = whole;
    if constexpr (CheckedParts<TheInference>::sound.ok()) {
      p.arenas = forward_arenas<RequestOf<TheInference>>.maps;
      p.pools = forward_arenas<RequestOf<TheInference>>.pools;
    }
    return p;
  }();
};

/// All checks of an Inference.
template <class TheInference> struct CheckedInference {
  static constexpr Diagnosis find_arenas() {
    if constexpr (Checked<TheInference>::found.ok())
      return check_arenas(ForwardProgram<TheInference>::program, 0, false);
    else
      return Checked<TheInference>::found;
  }
  static constexpr Diagnosis arenas = find_arenas();
  static constexpr Diagnosis found = arenas.ok() ? check_memory(ForwardProgram<TheInference>::program, RequestOf<TheInference>::own_budget) : arenas;
};

/// A model, a batch, a policy and options, in any order, that Runner applies: no loss, no optimizer, no gradients.
///
/// Shape   inputs (rows, In) are scattered, outputs (rows, Out) gathered in the order of the rows
/// Errors  the code of the first broken rule, as of the Plan that would train it; C01 by its own arena, L10 what only training has
/// Tested  plan/inference_test, run/runner_test, fail/B01_inference
template <class... Types> struct Inference {
  static_assert(sizeof(fired<CheckedInference<Inference>>) > 0);

  using Request = RequestOf<Inference>;
  /// Two objects, as a Plan has: code that asks which of them runs is answered.
  static constexpr auto training = ForwardProgram<Inference>::program;
  static constexpr auto evaluation = ForwardProgram<Inference>::program;
};

template <class... Types> struct Verdict<Inference<Types...>> : CheckedInference<Inference<Types...>> {};
template <class... Types> std::type_identity<Inference<Types...>> plan_behind(const Inference<Types...>*);

}  // namespace heddle::plan_room

namespace heddle {
using plan_room::Inference;
}  // namespace heddle
