// SPDX-License-Identifier: MIT
// Room: compute. Losses in the field: any function of a row and its targets; the cross-entropy keeps the law by which its parts combine.
// Sees: graph/losses, seams/concepts, compute/field.  Does not see: policies, programs.
// In: LossCall.  Out: FieldLoss<Loss>.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "heddle/compute/field/field.hpp"
#include "heddle/graph/losses/cross_entropy.hpp"

namespace heddle::compute_room {

/// A loss of whole outputs: its value is any function of a row and of its targets, its gradient one of these, of the place, of the rows of the step
/// and of what of their targets counts.
///
/// Tested  compute/field/losses_test
template <class Loss> struct FieldLossOfRows {
  static constexpr bool of_heddle = true;
  static float sum(const LossCall& call) {
    float all = 0;
    const std::uint64_t counted = counted_digest(call);
    for (std::int64_t r = 0; r < call.rows; ++r) {
      const float* const output = call.output + r * call.features;
      const std::uint64_t row = Field::digest(output, call.features);
      const std::uint64_t wanted = target_digest(call, r);
      all = FieldArithmetic::plus(all, Field::write(Field::hash(symbol_of<Loss>("value"), {row, of_elements(wanted)}, {of_labels(wanted)})));
      for (std::int64_t j = 0; j < call.features && call.gradient != nullptr; ++j)
        call.gradient[r * call.features + j] =
            Field::write(Field::hash(symbol_of<Loss>("gradient"), {row, of_elements(wanted)},
                                     {of_labels(wanted), static_cast<std::uint64_t>(j), static_cast<std::uint64_t>(call.total_rows), counted}));
    }
    return all;
  }

 private:
  static constexpr bool labels = !std::is_same_v<typename Loss::Target, float>;  ///< of several losses some are, and all are taken as they lie
  [[nodiscard]] static std::uint64_t of_elements(std::uint64_t digest) { return labels ? 0 : digest; }
  [[nodiscard]] static std::uint64_t of_labels(std::uint64_t digest) { return labels ? digest : 0; }
  /// What counts in the step, of the loss or of each of several.
  [[nodiscard]] static std::uint64_t counted_digest(const LossCall& call) {
    std::uint64_t all = 0;
    const auto take = [&](const CountedTargets& counted) {
      all = (all * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(counted.left_out)) * 0x9e3779b97f4a7c15ULL +
            std::bit_cast<std::uint64_t>(counted.sum_of_weights);
    };
    take({call.left_out, call.sum_of_weights});
    if constexpr (requires { Loss::said; })
      for (int k = 0; k < Loss::count && call.each != nullptr; ++k) take(call.each[k]);
    return all;
  }
  [[nodiscard]] static std::uint64_t target_digest(const LossCall& call, std::int64_t r) {
    const std::int64_t targets = call.target_features;
    if constexpr (!labels) return Field::digest(static_cast<const float*>(call.targets) + r * targets, targets);
    std::uint64_t all = 0;
    for (std::int64_t i = 0; i < targets; ++i)
      all = all * 0x9e3779b97f4a7c15ULL + static_cast<std::uint64_t>(static_cast<const std::int32_t*>(call.targets)[r * targets + i]) + 1;
    return all;
  }
};

/// The parts of a split cross-entropy combine by exp(x - m) = exp(x) / exp(m) alone. Here e is any function that is never 0 in the place of exp, and
/// m any function of the part's logits in the place of their largest: the terms of a part are (m, sum_j e(x_j) / e(m), logit of the target). The
/// gradient is any function of e(x_j), of S = the sum of e over all parts, of whether j is the target, and of how many targets of the step count; the
/// value one of S and of the target's logit. With smoothing the value is also one of the sum of all logits, of which each part tells its own. A
/// target that counts nothing has a value and a gradient of 0.
///
/// Tested  compute/field/losses_test
template <class Loss> struct FieldCrossEntropy {
  static constexpr bool of_heddle = true;
  static float sum(const LossCall& call) {
    float all = 0;
    for (std::int64_t i = 0; i < call.rows * call.positions; ++i)
      all = FieldArithmetic::plus(all, !counts(call, i) ? nothing(call, i) : call.parts > 1 ? of_terms(call, i) : of_whole(call, i));
    return all;
  }
  static void terms(const LossCall& call) {
    const std::int64_t classes = call.features / call.positions;
    for (std::int64_t i = 0; i < call.rows * call.positions; ++i) {
      const float* const logits = call.output + i * classes;
      const std::int64_t own = label(call, i) - call.part * classes;
      float* const terms = call.terms + told * i;
      const std::uint64_t most = Field::hash(symbol("largest"), {Field::digest(logits, classes)});
      terms[0] = Field::write(most);
      terms[2] = own >= 0 && own < classes ? logits[own] : 0;
      if (smooths) terms[told - 1] = Field::write(sum_of(logits, classes));  // before a gradient may lie there
      const std::uint64_t scale = Field::inverse_of_unit(power_of(most));
      std::uint64_t sum = 0;
      for (std::int64_t j = 0; j < classes; ++j) {
        const std::uint64_t power = power_of(Field::read(logits[j]));
        if (call.gradient != nullptr) call.gradient[i * classes + j] = Field::write(Field::times(power, scale));
        sum = Field::plus(sum, power);
      }
      terms[1] = Field::write(Field::times(sum, scale));  // one division: all of a part have one divisor
    }
  }

 private:
  static constexpr bool smooths = Loss::smoothing > 0;
  static constexpr std::int64_t told = smooths ? 4 : 3;  ///< floats of a part, of one position
  [[nodiscard]] static std::uint64_t symbol(std::string_view role) { return symbol_of<graph_room::CrossEntropy>(role); }
  [[nodiscard]] static std::uint64_t sum_of(const float* logits, std::int64_t classes) {
    std::uint64_t sum = 0;
    for (std::int64_t j = 0; j < classes && smooths; ++j) sum = Field::plus(sum, Field::read(logits[j]));
    return sum;
  }
  [[nodiscard]] static std::uint64_t power_of(std::uint64_t x) { return Field::hash_to_unit(symbol("exp"), x); }
  [[nodiscard]] static std::int64_t label(const LossCall& call, std::int64_t i) { return static_cast<const std::int32_t*>(call.targets)[i]; }
  /// The class that a label names; bits that are no label, which a wrong Program may show, name any.
  [[nodiscard]] static std::int64_t target(const LossCall& call, std::int64_t i) {
    const auto classes = static_cast<std::uint64_t>(call.features / call.positions * call.parts);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(label(call, i)) % classes);
  }

  [[nodiscard]] static float value(std::uint64_t sum, std::uint64_t of_target, std::uint64_t all) {
    return Field::write(smooths ? Field::hash(symbol("value"), {of_target, sum, all}) : Field::hash(symbol("value"), {of_target, sum}));
  }
  [[nodiscard]] static float slope(const LossCall& call, std::uint64_t power, std::uint64_t sum, bool is_target) {
    return Field::write(Field::hash(symbol("gradient"), {power, sum}, {is_target ? 1U : 0U, std::bit_cast<std::uint64_t>(call.counted())}));
  }
  [[nodiscard]] static float nothing(const LossCall& call, std::int64_t i) {
    const std::int64_t classes = call.features / call.positions;
    for (std::int64_t j = 0; j < classes && call.gradient != nullptr; ++j) call.gradient[i * classes + j] = Field::write(0);
    return Field::write(0);
  }
  [[nodiscard]] static bool counts(const LossCall& call, std::int64_t i) {
    return graph_room::counts_target<Loss>(static_cast<std::int32_t>(label(call, i)));
  }
  [[nodiscard]] static float of_whole(const LossCall& call, std::int64_t i) {
    const std::int64_t classes = call.features / call.positions;
    const float* const logits = call.output + i * classes;
    std::uint64_t sum = 0;
    for (std::int64_t j = 0; j < classes; ++j) sum = Field::plus(sum, power_of(Field::read(logits[j])));
    const float loss = value(sum, Field::read(logits[target(call, i)]), sum_of(logits, classes));
    for (std::int64_t j = 0; j < classes && call.gradient != nullptr; ++j)  // may lie where the logits do
      call.gradient[i * classes + j] = slope(call, power_of(Field::read(logits[j])), sum, j == target(call, i));
    return loss;
  }
  /// From the terms of all parts; `gradient` holds e(x_j) / e(m) of the own part.
  [[nodiscard]] static float of_terms(const LossCall& call, std::int64_t i) {
    const std::int64_t classes = call.features / call.positions;
    const float* const first = call.terms + (i / call.positions * call.parts * call.positions + i % call.positions) * told;
    const auto terms = [&](std::int64_t part) { return first + part * told * call.positions; };
    const auto scale = [&](std::int64_t part) { return power_of(Field::read(terms(part)[0])); };
    std::uint64_t sum = 0, all = 0;
    for (int p = 0; p < call.parts; ++p) sum = Field::plus(sum, Field::times(Field::read(terms(p)[1]), scale(p)));
    for (int p = 0; p < call.parts && smooths; ++p) all = Field::plus(all, Field::read(terms(p)[told - 1]));
    const std::int64_t owner = target(call, i) / classes;
    for (std::int64_t j = 0; j < classes && call.gradient != nullptr; ++j) {
      float& gradient = call.gradient[i * classes + j];
      gradient =
          slope(call, Field::times(Field::read(gradient), scale(call.part)), sum, owner == call.part && j == target(call, i) - owner * classes);
    }
    return value(sum, Field::read(terms(owner)[2]), all);
  }
};

}  // namespace heddle::compute_room

namespace heddle {

/// The kernel of a loss that names none: 16 rows give a sum of 16 terms, each of one row.
template <class Loss> struct FieldLoss : compute_room::FieldLossOfRows<Loss> {};
template <std::derived_from<graph_room::CrossEntropy> Loss> struct FieldLoss<Loss> : compute_room::FieldCrossEntropy<Loss> {};

}  // namespace heddle
