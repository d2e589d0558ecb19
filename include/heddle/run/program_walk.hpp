// SPDX-License-Identifier: MIT
// Room: run. Where one rank stands in its list of a Program: line, entry of a body, and how far that is. It can stop anywhere and go on later.
// Sees: plan/program, plan/read/each_collective, run/observer, run/step_input.  Does not see: tensors, kernels, transports, threads.
// In: a Program and a role.  Out: each line and entry that the step runs, in their order; what observers are told.
#pragma once

#include <chrono>
#include <cstdint>

#include "heddle/plan/program/program.hpp"
#include "heddle/plan/read/each_collective.hpp"
#include "heddle/run/observer.hpp"
#include "heddle/run/step_input.hpp"

namespace heddle::run_room {

/// What comes of a rank that meets a wait: it waits, or it comes back while others that have not started yet keep it.
enum class Meeting : std::uint8_t { waits, comes_back };
/// What came of the line or entry that was next: the step is over, something was done, or others keep it.
enum class Progress : std::uint8_t { done, moved, kept };

/// Walks the list of one role in one step. A line that computes is begun, then its body runs entry by entry, then the line has ended: a forward of 3
/// entries takes 4 calls of advance.
///
/// Tested  run/program_walk_test, run/executor_test
class ProgramWalk {
 public:
  ProgramWalk(Rank rank, int role) : rank_(rank), role_(role) {}

  void begin(const StepInput& input) {
    in_ = &input;
    p_ = input.program;
    in_observer_ = next_runs_ = false;
    list_end_ = p_->lists[role_].end;
    at_ = {p_->lists[role_].begin, -1, Phase::over};
    next_line(at_.line);
  }
  [[nodiscard]] const Program* program() const { return p_; }  ///< null before the first begin
  [[nodiscard]] bool over() const { return at_.phase == Phase::over; }
  /// That is next, or the last one of a step that is over.
  [[nodiscard]] int line() const { return at_.line; }
  [[nodiscard]] int entry() const { return at_.entry + (next_runs_ ? 1 : 0); }  ///< of the body that runs; -1 outside of one
  [[nodiscard]] int micro_batch() const { return micro_batch_; }
  [[nodiscard]] bool in_observer() const { return in_observer_; }  ///< what was thrown was thrown by the observer

  /// Does the line or the entry that is next: do_line(line) or do_entry(entry), which return false where others keep them. Then it stays the next.
  template <class Line, class Body> Progress advance(Line do_line, Body do_entry) {
    if (over()) return Progress::done;
    const bool waited = at_.phase == Phase::started;
    const Instruction& line = p_->instructions[at_.line];
    if (at_.entry < 0) {
      if (at_.phase == Phase::next) begun(line_began_);
      if (!computes(line.op)) {
        if (!do_line(line)) return Progress::kept;
      } else {
        const IndexRange& body = p_->body(line);
        body_end_ = body.end;
        next_entry(body.begin);
      }
    } else {
      if (at_.phase == Phase::next) begun(entry_began_);
      if (!do_entry(p_->entries[at_.entry])) return at_.phase == Phase::started && !waited ? Progress::moved : Progress::kept;
      ended(entry_began_);
      next_entry(at_.entry + 1);
    }
    if (at_.entry >= 0) return Progress::moved;
    ended(line_began_);
    next_line(at_.line + 1);
    return over() ? Progress::done : Progress::moved;
  }
  /// Of an entry that moves something and waits for it: true once, before it does so.
  [[nodiscard]] bool starts() {
    if (at_.phase == Phase::started) return false;
    at_.phase = Phase::started;
    return true;
  }
  /// Of two entries that run at once: true while the second one does, which entry() then names.
  [[nodiscard]] bool& next_runs() { return next_runs_; }
  /// The entry behind the one in hand has run with it.
  void pass_entry() { ++at_.entry; }

 private:
  /// How far the line or entry in hand is: it is next, or observers have seen its start, or it has started what it waits for; or the step is over.
  enum class Phase : std::uint8_t { next, begun, started, over };
  /// {12, 80, Phase::started}: in the body of line 12 entry 80 has started a sum and waits for it.
  struct Counter {
    int line = 0;  // in Program::instructions
    int entry = -1;
    Phase phase = Phase::over;
  };
  using Time = std::chrono::steady_clock::time_point;

  /// The first line from this one on that the step runs.
  void next_line(int line) {
    while (line < list_end_ && p_->instructions[line].when == When::reporting && !in_->reporting) ++line;
    at_ = line < list_end_ ? Counter{line, -1, Phase::next} : Counter{at_.line, -1, Phase::over};
    if (!over()) micro_batch_ = p_->instructions[line].micro_batch;
  }
  /// The first entry from this one on that the micro-batch runs.
  void next_entry(int entry) {
    while (entry < body_end_ && p_->entries[entry].when != When::always && !applies(p_->entries[entry].when)) ++entry;
    at_.entry = entry < body_end_ ? entry : -1;
    at_.phase = Phase::next;
  }
  [[nodiscard]] bool applies(When when) const { return when == When::reporting ? in_->reporting : plan_room::runs_in(*p_, when, micro_batch_); }
  void begun(Time& began) {
    at_.phase = Phase::begun;
    if (in_->observer == nullptr) return;
    began = std::chrono::steady_clock::now();
    tell(began, {}, &Observer::started);
  }
  void ended(Time began) {
    if (in_->observer != nullptr) tell(began, std::chrono::steady_clock::now(), &Observer::finished);
  }
  void tell(Time began, Time ended, void (Observer::*what)(const Observation&)) {
    in_observer_ = true;
    (in_->observer->*what)({rank_, p_, at_.line, at_.entry, static_cast<std::int16_t>(micro_batch_), in_->step, began, ended});
    in_observer_ = false;
  }

  Rank rank_;
  int role_;
  const StepInput* in_ = nullptr;
  const Program* p_ = nullptr;
  Counter at_;
  int list_end_ = 0;
  int body_end_ = 0;
  int micro_batch_ = 0;
  bool in_observer_ = false;
  bool next_runs_ = false;
  Time line_began_, entry_began_;
};

}  // namespace heddle::run_room
