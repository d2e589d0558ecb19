// SPDX-License-Identifier: MIT
// Room: run. The constants of one step for each group of parameters, made from the options as they are in that step.
// Sees: plan/program, seams/pledge.  Does not see: policies, optimizers by name, any backend.
// In: Options of an optimizer and groups.  Out: Constants, one a group.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/core/host_device.hpp"
#include "heddle/core/rule.hpp"
#include "heddle/plan/program/groups.hpp"
#include "heddle/seams/pledge.hpp"

namespace heddle::run_room {

/// The options of one group: a learning rate of 0.01 under {1, 10, false} becomes 0.001, and a weight decay 0.
/// Tested  run/group_constants_test
template <class Options> [[nodiscard]] Options options_of(Options options, const ParameterGroup& group) {
  if constexpr (requires { options.learning_rate *= 2; })
    if (group.scales()) {
      const double rate = static_cast<double>(options.learning_rate) * group.numerator / group.denominator;
      options.learning_rate = static_cast<decltype(options.learning_rate)>(rate);
    }
  if constexpr (requires { options.weight_decay = 0; })
    if (!group.decays) options.weight_decay = 0;
  return options;
}

/// The constants of the step in hand, in the order of the groups; of a plan without groups those of the options as they are.
/// NoDecay<> beside AdamW makes two of them: with the decay that the options say, and with 0.
///
/// Tested  run/group_constants_test
template <class Optimizer> class GroupConstants {
 public:
  using Constants = typename Optimizer::Constants;

  /// The list keeps its memory from step to step.
  HEDDLE_COLD const Constants* make(const typename Optimizer::Options& options, std::int64_t step, const ParameterGroups& groups) {
    made_.clear();
    made_.reserve(static_cast<std::size_t>(groups.any() ? groups.count : 1));
    if (!groups.any()) made_.push_back(Optimizer::constants(options, step));
    for (int g = 0; g < groups.count; ++g) made_.push_back(Optimizer::constants(options_of(options, groups.list[g]), step));
    return made_.data();
  }
  /// O01 of the options as they are given, then as they are for a group: a learning rate may be too large once it is multiplied.
  [[nodiscard]] static Diagnosis check(const typename Optimizer::Options& options, const ParameterGroups& groups) {
    if (const Diagnosis wrong = Optimizer::check(options); !wrong.ok()) return wrong;
    for (int g = 0; g < groups.count; ++g)
      if (const Diagnosis wrong = Optimizer::check(options_of(options, groups.list[g])); !wrong.ok()) return wrong;
    return {};
  }
  /// What processes compare.
  [[nodiscard]] std::uint32_t hash() const {
    std::uint32_t hash = hash_of_constants(made_[0]);
    for (std::size_t g = 1; g < made_.size(); ++g) hash = hash_of_words(std::array{hash_of_constants(made_[g])}, hash);
    return hash;
  }

 private:
  std::vector<Constants> made_;
};

}  // namespace heddle::run_room
