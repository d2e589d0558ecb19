// SPDX-License-Identifier: MIT
// Room: run. What steps and evaluations say, and how a trainer reports and waits.
// Sees: run/error.  Does not see: plans, threads, any backend.
// In: -.  Out: StepResult, StepLoss, Evaluation, Every, RunOptions.
#pragma once

#include <bit>
#include <chrono>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "heddle/core/finite.hpp"
#include "heddle/run/error.hpp"

namespace heddle::inline run_room {

/// Steps between two reports.
struct Every {
  std::int64_t steps = 1;
  [[nodiscard]] static constexpr Every never() { return {std::numeric_limits<std::int64_t>::max()}; }
};

/// The loss of one step, if the step was reported. A loss that was not reduced in its step never is: that would be a collective outside the Program.
///
/// Errors  R12 if it is read in a step that was not reported, or where no step was made
/// Tested  run/results_test
class StepLoss {
 public:
  StepLoss() = default;
  StepLoss(std::int64_t step, Every every) : step_(step), every_(every) {}
  StepLoss& operator=(float mean) {
    mean_ = mean;
    return *this;
  }
  [[nodiscard]] bool has_value() const { return mean_.has_value(); }
  [[nodiscard]] explicit operator bool() const { return has_value(); }
  [[nodiscard]] float value() const {
    if (!mean_) refuse();
    return *mean_;
  }
  [[nodiscard]] float operator*() const { return value(); }
  [[nodiscard]] float value_or(float otherwise) const { return mean_.value_or(otherwise); }

 private:
  [[noreturn]] void refuse() const {
    if (step_ == 0)
      throw Error(Code{'R', 12},
                  "no step was made, as for a batch that DropLast leaves out, so there is no loss. Fix: read it where rows is above 0.");
    const bool never = every_.steps == Every::never().steps;
    throw Error(Code{'R', 12}, "the loss of step " + std::to_string(step_) + " was not reduced: the trainer was told to report " +
                                   (never ? "never" : "every " + std::to_string(every_.steps) + " steps") +
                                   ". Fix: read it where loss.has_value(), or report every step with Every{1}.");
  }
  std::optional<float> mean_;
  std::int64_t step_ = 0;
  Every every_;
};

/// What a step says.
struct StepResult {
  std::int64_t step = 0;         ///< from 1
  std::int64_t rows = 0;         ///< rows that counted; 0 if the batch was dropped
  StepLoss loss{};               ///< mean over the rows, of a step that is reported: every step, unless on_step() was told otherwise
  std::optional<float> norm{};   ///< of all gradients before clipping, of a plan that clips
  bool skipped = false;          ///< a gradient overflowed under the loss scale: nothing changed, and the next step has this number again
  std::optional<float> scale{};  ///< of the loss in this step, of a plan that scales it
};

/// What a plan with Clip<GlobalNorm> clips to; may change between steps.
struct ClipOptions {
  double max_norm = 1.0;
  void check() const {
    if (is_nan(max_norm) || !(max_norm > 0))
      throw Error(Code{'O', 1}, "max_norm is " + std::to_string(max_norm) + ", so no gradient would be left. Fix: use a norm above 0.");
  }
};

/// What an evaluation says.
struct Evaluation {
  std::int64_t rows = 0;
  double loss = 0;             ///< mean over the rows
  std::vector<float> outputs;  ///< (rows, output features), in the order of the rows
};

/// FNV-1a over the bytes of floats: the same number for the same bits.
struct BitHash {
  std::uint64_t value = 0xcbf29ce484222325U;
  void add(const std::vector<float>& floats) {
    for (const float f : floats)
      for (int byte = 0; byte < 4; ++byte) value = (value ^ (std::bit_cast<std::uint32_t>(f) >> (8 * byte) & 0xffU)) * 0x100000001b3U;
  }
};

/// How a trainer waits: no wait lasts longer than the deadline.
///
/// Errors  R13 a deadline of 0 or below
struct RunOptions {
  std::chrono::nanoseconds deadline = std::chrono::seconds{60};
};

}  // namespace heddle::inline run_room
