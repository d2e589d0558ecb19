// SPDX-License-Identifier: MIT
// Room: plan. Plan: the type that is the parallel plan; if it is complete, it is checked.
// Sees: graph, policies, every phase of plan.  Does not see: processes, threads, kernels.
// In: an unordered pack of parts.  Out: Plan, check<Plan>(), devices, peak_memory, traffic.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "heddle/core/fire.hpp"
#include "heddle/plan/clipping.hpp"
#include "heddle/plan/coverage.hpp"
#include "heddle/plan/fitted_cut.hpp"
#include "heddle/plan/ledger.hpp"
#include "heddle/plan/loss_scaling.hpp"
#include "heddle/plan/lower.hpp"
#include "heddle/plan/paired.hpp"
#include "heddle/plan/parts.hpp"
#include "heddle/plan/placements.hpp"
#include "heddle/plan/slices.hpp"
#include "heddle/plan/tied_check.hpp"

namespace heddle::inline plan_room {

template <class... Types> struct Plan;

/// The parts of a plan as one value each: what the lowering reads.
template <class ThePlan> struct RequestOf;
template <class... Types> struct RequestOf<Plan<Types...>> {
  template <PlanPart Wanted> using Find = typename FindPart<Wanted, Types...>::type;
  using Model = Find<PlanPart::model>;
  using Loss = Find<PlanPart::loss>;
  using Optimizer = Find<PlanPart::optimizer>;
  using Rows = Find<PlanPart::batch>;
  using ThePolicy = Find<PlanPart::policy>;

  static constexpr Diagnosis parts = check_parts<Types...>();

  template <PlanPart Wanted, class Default, class Read> static constexpr auto option(Default otherwise, Read read) {
    using Found = Find<Wanted>;
    if constexpr (std::is_void_v<Found>)
      return otherwise;
    else
      return read(std::type_identity<Found>{});
  }
  static constexpr Graph graph = graph_of<Model>;
  static constexpr Layout answered = [] {
    Layout answers{graph};
    if (graph.fault.ok()) answers.loss = split_of_loss<Loss>(graph.output());
    ThePolicy::answer(graph, answers);
    return answers;
  }();
  static constexpr BatchRequest batch_request{
      Rows::batch_rows,
      Rows::batch_remedy,
      option<PlanPart::accumulate>(1, []<class T>(std::type_identity<T>) { return T::accumulate_rounds; }),
      option<PlanPart::grain>(0, []<class T>(std::type_identity<T>) { return T::grain_rows > 0 ? T::grain_rows : -1; }),
      option<PlanPart::reproducible>(false, []<class T>(std::type_identity<T>) { return true; }),
      regroups_a_gradient(graph, answered)};
  static constexpr BatchDivision batch = divide_batch(answered, batch_request);
  static constexpr Bytes bucket_bytes = option<PlanPart::bucket>(default_bucket, []<class T>(std::type_identity<T>) { return T::bucket_bytes; });
  static constexpr Bytes budget = option<PlanPart::memory>(Bytes{0}, []<class T>(std::type_identity<T>) { return T::memory_budget; });
  static constexpr bool clips = option<PlanPart::clip>(false, []<class T>(std::type_identity<T>) { return T::clips; });
  using Chosen = ChosenLayers<Find<PlanPart::recompute>, Model>;
  static constexpr bool scales_loss = option<PlanPart::loss_scaling>(false, []<class T>(std::type_identity<T>) { return T::scales_loss; });
  static constexpr std::int64_t target_features = Loss::target_features(graph.output());
  static constexpr int states = Optimizer::states;
  static constexpr Layout layout = FittedLayout<RequestOf>::layout;
};

/// C01: the sentence names the stage that needs most, its bytes and the two largest contributors. `fitted`: its cut was chosen for the budget.
[[nodiscard]] constexpr Diagnosis check_memory(const Program& p, Bytes budget, bool fitted = false) {
  if (budget.value == 0) return {};
  int largest = 0;
  for (int r = 1; r < p.roles; ++r)
    if (p.arenas[r].total > p.arenas[largest].total) largest = r;
  if (const ArenaMap& map = p.arenas[largest]; map.total > budget.value) {
    struct Share {
      std::string_view name;
      std::int64_t bytes;
    };
    Share parts[] = {{"parameters", map.gradients - map.parameters},  // with units that are gathered
                     {"gradients", map.states - map.gradients},
                     {"optimizer states", map.losses - map.states},
                     {"activations and transfers", map.scratch - map.pools},
                     {"scratch", map.total - map.scratch}};
    for (Share& a : parts)
      for (Share& b : parts)
        if (a.bytes > b.bytes) {
          const Share t = a;
          a = b;
          b = t;
        }
    return Diagnosis{Code{'C', 1}, ""} << "stage " << largest << " needs " << map.total << " bytes" << (fitted ? " in the best cut found" : "")
                                       << ", the plan allows " << budget.value << " bytes. Largest: " << parts[0].name << " with " << parts[0].bytes
                                       << " bytes, " << parts[1].name << " with " << parts[1].bytes
                                       << " bytes. Fix: use more stages, a smaller batch or a larger Memory.";
  }
  return {};
}

/// What the check of lines found in one mode of a plan; the checks of how the lists meet and end read it.
template <int Most, int Roles> struct FoundInLines {
  Diagnosis found;
  int starts[std::size_t{Most}]{};
  int after[std::size_t{Most}]{};
  int first_start[std::size_t{Roles}]{};
  int first_closing = 0;
};

/// Every line of one mode of a plan, then how the lists meet.
template <class Request, bool Training> struct CheckedLines {
  using P = Placed<Request>;
  static constexpr int most = Lowered<Request, Training>::together;
  /// A function: nvcc 13 rejects a static member that is a reference.
  static constexpr const Program& program() { return Training ? Addressed<Request>::training : Addressed<Request>::evaluation; }

  static constexpr FoundInLines<most, P::roles> check_lines() {  // in a lambda clang 14 takes this for no constant expression
    FoundInLines<most, P::roles> out;
    ChunkPass passes[P::chunks * P::micro_batches]{};
    int of_token[std::size_t{most}]{};
    LineCheck check{program(), passes, out.starts, of_token, out.after, out.first_start};
    check.run();
    out.found = check.found;
    out.first_closing = check.first_closing;
    return out;
  }
  static constexpr FoundInLines<most, P::roles> lines = check_lines();
  /// The short proof; lists that it says nothing about are executed.
  static constexpr bool paired = [] {
    int next[P::roles]{};
    for (int r = 0; r < P::roles; ++r) next[r] = lines.first_start[r];
    return lines.found.ok() && starts_pair_up(program(), lines.after, next);
  }();
  static constexpr Diagnosis rendezvous = [] {
    if constexpr (paired || !lines.found.ok()) {
      return lines.found;
    } else {
      RendezvousBuffers<most, P::roles> buffers;
      return check_rendezvous(ProgramLists{&program(), lines.starts, P::roles}, Lanes::one_per_device, buffers.view());
    }
  }();
};

/// The checks that read the lowered Program, one constexpr variable each.
template <class Request> struct CheckedProgram {
  using P = Placed<Request>;
  using Trained = CheckedLines<Request, true>;
  using Evaluated = CheckedLines<Request, false>;

  static constexpr Diagnosis reductions = [] {
    BucketCounts counts[P::bucket_count]{};
    return check_reductions(Addressed<Request>::training, counts, Trained::lines.after, Trained::lines.first_closing);
  }();
  static constexpr Diagnosis slices = check_slices(Addressed<Request>::training);
  static constexpr Diagnosis slices_in_evaluation = check_slices(Addressed<Request>::evaluation);
  static constexpr Diagnosis placements = check_placements(Addressed<Request>::training);
  static constexpr Diagnosis placements_in_evaluation = check_placements(Addressed<Request>::evaluation);
  static constexpr Diagnosis clipping = check_clipping(Addressed<Request>::training);
  static constexpr Diagnosis scaling = check_loss_scaling(Addressed<Request>::training);
  static constexpr Diagnosis ties = check_ties(Addressed<Request>::training);
  static constexpr Diagnosis memory = check_memory(Addressed<Request>::training, Request::budget, fits_cut_to_memory<Request>());

  static constexpr Diagnosis found() {
    for (const Diagnosis* d : {&Trained::lines.found, &Evaluated::lines.found, &reductions, &slices, &slices_in_evaluation, &placements,
                               &placements_in_evaluation, &clipping, &scaling, &ties, &Trained::rendezvous, &Evaluated::rendezvous, &memory})
      if (!d->ok()) return *d;
    return {};
  }
};

/// All checks of a plan, in order; each phase is looked at only if the phases before it are sound.
template <class ThePlan> struct Checked {
  using Request = RequestOf<ThePlan>;

  static constexpr Diagnosis before_lowering() {
    if constexpr (!Request::parts.ok()) {
      return Request::parts;
    } else if constexpr (!Request::graph.fault.ok()) {
      return Request::graph.fault;
    } else if constexpr (constexpr Diagnosis loss = Request::Loss::accepts(Request::graph.output()); !loss.ok()) {
      return loss;
    } else if constexpr (Request::graph.parameter_count == 0) {
      return Diagnosis{Code{'G', 9}, ""} << Request::graph.model.view()
                                         << " has no parameters, so there is nothing to train. Fix: add a layer with parameters.";
    } else if constexpr (!Request::Chosen::value.fault.ok()) {
      return Request::Chosen::value.fault;
    } else if constexpr (!Request::layout.fault.ok()) {
      return Request::layout.fault;
    } else if constexpr (!Request::batch.fault.ok()) {
      return Request::batch.fault;
    } else if constexpr (Request::batch_request.reproducible && Request::layout.mesh.size(Axis::tensor) > 1) {
      return Diagnosis{Code{'B', 8}, ""} << "sums are to be reproducible, but the " << Request::layout.mesh.size(Axis::tensor)
                                         << " ranks of axis tensor add the terms of a product in another order than one device. Fix: drop "
                                            "Reproducible; Grain keeps the order of all other sums.";
    } else if constexpr (Request::clips && (Request::batch_request.reproducible || Request::batch.grain_named) &&
                         cuts_a_unit(Request::graph, Request::layout)) {
      return Diagnosis{Code{'B', 9}, ""} << "sums are to be reproducible and gradients clipped by their norm, but a cut goes through a block of "
                                         << Request::graph.model.view()
                                         << ", whose squares one device adds as one unit. Fix: cut between blocks, or drop Grain and Reproducible.";
    } else {
      return check_schedule_length(Request::graph, Request::layout, Request::batch);
    }
  }
  static constexpr Diagnosis sound = before_lowering();

  static constexpr Diagnosis found = [] {
    if constexpr (!sound.ok())
      return sound;
    else
      return CheckedProgram<Request>::found();
  }();
};

/// What is wrong with a plan, as a value; ok() if nothing is. Never an error by itself.
template <class ThePlan> [[nodiscard]] constexpr Diagnosis check() { return Checked<ThePlan>::found; }

/// The program of a plan. A plan that was refused before lowering shows one without instructions, on the mesh that its policy asked for:
/// the refusal stays the only error.
template <class ThePlan, bool Training> struct ProgramOf {
  using Request = RequestOf<ThePlan>;

  static constexpr ArenaMap no_arenas[Layout::most_chunks]{};
  static constexpr Program program = [] {
    if constexpr (Checked<ThePlan>::sound.ok()) {
      return Training ? Addressed<Request>::training : Addressed<Request>::evaluation;
    } else {
      Program empty;
      empty.arenas = no_arenas;
      if constexpr (Request::parts.ok()) empty.mesh = Request::layout.mesh;
      return empty;
    }
  }();
};

/// A model, a loss, an optimizer, a batch, a policy and options, in any order. A complete Plan has passed every check.
///
/// Errors  the code of the first broken rule, one error with one sentence
/// Tested  plan/plan_test, fail/
template <class... Types> struct Plan {
  static_assert(sizeof(fired<Checked<Plan>>) > 0);

  using Request = RequestOf<Plan>;
  static constexpr Program training = ProgramOf<Plan, true>::program;
  static constexpr Program evaluation = ProgramOf<Plan, false>::program;
};

/// What refuses a plan. A question about a plan asks this first: the error of a refused plan then leads from the question straight to the rule,
/// and not through the plan, which takes clang over the lines that one mistake may print.
template <class ThePlan> struct Verdict { static constexpr Diagnosis found{}; };
template <class... Types> struct Verdict<Plan<Types...>> : Checked<Plan<Types...>> {};
template <class ThePlan> using Refusal = fired<Verdict<ThePlan>>*;

/// The Program of a plan as data: lists, bodies, addresses.
template <class ThePlan> [[nodiscard]] constexpr const Program& lower() {
  heard(Refusal<ThePlan>{});
  return ThePlan::training;
}

/// Devices (ranks) that a plan runs on.
template <class ThePlan> inline constexpr int devices = heard(Refusal<ThePlan>{}) ? ThePlan::training.mesh.ranks() : 0;

/// The device that peak_memory is asked about.
template <int Number> struct Device {};
template <int Number> inline constexpr Device<Number> device{};

/// Bytes of the arena of a device: all tensors of training and evaluation. What a backend adds is declared by it (external_memory).
template <class ThePlan, int Number> [[nodiscard]] constexpr Bytes peak_memory(Device<Number>) {
  heard(Refusal<ThePlan>{});
  static_assert(Number >= 0 && (Number < devices<ThePlan> || !check<ThePlan>().ok()), "peak_memory: the plan has no device of this number");
  return Bytes{ThePlan::training.arenas[ThePlan::training.mesh.coordinate(Rank{Number}, Axis::stage)].total};
}
/// The largest over all devices.
template <class ThePlan> [[nodiscard]] constexpr Bytes peak_memory() {
  heard(Refusal<ThePlan>{});
  Bytes most;
  for (int r = 0; r < ThePlan::training.roles; ++r)
    if (ThePlan::training.arenas[r].total > most.value) most = Bytes{ThePlan::training.arenas[r].total};
  return most;
}

/// Bytes and messages of one training step.
template <class ThePlan> [[nodiscard]] constexpr Traffic traffic() {
  heard(Refusal<ThePlan>{});
  return Traffic{&ThePlan::training};
}

/// True if gradients are summed along the fixed tree: the same bits under every layout with the same grain. A product that is split over ranks
/// adds its own terms in another order, so plans that split layers are not. True of a refused plan: the refusal stays the only error.
template <class ThePlan>
inline constexpr bool is_reproducible =
    !Verdict<ThePlan>::found.ok() ? heard(Refusal<ThePlan>{})
                                  : ThePlan::training.batch.tree && ThePlan::training.mesh.size(Axis::tensor) == 1 &&
                                        !(ThePlan::training.clips && cuts_a_unit(ThePlan::Request::graph, ThePlan::Request::layout));

}  // namespace heddle::inline plan_room
