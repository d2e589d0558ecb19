// SPDX-License-Identifier: MIT
// Room: compute. What a draw of the field is, and what is counted in one: which functions are called, with what, and of what degrees.
// Sees: the standard library.  Does not see: programs, ranks, threads.
// In: a key, a mode.  Out: FieldDraw, FieldCensus.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "heddle/compute/field/degrees.hpp"
#include "heddle/core/rooms.hpp"

namespace heddle::compute_room {

/// What a run in the field is for: elements; elements with a count of the calls of functions; or degrees in the place of elements.
enum class FieldMode : std::uint8_t { values, census, degrees };

/// Chosen before a run. While ranks run they only read it. A function is another one in each step: what is proved then holds for functions that
/// change from step to step as well, and fewer calls of one function can meet.
/// {7, FieldMode::values, 3} has the numbers of key 7 and the functions of step 3.
struct FieldDraw {
  std::uint64_t key = 1;
  FieldMode mode = FieldMode::values;
  std::uint64_t step = 0;
};
inline FieldDraw field_draw;

/// Holds the draw of this process for one thread at a time, from its first DrawnField to the end of that one; others wait.
class FieldTurn {
 public:
  FieldTurn() {
    if (depth_++ > 0) return;
    while (taken_.test_and_set(std::memory_order_acquire)) taken_.wait(true);
  }
  FieldTurn(const FieldTurn&) = delete;
  FieldTurn& operator=(const FieldTurn&) = delete;
  ~FieldTurn() {
    if (--depth_ > 0) return;
    taken_.clear(std::memory_order_release);
    taken_.notify_one();
  }

 private:
  static inline thread_local int depth_ = 0;
  static inline std::atomic_flag taken_ = ATOMIC_FLAG_INIT;
};

/// A thread that runs ranks in the field, as long as this lives. A proof that began in a kernel there would wait for the draw that its own run has,
/// or take what that one counts.
///
/// Tested  proof/prove_test
class InFieldRun {
 public:
  InFieldRun() { ++depth_; }
  InFieldRun(const InFieldRun&) = delete;
  InFieldRun& operator=(const InFieldRun&) = delete;
  ~InFieldRun() { --depth_; }
  [[nodiscard]] static bool here() { return depth_ > 0; }

 private:
  static inline thread_local int depth_ = 0;
};

/// One call of a function without a formula: in a census its first argument; in a degree run the Degrees of the first argument and the higher
/// of all. f(3, 7) is {f, 3, 0} in a census; f of arguments of degrees 1 and 2 is {f, 1, 2} in a degree run.
struct FieldCall {
  std::uint64_t symbol = 0;
  std::uint64_t first = 0;
  std::uint64_t highest = 0;
};

/// All calls of a run, by all ranks of this process: a census has a line a call, a degree run one a symbol. It is filled in two runs of a proof and
/// in no other, so a flag that is waited for is enough.
///
/// Of one symbol 65,536 lines are enough: their 2^31 pairs leave no bound modulo the prime. A larger model takes no more memory for the same answer.
/// Tested  compute/field/census_test
class FieldCensus {
 public:
  static constexpr std::size_t most_calls = 65'536;  ///< of one symbol
  static constexpr std::uint64_t inverses = 0;       ///< in the place of a symbol
  void note(const FieldCall& call, FieldMode mode) {
    const Noting noting{busy_};
    if (mode == FieldMode::census) {
      std::size_t& lines = lines_[call.symbol];
      if (lines == most_calls) return;
      calls_.push_back(call);
      ++lines;
    } else {
      FieldCall& line = degrees_[call.symbol];
      line = {call.symbol, higher_degrees(line.first, call.first), higher_degrees(line.highest, call.highest)};
    }
  }
  /// Counts, in a degree run, in how many ways an inverse may meet a 0: the sum of the degrees of all that is inverted is the first of one line.
  void note_inverse(std::uint64_t degrees) {
    const Noting noting{busy_};
    degrees_[inverses].first += Degrees::read(degrees).numerator < Degrees::unknown ? Degrees::read(degrees).numerator : Degrees::of_unknown;
    degrees_[inverses].symbol = inverses;
  }
  /// Hands over what was counted and begins anew.
  [[nodiscard]] std::vector<FieldCall> take() {
    std::vector<FieldCall> all = std::exchange(calls_, {});
    lines_.clear();
    for (const auto& [symbol, line] : std::exchange(degrees_, {})) all.push_back(line);
    return all;
  }

 private:
  /// Ends also where there is no memory for another line.
  struct Noting {
    std::atomic_flag& busy;
    explicit Noting(std::atomic_flag& flag) : busy(flag) {
      while (busy.test_and_set(std::memory_order_acquire)) busy.wait(true);
    }
    Noting(const Noting&) = delete;
    Noting& operator=(const Noting&) = delete;
    ~Noting() {
      busy.clear(std::memory_order_release);
      busy.notify_one();
    }
  };
  std::vector<FieldCall> calls_;
  std::map<std::uint64_t, std::size_t> lines_;  // of a symbol, in calls_
  std::map<std::uint64_t, FieldCall> degrees_;
  std::atomic_flag busy_ = ATOMIC_FLAG_INIT;
};
inline FieldCensus field_census;

}  // namespace heddle::compute_room
