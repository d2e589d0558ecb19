// SPDX-License-Identifier: MIT
// Room: run. Whom a trainer tells of its steps, and in which steps the loss is reduced.
// Sees: seams, run/results.  Does not see: programs, ranks, threads.
// In: a callback, a number of steps.  Out: whether a step is reported; its result, told.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>

#include "heddle/core/written.hpp"
#include "heddle/run/results.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// Every step is reported unless something else was said; a callback is not needed for that.
///
/// Errors  O01 a report every 0 steps
/// Tested  run/reports_test
class Reports {
 public:
  using Callback = std::function<void(const StepResult&)>;

  void set(Callback callback, Every every) {
    if (every.steps < 1) throw Error(Code{'O', 1}, written({"on_step is to be called every ", every.steps, " steps. Fix: use Every{1} or more."}));
    callback_ = callback ? std::make_shared<const Callback>(std::move(callback)) : nullptr;
    every_ = every;
  }
  [[nodiscard]] bool due(std::int64_t step) const { return step % every_.steps == 0; }
  /// A step before its numbers are known, with the reasons why they may stay so.
  [[nodiscard]] StepResult begun(std::int64_t step, bool clips, bool scales_loss) const {
    return {.step = step,
            .loss = ReadWithAStar{"loss", Lacks::report, step, every_},
            .norm = ReadWithAStar{"norm", clips ? Lacks::update : Lacks::clip, step},
            .scale = ReadWithAStar{"scale", scales_loss ? Lacks::step : Lacks::scaling, step}};
  }
  /// A callback may replace itself: the one that runs is kept until it has returned.
  void tell(const StepResult& result) const {
    if (const auto callback = callback_) (*callback)(result);
  }

 private:
  std::shared_ptr<const Callback> callback_;
  Every every_;
};

}  // namespace heddle::run_room
