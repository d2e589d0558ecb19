// SPDX-License-Identifier: MIT
// Room: run. What a Trainer takes, and what it is given by mistake: options by the names of others or in order, the seed first, or no options at all.
// Sees: core, run/examples.  Does not see: plans, backends.
// In: the arguments of a Trainer.  Out: O04.
#pragma once

#include <functional>
#include <span>
#include <type_traits>

#include "heddle/run/examples.hpp"
#include "heddle/run/results.hpp"

namespace heddle::run_room {

template <class Batch, class... Given> inline constexpr bool is_batch = sizeof...(Given) == 1 && (std::is_convertible_v<Given, Batch> && ...);
template <class Input, class... Given>
inline constexpr bool are_inputs = sizeof...(Given) == 1 && (std::is_convertible_v<const Given&, std::span<const Input>> && ...);
/// Of a model that begins with Inputs<...>: several arrays, the first of its type.
template <class Input, class... Given> inline constexpr bool are_several_inputs = false;
template <class Input, class First, class... More>
inline constexpr bool are_several_inputs<Input, First, More...> = sizeof...(More) > 0 && are_inputs<Input, First>&& are_arrays<const More&...>;
/// Arrays, the first of elements that another model takes.
template <class Input, class... Given> inline constexpr bool are_other_inputs = false;
template <class Input, class First, class... More>
inline constexpr bool are_other_inputs<Input, First, More...> = !are_inputs<Input, First> && are_arrays<const First&, const More&...>;
/// What the first of them has.
template <class... Given> struct FirstElement { using type = void; };
template <class First, class... More> struct FirstElement<First, More...> { using type = ElementOf<const First&>; };
template <class... Given> using FirstElementOf = typename FirstElement<Given...>::type;

/// What on_step takes: a callback, and how often.
template <class... Given> inline constexpr bool are_of_on_step = false;
template <class Callback, class... Often>
inline constexpr bool are_of_on_step<Callback, Often...> = std::is_convertible_v<Callback, std::function<void(const StepResult&)>> &&
                                                           sizeof...(Often) <= 1 && (std::is_same_v<Often, Every> && ...);

template <class Given, class Expected>
concept OtherThan = !std::is_same_v<Given, Expected>;

/// Options as they are called elsewhere, and Heddle's own without OnlyByName: what fits here alone is refused.
/// {.lr = 1e-3, .amsgrad = true} fits here alone.
struct OptionsByMistake {
  double learning_rate, lr, alpha, eta, momentum, beta1, beta2, betas, epsilon, eps, dampening, weight_decay, wd, decay;
  bool nesterov, amsgrad, maximize;
};

/// O04, once for each Trainer; `Told` makes it wait for a call.
template <bool Broken, class... Given> constexpr void refuse_on_step() {
  static_assert(
      Broken || are_of_on_step<Given...>,
      "[heddle.O03] on_step() takes a callback of a StepResult, then Every. Fix: write on_step([](const StepResult& r) { ... }, Every{10}).");
}
template <bool Told> constexpr void refuse_trainer_arguments() {
  static_assert(!Told,
                "[heddle.O04] a Trainer takes the options of its optimizer by name, then a Seed. Fix: write "
                "{.learning_rate = 1e-3}, Seed{1}; Adam has beta1, beta2, epsilon and weight_decay besides, MomentumSGD momentum.");
}

}  // namespace heddle::run_room
