// SPDX-License-Identifier: MIT
// Room: run. What steps and evaluations say, and how a trainer reports and waits.
// Sees: graph/loss, seams/error.  Does not see: plans, threads, any backend.
// In: -.  Out: StepResult, ReadWithAStar, Evaluation, Every, RunOptions.
#pragma once

#include <bit>
#include <chrono>
#include <compare>
#include <cstdint>
#include <iosfwd>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heddle/core/finite.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/not_printed.hpp"
#include "heddle/core/written.hpp"
#include "heddle/graph/loss.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// Steps between two reports. Every{100} asks for one report in 100 steps.
struct Every {
  std::int64_t steps = 1;
  [[nodiscard]] static constexpr Every never() { return {std::numeric_limits<std::int64_t>::max()}; }
};

/// Why a step lacks a number.
enum class Lacks : std::uint8_t { step, report, clip, scaling, update };

/// The rule of what uses such a number as if it were always there.
template <class> struct ReadingByMistake { static constexpr Diagnosis found{Code{'R', 12}, "write *result.loss."}; };

/// A number of one step that it may lack: its loss, its norm or its scale. It is read as *result.loss, and clang's sentence about printf("%f",
/// result.loss) says no more than the name of the class. A loss that was not reduced in its step never
/// is: that would be a collective outside the Program. In a plan that does not clip result.norm.value_or(1) is 1.
///
/// Errors  R12 if it is read where it is missing; at build if it is compared or printed without the star
/// Tested  run/results_test, fail/R12_loss_printed, fail/R12_loss_compared, fail/R12_norm_equals, fail/R12_printf_of_a_loss
class ReadWithAStar : NotForEllipses {
 public:
  using RuleOfPrinting = ReadingByMistake<void>;
  explicit ReadWithAStar(const char* name, Lacks why = Lacks::step, std::int64_t step = 0, Every every = {})
      : name_(name), step_(step), every_(every), why_(why) {}
  ReadWithAStar& operator=(float number) {
    number_ = number;
    return *this;
  }
  [[nodiscard]] bool has_value() const { return number_.has_value(); }
  [[nodiscard]] explicit operator bool() const { return has_value(); }
  [[nodiscard]] float value() const {
    if (!number_) refuse();
    return *number_;
  }
  [[nodiscard]] float operator*() const { return value(); }
  [[nodiscard]] float value_or(float otherwise) const { return number_.value_or(otherwise); }

 private:
  [[noreturn]] HEDDLE_COLD void refuse() const {
    const std::string name = name_, step = "step " + std::to_string(step_);
    const char* const where = "Fix: read it where ";
    const auto words = [&]() -> std::string {
      switch (why_) {
        case Lacks::report:
          return written({"the ", name, " of ", step, " was not reduced: the trainer was told to report ",
                          (every_.steps == Every::never().steps ? "never" : "every " + std::to_string(every_.steps) + " steps"), ". ", where, name,
                          ".has_value(), or report every step with Every{1}."});
        case Lacks::clip: return "the plan does not clip, so " + step + " has no " + name + ". Fix: add Clip<GlobalNorm> to the plan.";
        case Lacks::scaling: return "the plan does not scale its loss, so " + step + " has no " + name + ". Fix: add LossScaling to the plan.";
        case Lacks::update:
          return step + " was skipped, because a gradient overflowed under the loss scale, so it has no " + name + ". " + where + "skipped is false.";
        case Lacks::step: break;
      }
      return "no step was made, as for a batch that DropLast leaves out, so there is no " + name + ". " + where + "rows is above 0.";
    };
    throw Error(Code{'R', 12}, words());
  }
  const char* name_;
  std::optional<float> number_;
  std::int64_t step_;
  Every every_;
  Lacks why_;
};

// What uses a number as if it were always there is refused, in one function each: clang quotes every one that it goes through.
template <class Character, class Traits>
std::basic_ostream<Character, Traits>& operator<<(std::basic_ostream<Character, Traits>& stream, const ReadWithAStar&) {
  static_assert(sizeof(fired<ReadingByMistake<Character>>) > 0);
  return stream;
}
template <class Other> bool operator==(const ReadWithAStar&, const Other&) {
  static_assert(sizeof(fired<ReadingByMistake<Other>>) > 0);
  return false;
}
template <class Other> std::partial_ordering operator<=>(const ReadWithAStar&, const Other&) {
  static_assert(sizeof(fired<ReadingByMistake<Other>>) > 0);
  return std::partial_ordering::unordered;
}

/// What a step says. The first step of Batch<64> has step 1 and rows 64.
struct StepResult {
  std::int64_t step = 0;         ///< from 1
  std::int64_t rows = 0;         ///< rows that counted; 0 if the batch was dropped
  ReadWithAStar loss{"loss"};    ///< mean over the rows, of a step that is reported: every step, unless on_step() was told otherwise
  ReadWithAStar norm{"norm"};    ///< of all gradients before clipping, of a plan that clips
  bool skipped = false;          ///< a gradient overflowed under the loss scale: nothing changed, and the next step has this number again
  ReadWithAStar scale{"scale"};  ///< of the loss in this step, of a plan that scales it
};

/// What a plan with Clip<GlobalNorm> clips to; may change between steps. With a max_norm of 1 a gradient of norm 2 is halved, but for
/// the 1e-6 that PyTorch adds to the norm.
struct ClipOptions {
  double max_norm = 1.0;
  void check() const {
    if (is_nan(max_norm) || !(static_cast<float>(max_norm) > 0))
      throw Error(Code{'O', 1}, written({"max_norm is ", short_number(max_norm), ", so no gradient would be left. Fix: use a norm above 0."}));
  }
};

/// What a plan with Clip<EachValue> clips to; may change between steps. With a max_value of 0.5 an element of -2 becomes -0.5.
struct ValueClipOptions {
  double max_value = 1.0;
  void check() const {
    if (is_nan(max_value) || !(static_cast<float>(max_value) > 0))
      throw Error(Code{'O', 1}, written({"max_value is ", short_number(max_value), ", so no gradient would be left. Fix: use a value above 0."}));
  }
};

/// What an evaluation says. Of 100 rows and 10 classes it has 1,000 outputs. The mean over several evaluations is the sum of loss * counted, divided
/// by the sum of counted; of several losses it is so for each by itself, with losses[k] and counted_of_losses[k].
struct Evaluation {
  std::int64_t rows = 0;
  double loss = 0;             ///< mean over what counts of the rows
  double counted = 0;          ///< by what the sum of losses was divided: the rows, less the share of ignored targets; with class weights, their sum
  std::vector<float> outputs;  ///< (rows, output features), in the order of the rows
  graph_room::TargetRanges targets{};       ///< which targets the loss counts
  std::vector<double> losses{};             ///< of several losses the mean of each, in their order, without weights
  std::vector<double> counted_of_losses{};  ///< and by what each was divided, in rows
};

/// FNV-1a over the bytes of floats: the same number for the same bits.
struct BitHash {
  std::uint64_t value = 0xcbf29ce484222325U;
  void add(std::span<const float> floats) {
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

}  // namespace heddle::run_room

namespace heddle {
using run_room::Every, run_room::StepResult;
}  // namespace heddle

namespace heddle::extending {
using run_room::Evaluation;
}  // namespace heddle::extending
