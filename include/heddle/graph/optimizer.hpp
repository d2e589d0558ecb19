// SPDX-License-Identifier: MIT
// Room: graph. What an optimizer is: one update of one parameter element, with constants made once per step.
// Sees: core.  Does not see: policies, devices, memory.
// In: Options and the number of the step.  Out: OptimizerDescription, the refusal of bad options.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string_view>

#include "heddle/core/finite.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/rule.hpp"

namespace heddle::graph_room {

/// Element update: update(constants, parameter, gradient, state...), one float& per state.
template <class O, int States>
concept UpdatesElement = (States == 0 && requires(const typename O::Constants& c, float& p, float g) { O::update(c, p, g); }) ||
                         (States == 1 && requires(const typename O::Constants& c, float& p, float g, float& s) { O::update(c, p, g, s); }) ||
                         (States == 2 && requires(const typename O::Constants& c, float& p, float g, float& s) { O::update(c, p, g, s, s); });

/// An optimizer of 0, 1 or 2 states per parameter; states start at zero.
///   struct Options      run-time values, an aggregate          struct Constants    what one step needs, float
///   static Constants constants(const Options&, std::int64_t step)   step counts from 1; computed in double, as PyTorch does
///   static Diagnosis check(const Options&)                          ok, or O01 in one sentence
template <class O>
concept OptimizerDescription = requires(const typename O::Options& options, std::int64_t step) {
  { O::name() } -> std::convertible_to<std::string_view>;
  { O::states } -> std::convertible_to<int>;
  { O::constants(options, step) } -> std::same_as<typename O::Constants>;
  { O::check(options) } -> std::same_as<Diagnosis>;
}
&&UpdatesElement<O, O::states>;

/// First member of the Options of Heddle's optimizers: it is given nothing, so that the others are given by name, {.learning_rate = 1e-3}.
///
/// Errors  O04 where Options are given in order
/// Tested  graph/optimizer_test, fail/O04_options_in_order
struct OnlyByName {
  constexpr explicit OnlyByName() = default;
};

/// O01: `value` of the option is not what `must` says.
[[nodiscard]] HEDDLE_COLD inline Diagnosis refused_option(std::string_view optimizer, std::string_view option, double value, std::string_view must,
                                                          std::string_view remedy) {
  char digits[32];
  std::snprintf(digits, sizeof digits, "%g", value);
  return Diagnosis{Code{'O', 1}, optimizer} << " has " << option << " = " << digits << ", which must be " << must << ". Fix: " << remedy << '.';
}

/// NaN and infinity are no hyper-parameters.
[[nodiscard]] constexpr bool is_zero_or_more(const double& value) {
  return is_finite(value) && value >= 0 && value <= static_cast<double>(std::numeric_limits<float>::max());
}
[[nodiscard]] constexpr bool is_from_zero_below_one(const double& value) { return is_finite(value) && value >= 0 && value < 1; }
[[nodiscard]] constexpr bool is_from_zero_to_one(const double& value) { return is_finite(value) && value >= 0 && value <= 1; }

}  // namespace heddle::graph_room
