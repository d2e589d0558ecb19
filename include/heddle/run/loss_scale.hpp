// SPDX-License-Identifier: MIT
// Room: run. The scale of the loss, under the names and defaults of PyTorch's GradScaler: halved after an overflow, doubled after many good steps.
// Sees: seams/error.  Does not see: programs, ranks, threads.
// In: whether a step overflowed, the same on every rank.  Out: the scale of the next one.
#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "heddle/core/finite.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// What a plan with LossScaling multiplies its loss with; any value may change between steps. Powers of two change no bit of a gradient
/// that neither overflows nor underflows. A scale and its inverse are normal floats, so that a division by it undoes it.
/// From 65,536 a step with an overflow leads to 32,768, and 2,000 steps in a row without one lead to 131,072.
///
/// Errors  O01 for a value out of range
/// Source  sources.md#grad-scaler
/// Tested  run/loss_scale_test
class LossScale {
 public:
  double init_scale = 65536;            ///< of the first step
  double growth_factor = 2;             ///< after growth_interval steps in a row without an overflow
  double backoff_factor = 0.5;          ///< after a step that was skipped
  std::int64_t growth_interval = 2000;  // [steps]
  std::int64_t growth_tracker = 0;      ///< steps without an overflow since the scale last changed

  /// Of the next step.
  [[nodiscard]] float scale() const { return scale_ ? *scale_ : static_cast<float>(init_scale); }
  /// For a run that goes on where another ended; with growth_tracker it is all that a loss scale remembers.
  void set_scale(const float& scale) {
    if (!(is_finite(scale) && undoable(static_cast<double>(scale))))
      refuse("the loss scale is to be " + short_number(static_cast<double>(scale)), std::string{range});
    scale_ = scale;
  }
  /// Before every step: words are made only of what is wrong.
  void check() const {
    if (!undoable(init_scale))
      refuse("init_scale is " + short_number(init_scale) + ", so gradients would be lost", std::string{range} + ", for example 65536");
    if (!(is_finite(growth_factor) && growth_factor > 1))
      refuse("growth_factor is " + short_number(growth_factor) + ", so the loss scale would never grow", "use a factor above 1, for example 2");
    if (!(is_finite(backoff_factor) && backoff_factor > 0 && static_cast<float>(backoff_factor) < 1))
      refuse("backoff_factor is " + short_number(backoff_factor) + ", so the loss scale would not shrink after an overflow",
             "use a factor between 0 and 1, for example 0.5");
    if (!(growth_interval > 0)) refuse("growth_interval is " + std::to_string(growth_interval) + " steps", "use at least 1 step");
  }
  /// After every step. The scale shrinks to no less than the smallest one, and does not grow beyond the largest.
  void update(bool overflow) {
    const auto now = static_cast<double>(scale());
    double next = now;
    if (overflow) {
      next = std::max(smallest, now * backoff_factor);
      growth_tracker = 0;
    } else if (++growth_tracker >= growth_interval) {
      if (growth_factor <= largest / now) next = now * growth_factor;
      growth_tracker = 0;
    }
    scale_ = static_cast<float>(next);
  }

 private:
  static constexpr double smallest = 0x1p-126;
  static constexpr double largest = 0x1p126;
  static constexpr std::string_view range = "use a scale from 1.2e-38 to 8.5e+37";
  [[nodiscard]] static bool undoable(const double& scale) { return is_finite(scale) && scale >= smallest && scale <= largest; }
  [[noreturn]] HEDDLE_COLD static void refuse(const std::string& what, const std::string& fix) {
    throw Error(Code{'O', 1}, written({what, ". Fix: ", fix, "."}));
  }
  std::optional<float> scale_;  // none: no step yet
};

}  // namespace heddle::run_room
