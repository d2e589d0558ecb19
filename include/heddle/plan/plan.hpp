// SPDX-License-Identifier: MIT
// Room: plan. Plan: the type that is the parallel plan; if it is complete, it is checked.
// Sees: graph, policy, every phase of plan.  Does not see: processes, threads, kernels.
// In: an unordered pack of parts.  Out: Plan, check<Plan>(), devices, peak_memory, traffic, is_reproducible.
#pragma once

#include <cstdint>
#include <type_traits>

#include "heddle/core/an_object.hpp"
#include "heddle/core/fire.hpp"
#include "heddle/core/refused.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/graph/kept_values.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/losses/cross_entropy.hpp"
#include "heddle/graph/optimizers/adam.hpp"
#include "heddle/plan/checked.hpp"
#include "heddle/plan/lower/fitted_layout.hpp"
#include "heddle/plan/lower/lower.hpp"
#include "heddle/plan/lower/lowering_request.hpp"
#include "heddle/plan/parts.hpp"
#include "heddle/plan/read/ledger.hpp"
#include "heddle/plan/read/refused_program.hpp"
#include "heddle/policy/single.hpp"

namespace heddle::plan_room {

template <class... TypesSuchAsBatch64> struct Plan;  // g++ shows this name where a number or an object stands among them

/// The parts of a plan as one value each: what the lowering reads.
template <class ThePlan> struct RequestOf;
template <class... Types> struct RequestOf<Plan<Types...>> {
  template <PlanPart Wanted> using Find = typename FindPart<Wanted, Types...>::type;
  /// A missing part is L01; another stands for it, so that what reads a Request adds no error.
  template <PlanPart Wanted, class StandIn> using FindOr = std::conditional_t<std::is_void_v<Find<Wanted>>, StandIn, Find<Wanted>>;
  using Model = FindOr<PlanPart::model, Linear<1, 1>>;
  using Loss = FindOr<PlanPart::loss, CrossEntropy>;
  using Optimizer = FindOr<PlanPart::optimizer, Adam>;
  using Rows = FindOr<PlanPart::batch, Batch<1>>;
  using ThePolicy = FindOr<PlanPart::policy, Single>;
  static constexpr Diagnosis parts = check_parts<Types...>();
  static constexpr bool trains = true, guards = !std::is_void_v<Find<PlanPart::guarded>>;
  template <PlanPart Wanted, class Default, class Read> static constexpr auto option(Default otherwise, Read read) {
    using Found = Find<Wanted>;
    if constexpr (std::is_void_v<Found>)
      return otherwise;
    else
      return read(std::type_identity<Found>{});
  }
  static constexpr ElementType values = option<PlanPart::mixed>(ElementType::float32, []<class T>(std::type_identity<T>) { return T::values; });
  static constexpr Graph graph = KeptValues<Model, values>::graph;
  static constexpr Layout answered = [] {
    Layout answers{graph};
    if (graph.fault.ok()) answers.loss = split_of_loss<Loss>(graph_of<Model>.output());
    answers.trains = !requires { Loss::trains; };
    ThePolicy::answer(graph, answers);
    if (graph.fault.ok()) answers.refuse(check_layout(graph, answers));
    return answers;
  }();
  static constexpr BatchRequest batch_request{
      Rows::batch_rows,
      Rows::batch_remedy,
      option<PlanPart::accumulate>(1, []<class T>(std::type_identity<T>) { return T::accumulate_rounds; }),
      option<PlanPart::grain>(0, []<class T>(std::type_identity<T>) { return T::grain_rows > 0 ? T::grain_rows : -1; }),
      option<PlanPart::reproducible>(false, []<class T>(std::type_identity<T>) { return true; }),
      answered.fault.ok() && regroups_a_gradient(graph, answered)};
  static constexpr BatchDivision batch = divide_batch(answered, batch_request);
  static constexpr Bytes bucket_bytes = option<PlanPart::bucket>(default_bucket, []<class T>(std::type_identity<T>) { return T::bucket_bytes; });
  static constexpr Diagnosis bucket = check_bucket(bucket_bytes);
  static constexpr Bytes budget = option<PlanPart::memory>(Bytes{0}, []<class T>(std::type_identity<T>) { return T::memory_budget; });
  template <PlanPart Wanted> static constexpr Diagnosis named_of() {
    return option<Wanted>(Diagnosis{}, []<class T>(std::type_identity<T>) { return T::named; });
  }
  static constexpr Diagnosis named = first_of(named_of<PlanPart::memory>(), named_of<PlanPart::bucket>(), named_of<PlanPart::mixed>());
  static constexpr bool allows_nothing = !std::is_void_v<Find<PlanPart::memory>> && budget < Bytes{1};
  static constexpr bool clips = option<PlanPart::clip>(false, []<class T>(std::type_identity<T>) { return T::clips; });
  using Chosen = ChosenLayers<Find<PlanPart::recompute>, Model>;
  using Grouped = ChosenGroups<Model, Optimizer, Types...>;
  static constexpr ParameterGroups groups = Grouped::value.view(std::is_same_v<Find<PlanPart::clip>, Clip<EachValue>>);
  static constexpr bool scales_loss = option<PlanPart::loss_scaling>(false, []<class T>(std::type_identity<T>) { return T::scales_loss; });
  static constexpr BeforeStep before_step() { return {clips, scales_loss, guards}; }
  static constexpr std::int64_t target_features = Loss::target_features(graph_of<Model>.output());
  static constexpr int states = Optimizer::states;
  static constexpr Layout layout = FittedLayout<RequestOf>::layout;
};

/// An empty base class of Checked: users pay nothing for it. Tests specialise it to list each plan that is checked (tests/plan/noticed.hpp).
template <class ThePlan> struct Noticing {};

/// The checks of what a plan names, in order; each phase is looked at only if the phases before it are sound.
template <class ThePlan> struct CheckedParts {
  using Request = RequestOf<ThePlan>;

  static constexpr Diagnosis before_lowering() {
    if constexpr (!Request::parts.ok()) {
      return Request::parts;
    } else if constexpr (constexpr Diagnosis remedy = check_remedy<typename Request::Rows>(); !remedy.ok()) {
      return remedy;
    } else if constexpr (!Request::named.ok()) {
      return Request::named;
    } else if constexpr (Request::allows_nothing) {
      return Diagnosis{Code{'C', 2}, ""} << "a Memory of " << Request::budget.value
                                         << " bytes allows no plan. Fix: name what a device has, or leave Memory out.";
    } else if constexpr (!Request::bucket.ok()) {
      return Request::bucket;
    } else if constexpr (!Request::graph.fault.ok()) {
      return Request::graph.fault;
    } else if constexpr (constexpr Diagnosis loss = Request::Loss::accepts(graph_of<typename Request::Model>.output()); !loss.ok()) {
      return loss;
    } else if constexpr (Request::trains && !check_trained(Request::graph).ok()) {
      return check_trained(Request::graph);
    } else if constexpr (!Request::Chosen::value.fault.ok()) {
      return Request::Chosen::value.fault;
    } else if constexpr (!Request::Grouped::value.fault.ok()) {
      return Request::Grouped::value.fault;
    } else if constexpr (!Request::layout.fault.ok()) {
      return Request::layout.fault;
    } else if constexpr (constexpr Diagnosis batch = check_batch(Request::graph, Request::batch, Request::trains); !batch.ok()) {
      return batch;
    } else if constexpr (constexpr Diagnosis sums =
                             check_sums(Request::graph, Request::layout, Request::batch, Request::batch_request.reproducible, Request::clips);
                         !sums.ok()) {
      return sums;
    } else {
      return check_schedule_length(Request::graph, Request::layout, Request::batch);
    }
  }
  static constexpr Diagnosis sound = before_lowering();
};
/// All checks of a plan: those of its Programs come after those of its parts.
template <class ThePlan> struct Checked : CheckedParts<ThePlan>, Noticing<ThePlan> {
  static constexpr Diagnosis found = [] {
    if constexpr (!CheckedParts<ThePlan>::sound.ok())
      return CheckedParts<ThePlan>::sound;
    else
      return CheckedProgram<RequestOf<ThePlan>>::found();
  }();
};

/// The program of a plan. A plan that was refused before lowering shows one without instructions: the refusal stays the only error.
template <class ThePlan, bool Training> struct ProgramOf {
  using Request = RequestOf<ThePlan>;

  static constexpr ShownProgram<CheckedParts<ThePlan>::sound.ok()> program = [] {
    if constexpr (CheckedParts<ThePlan>::sound.ok())
      return Training ? LoweredPrograms<Request>::training : LoweredPrograms<Request>::evaluation;
    else
      return no_program;
  }();
};

/// A model, a loss, an optimizer, a batch, a policy and options, in any order. A complete Plan has passed every check.
///
/// Errors  the code of the first broken rule, one error with one sentence
/// Tested  plan/plan_test, fail/
template <class... Types> struct Plan {  // types: Batch<64>, not 64; Adam, not Adam{}
  static_assert(sizeof(fired<Checked<Plan>>) > 0);

  using Request = RequestOf<Plan>;
  using Shown = ShownProgram<Checked<Plan>::sound.ok()>;
  static constexpr Shown training = ProgramOf<Plan, true>::program;
  static constexpr Shown evaluation = ProgramOf<Plan, false>::program;
};

/// L16: objects of plans, which are all alike.
template <class... Types, class... Others> constexpr bool operator==(const Plan<Types...>&, const Plan<Others...>&) {
  static_assert(is_refused_before<Plan<Types...>>,
                "[heddle.L16] plans are types, but objects of them are compared. Fix: ask std::is_same_v<A, B> whether two are one, or "
                "same_bits<A, B>() whether they train alike.");
  return true;
}

/// The plan that a type is, or derives from.
template <class... Types> std::type_identity<Plan<Types...>> plan_behind(const Plan<Types...>*);

/// What refuses a plan; L06 of what is none. A question about a plan asks this first: the error of a refused plan then leads from the question
/// straight to the rule, and not through the plan, which takes clang over the lines that one mistake may print.
template <class ThePlan> struct Verdict {
  static constexpr Diagnosis find() {
    if constexpr (requires { plan_behind(static_cast<ThePlan*>(nullptr)); }) {
      return Verdict<typename decltype(plan_behind(static_cast<ThePlan*>(nullptr)))::type>::found;
    } else {
      Diagnosis none{Code{'L', 6}, ""};
      none << type_name<ThePlan>().view() << " is no Plan";
      if constexpr (part_of<ThePlan>() != PlanPart::unknown) none << ", but what a Plan names as its " << name_of(part_of<ThePlan>());
      return none << ". Fix: name the Plan<...> itself.";
    }
  }
  static constexpr Diagnosis found = find();
};
template <class... Types> struct Verdict<Plan<Types...>> : Checked<Plan<Types...>> {};
template <class ThePlan> using Refusal = fired<Verdict<ThePlan>>*;

/// What is wrong with a plan, as a value; ok() if nothing is. Never an error by itself, but of what is no plan: that is L06, as for every question.
template <class ThePlan> [[nodiscard]] constexpr Diagnosis check() {
  if constexpr (Verdict<ThePlan>::found.code == Code{'L', 6}) {
    heard(Refusal<ThePlan>{});
    return {};
  } else {
    return Verdict<ThePlan>::found;
  }
}
template <class ThePlan> Diagnosis check(NotAsked);  // never called: with it check<MyPlan> without () is ambiguous, and no constant true

/// The device that peak_memory is asked about.
template <int Number> struct Device {};
template <int Number> inline constexpr Device<Number> device{};

/// L07, of a plan that is not refused.
template <class ThePlan, int Number> struct AskedDevice {
  static constexpr Diagnosis find() {
    if constexpr (Verdict<ThePlan>::found.ok())
      if (const int n = ThePlan::training.mesh.ranks(); Number < 0 || Number >= n)
        return Diagnosis{Code{'L', 7}, ""} << "device<" << Number << "> is not there: the plan has " << n << (n == 1 ? " device" : " devices")
                                           << ", counted from 0. Fix: ask about device<" << n - 1 << "> or one before it.";
    return {};
  }
  static constexpr Diagnosis found = find();
};

/// The answers about a plan, and about one that is refused, or is none: those compare as true, so that the refusal stays the only error.
template <class ThePlan, bool Sound = Verdict<ThePlan>::found.ok()> struct Answers {
  static constexpr const Program& program() { return ThePlan::training; }
  static constexpr int devices = ThePlan::training.mesh.ranks();
  static constexpr Traffic traffic() { return Traffic{&ThePlan::training}; }
  static constexpr Bytes memory(int role) { return Bytes{ThePlan::training.arenas[role].total}; }
  static constexpr Bytes largest_memory() {
    Bytes most;
    for (int r = 0; r < ThePlan::training.roles; ++r)
      if (memory(r) > most) most = memory(r);
    return most;
  }
  template <int Number> static constexpr auto memory_of() {
    if constexpr (AskedDevice<ThePlan, Number>::found.ok())
      return memory(ThePlan::training.mesh.coordinate(Rank{Number}, Axis::stage));
    else
      return RefusedBytes{};
  }
  /// A product that is split over ranks adds its own terms in another order, so plans that split layers are not.
  static constexpr bool is_reproducible = ThePlan::training.batch.tree && ThePlan::training.mesh.size(Axis::tensor) == 1 &&
                                          !(ThePlan::training.clips && cuts_a_unit(ThePlan::Request::graph, ThePlan::Request::layout));
};
template <class ThePlan> struct Answers<ThePlan, false> {
  static constexpr const RefusedProgram& program() { return no_program; }
  static constexpr RefusedNumber devices{};
  static constexpr RefusedTraffic traffic() { return {}; }
  static constexpr RefusedBytes largest_memory() { return {}; }
  template <int> static constexpr RefusedBytes memory_of() { return {}; }
  static constexpr RefusedFact is_reproducible{};
};

/// Stands where a type is no plan: what takes a plan then adds no error to L06.
struct NoPlan {
  using Request = RequestOf<Plan<>>;
  static constexpr RefusedProgram training{};
  static constexpr RefusedProgram evaluation{};
};
template <> struct Verdict<NoPlan> { static constexpr Diagnosis found{}; };
template <class ThePlan> using PlanOrNone = std::conditional_t<Verdict<ThePlan>::found.code == Code{'L', 6}, NoPlan, ThePlan>;

/// The Program of a plan as data: lists, bodies, addresses. Of a refused plan one without instructions.
template <class ThePlan> [[nodiscard]] constexpr const auto& lower() {
  heard(Refusal<ThePlan>{});
  return Answers<ThePlan>::program();
}

/// Devices (ranks) that a plan runs on, an int.
///
/// Errors  L06 of what is no plan; of a refused plan its error alone: what is asked about it compares as true
/// Tested  plan/plan_test, core/refused_test, fail/L06_devices_of_a_model
template <class ThePlan> inline constexpr auto devices = (heard(Refusal<ThePlan>{}), Answers<ThePlan>::devices);

/// Bytes of the arena of a device: all tensors of training and evaluation. What a backend adds: external_memory<ThePlan, Backend>().
///
/// Errors  L07 if the plan has no such device; L06
/// Tested  plan/plan_test, fail/L07_device_not_there
template <class ThePlan, int Number> [[nodiscard]] constexpr auto peak_memory(Device<Number>) {
  heard(Refusal<ThePlan>{});
  heard(static_cast<fired<AskedDevice<ThePlan, Number>>*>(nullptr));
  return Answers<ThePlan>::template memory_of<Number>();
}
/// The largest over all devices.
template <class ThePlan> [[nodiscard]] constexpr auto peak_memory() { return heard(Refusal<ThePlan>{}), Answers<ThePlan>::largest_memory(); }

/// Bytes and messages of one training step.
template <class ThePlan> [[nodiscard]] constexpr auto traffic() { return heard(Refusal<ThePlan>{}), Answers<ThePlan>::traffic(); }

/// True if gradients of this one plan are summed along the fixed tree over its grains. Of two plans same_bits<A, B>() says whether they agree.
template <class ThePlan> inline constexpr auto is_reproducible = (heard(Refusal<ThePlan>{}), Answers<ThePlan>::is_reproducible);

}  // namespace heddle::plan_room

namespace heddle {
using plan_room::Plan, plan_room::check, plan_room::device, plan_room::devices, plan_room::peak_memory, plan_room::traffic;
}  // namespace heddle

namespace heddle::extending {
using plan_room::is_reproducible, plan_room::lower;
}  // namespace heddle::extending
