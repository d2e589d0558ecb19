// SPDX-License-Identifier: MIT
// Room: run. The scale of the loss, under the names and defaults of PyTorch's GradScaler: halved after an overflow, doubled after many good steps.
// Sees: run/error.  Does not see: programs, ranks, threads.
// In: whether a step overflowed, the same on every rank.  Out: the scale of the next one.
#pragma once

#include <cstdint>
#include <string>

#include "heddle/core/finite.hpp"
#include "heddle/run/error.hpp"

namespace heddle::inline run_room {

/// What a plan with LossScaling multiplies its loss with; any value may change between steps. Powers of two change no bit of a gradient
/// that neither overflows nor underflows.
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
  [[nodiscard]] float scale() const { return scale_ > 0 ? scale_ : static_cast<float>(init_scale); }
  /// For a run that goes on where another ended; with growth_tracker it is all that a loss scale remembers.
  void set_scale(const float& scale) {
    if (!(is_finite(scale) && scale > 0)) refuse("the loss scale is to be " + std::to_string(scale), "use a finite scale above 0");
    scale_ = scale;
  }
  /// Before every step: words are made only of what is wrong.
  void check() const {
    if (!(is_finite(static_cast<float>(init_scale)) && static_cast<float>(init_scale) > 0))
      refuse("init_scale is " + std::to_string(init_scale) + ", so gradients would be lost", "use a finite scale above 0, for example 65536");
    if (!(is_finite(growth_factor) && growth_factor > 1))
      refuse("growth_factor is " + std::to_string(growth_factor) + ", so the loss scale would never grow", "use a factor above 1, for example 2");
    if (!(is_finite(backoff_factor) && backoff_factor > 0 && backoff_factor < 1))
      refuse("backoff_factor is " + std::to_string(backoff_factor) + ", so the loss scale would not shrink after an overflow",
             "use a factor between 0 and 1, for example 0.5");
    if (!(growth_interval > 0)) refuse("growth_interval is " + std::to_string(growth_interval) + " steps", "use at least 1 step");
  }
  /// After every step. A scale that would no longer be finite does not grow.
  void update(bool overflow) {
    scale_ = scale();
    if (overflow) {
      scale_ = static_cast<float>(static_cast<double>(scale_) * backoff_factor);
      growth_tracker = 0;
    } else if (++growth_tracker >= growth_interval) {
      const auto grown = static_cast<float>(static_cast<double>(scale_) * growth_factor);
      if (is_finite(grown)) scale_ = grown;
      growth_tracker = 0;
    }
  }

 private:
  [[noreturn]] static void refuse(const std::string& what, const std::string& fix) { throw Error(Code{'O', 1}, what + ". Fix: " + fix + "."); }
  float scale_ = 0;  // 0: no step yet
};

}  // namespace heddle::inline run_room
