// SPDX-License-Identifier: MIT
// Room: plan. Which part of a Plan a type is: model, loss, optimizer, batch, policy or option; unordered, each once.
// Sees: graph, policy concepts, plan options.  Does not see: processes, threads, kernels.
// In: a pack of types.  Out: PartsOf<Plan>, with a Diagnosis if a part is missing, doubled or unknown.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <type_traits>
#include <utility>

#include "heddle/core/not_included.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/graph/layer.hpp"
#include "heddle/graph/loss.hpp"
#include "heddle/graph/optimizer.hpp"
#include "heddle/plan/options/batch.hpp"
#include "heddle/plan/options/options.hpp"
#include "heddle/plan/options/plan_part.hpp"
#include "heddle/policy/layout.hpp"

namespace heddle::plan_room {

/// What a plan without that part is advised to add.
[[nodiscard]] constexpr std::string_view example_of(PlanPart p) {
  switch (p) {
    case PlanPart::model: return "a model, for example one derived from Sequential<...>";
    case PlanPart::loss: return "CrossEntropy or another loss";
    case PlanPart::optimizer: return "Adam or another optimizer";
    case PlanPart::batch: return "Batch<B>";
    default: return "Single or another policy";
  }
}

template <class T> [[nodiscard]] constexpr PlanPart part_of() {
  if constexpr (DeclaresPlanPart<T>)
    return T::plan_part;
  else if constexpr (Policy<T>)
    return PlanPart::policy;
  else if constexpr (LossDescription<T>)
    return PlanPart::loss;
  else if constexpr (OptimizerDescription<T>)
    return PlanPart::optimizer;
  else if constexpr (
      requires { T::is_composite; } || requires { &T::describe; } || hides_its_layers<T>())
    return PlanPart::model;
  else
    return PlanPart::unknown;
}

/// The type in the pack that is a given part, or void.
template <PlanPart Wanted, class... Types> struct FindPart { using type = void; };
template <PlanPart Wanted, class First, class... Rest> struct FindPart<Wanted, First, Rest...> : FindPart<Wanted, Rest...> {};
template <PlanPart Wanted, class First, class... Rest>
requires(part_of<First>() == Wanted) struct FindPart<Wanted, First, Rest...> {
  using type = First;
};

/// Where a type belongs that is no part of a plan itself; empty if nothing is known about it, or if it is a loss that lacks something.
template <class T> [[nodiscard]] constexpr std::string_view home_of() {
  if constexpr (requires { typename T::Target; })
    return {};
  else if constexpr (
      requires { T::micro_batches; } || requires { T::balanced_stages; } || requires { T::cut_before; } || requires { T::is_stage; } ||
      requires { T::few_micro_batches; } || requires { T::rules(); })
    return "Pipeline<...>";
  else if constexpr (requires { T::device; })
    return "Stage<Part, On<D>> of a Pipeline<...>";
  else if constexpr (requires { T::remedy; })
    return "Batch<B, Remedy>";
  else if constexpr (
      requires { T::sharding; } || requires { T::keeps_step; })
    return "Sharded<N, ...>";
  else if constexpr (
      requires { T::weighs; } || requires { T::target; })
    return "CrossEntropyWith<...>";
  else if constexpr (requires { T::is_loss_of; })
    return "Losses<...>";
  else if constexpr (
      requires { T::multiplies; } || requires { T::shared_with; })
    return "LossOf<...> of Losses<...>";
  else if constexpr (requires { T::splits_sequences; })
    return "TensorParallel<N, SequenceParallel>";
  else if constexpr (!header_of_backend<T>.empty() || requires {
                       typename T::Compute;
                       typename T::Session;
                     })
    return "Trainer<MyPlan, CpuThreads>, as its backend";
  else if constexpr (std::is_same_v<T, GlobalNorm>)
    return "Clip<GlobalNorm>";
  else if constexpr (std::is_same_v<T, EachValue>)
    return "Clip<EachValue>";
  else if constexpr (std::is_same_v<T, EveryBlock>)
    return "Recompute<EveryBlock>";
  else
    return {};
}

/// What a type lacks that is begun as a loss or as an optimizer. Of a loss with a Target and a name it is "accepts(Spec), target_features(Spec),
/// flops(Spec)".
///
/// Tested  plan/parts_test, fail/L03_loss_without_accepts
template <class T> struct Lacking {
  Text<160> members;
  constexpr void unless(bool has, std::string_view member) {
    if (!has) members << (members.empty() ? "" : ", ") << member;
  }
  static constexpr bool loss = requires { typename T::Target; }
  || requires(const Spec& output) { T::accepts(output); };
  static constexpr bool optimizer = requires { typename T::Options; }
  || requires { typename T::Constants; }
  || requires { T::states; };
  [[nodiscard]] static constexpr Lacking of_a_loss() {
    Lacking all;
    all.unless(
        requires { requires TargetElement<typename T::Target>; }, "using Target = float or std::int32_t");
    all.unless(
        requires {
          { T::name() } -> std::convertible_to<std::string_view>;
        },
        "name()");
    all.unless(
        requires(const Spec& output) {
          { T::accepts(output) } -> std::same_as<Diagnosis>;
        },
        "accepts(Spec)");
    all.unless(
        requires(const Spec& output) {
          { T::target_features(output) } -> std::same_as<std::int64_t>;
        },
        "target_features(Spec)");
    all.unless(
        requires(const Spec& output) {
          { T::flops(output) } -> std::same_as<std::int64_t>;
        },
        "flops(Spec)");
    return all;
  }
  [[nodiscard]] static constexpr Lacking of_an_optimizer() {
    Lacking all;
    all.unless(
        requires { typename T::Options; }, "struct Options");
    all.unless(
        requires { typename T::Constants; }, "struct Constants");
    all.unless(
        requires {
          { T::states } -> std::convertible_to<int>;
        },
        "states");
    all.unless(
        requires {
          { T::name() } -> std::convertible_to<std::string_view>;
        },
        "name()");
    all.unless(
        requires {
          { T::constants(std::declval<const typename T::Options&>(), std::int64_t{1}) } -> std::same_as<typename T::Constants>;
        },
        "constants(Options, step)");
    all.unless(
        requires {
          { T::check(std::declval<const typename T::Options&>()) } -> std::same_as<Diagnosis>;
        },
        "check(Options)");
    if (all.members.empty()) all.members << "update(Constants, parameter, gradient) with a float& for each of its states";
    return all;
  }
};

/// What is wrong with a type of which nothing is known, and the remedy.
template <class T> constexpr void explain_unknown(Diagnosis& sentence) {
  if constexpr (std::is_function_v<T>)
    sentence << ": the parentheses make a function of it. Fix: write it without them; a Plan names types.";
  else if constexpr (!std::is_class_v<T> || is_named_in_heddle<T>)
    sentence << ". Fix: remove it; a Plan takes a model, a loss, an optimizer, Batch<B>, a policy and options.";
  else if constexpr (Lacking<T>::loss)
    sentence << ": as a loss it lacks " << Lacking<T>::of_a_loss().members.view() << ". Fix: add it, static constexpr.";
  else if constexpr (Lacking<T>::optimizer)
    sentence << ": as an optimizer it lacks " << Lacking<T>::of_an_optimizer().members.view() << ". Fix: add it, static.";
  else
    sentence << ": it has no layers. Fix: derive it from Sequential<...> if it is your model, or give it a type of targets, name(), accepts(), "
                "target_features() and flops() if it is your loss; if the compiler refuses that line, mend it first.";
}

/// L02. Two policies are combined, of all else one is kept.
[[nodiscard]] constexpr Diagnosis refuse_twice(PlanPart part, std::string_view first, std::string_view second) {
  auto found = Diagnosis{Code{'L', 2}, ""} << "the plan names its " << name_of(part) << " twice: " << first << " and " << second << ". Fix: ";
  if (part == PlanPart::loss && first != second)
    return found << "keep one of them, or train both: Losses<LossOf<\"name\", Outputs<N>, " << first << ">, ...>.";
  if (part != PlanPart::policy || first == second) return found << "keep one of them.";
  if (first == "Single" || second == "Single") return found << "drop Single, which combines with nothing.";
  return found << "combine them as Hybrid<" << first << ", " << second << ">, the inner one first, or keep one.";
}

/// A name that only a sentence asks for.
using NameOfType = const Text<64>&();

template <class... Types> [[nodiscard]] constexpr Diagnosis check_parts() {
  constexpr int count = sizeof...(Types);
  const PlanPart parts[std::size_t{count + 1}] = {part_of<Types>()..., PlanPart::unknown};
  const std::string_view homes[std::size_t{count + 1}] = {home_of<Types>()..., ""};
  constexpr NameOfType* names[std::size_t{count + 1}] = {&type_name<Types>..., nullptr};
  for (int i = 0; i < count; ++i) {
    if (parts[i] == PlanPart::unknown && !homes[i].empty())
      return Diagnosis{Code{'L', 3}, ""} << names[i]().view() << " is no part of a Plan by itself. Fix: write it inside " << homes[i] << '.';
    if (parts[i] == PlanPart::unknown) {
      auto found = Diagnosis{Code{'L', 3}, ""} << names[i]().view() << " is no part of a Plan";
      [[maybe_unused]] int at = 0;
      [[maybe_unused]] const int told[] = {0, (at++ == i ? explain_unknown<Types>(found) : void(), 0)...};
      return found;
    }
    for (int j = 0; j < i; ++j)
      if (parts[j] == parts[i] && !may_be_several(parts[i])) return refuse_twice(parts[i], names[j]().view(), names[i]().view());
  }
  for (const PlanPart needed : {PlanPart::model, PlanPart::loss, PlanPart::optimizer, PlanPart::batch, PlanPart::policy}) {
    bool found = false;
    for (int i = 0; i < count; ++i) found = found || parts[i] == needed;
    if (!found) return Diagnosis{Code{'L', 1}, ""} << "the plan names no " << name_of(needed) << ". Fix: add " << example_of(needed) << '.';
  }
  return {};
}

/// B10: what a Batch names beside its rows.
template <class Rows> [[nodiscard]] constexpr Diagnosis check_remedy() {
  if constexpr (Rows::batch_remedy == Remedy::other) {
    using Named = typename Rows::remedy_named;
    return Diagnosis{Code{'B', 10}, ""} << "Batch<" << Rows::batch_rows << "> names " << type_name<Named>().view()
                                        << ", which does not say how a smaller batch is taken. Fix: "
                                        << (part_of<Named>() == PlanPart::unknown ? "name DropLast, PadLast or KeepLast, or nothing."
                                                                                  : "write it beside the Batch, not in it.");
  } else {
    return {};
  }
}

/// L10: a loss, an optimizer, or an option that says something of gradients. Rounds of Accumulate<K> are taken: rows pass in parts, in less memory.
template <class... Types> [[nodiscard]] constexpr Diagnosis check_parts_of_inference() {
  constexpr int count = sizeof...(Types);
  const PlanPart parts[std::size_t{count + 1}] = {part_of<Types>()..., PlanPart::unknown};
  constexpr NameOfType* names[std::size_t{count + 1}] = {&type_name<Types>..., nullptr};
  for (int i = 0; i < count; ++i)
    for (const PlanPart trains : {PlanPart::loss, PlanPart::optimizer, PlanPart::bucket, PlanPart::clip, PlanPart::recompute, PlanPart::loss_scaling,
                                  PlanPart::guarded, PlanPart::no_decay, PlanPart::learning_rate_factor})
      if (parts[i] == trains)
        return Diagnosis{Code{'L', 10}, ""} << names[i]().view() << " is for training, but an Inference is only applied. Fix: remove "
                                            << names[i]().view() << ", or write a Plan to train.";
  return {};
}

}  // namespace heddle::plan_room
