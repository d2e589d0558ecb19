// SPDX-License-Identifier: MIT
// Room: run. One call of a trainer at a time, or as many as only read: a step never begins under a save, nor a save under a step.
// Sees: seams/error.  Does not see: programs, ranks, what the calls do.
// In: the name of a call.  Out: its turn, or R11 in one sentence.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>

#include "heddle/core/host_device.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// Who may do what. A call that runs ranks or writes parameters has the trainer for itself; calls that read parameters share it, as many as there
/// are. The thread of a call may read under it, as a callback does, while its ranks stand still. Beside a step of one thread 0 others read; beside a
/// save any number read and 0 step.
///
/// Errors  R11 a call from an observer, a callback or another thread while a call is under way
/// Tested  run/turns_test, run/parameter_file_test
class CallTurns {
  /// A turn is over: one that reads leaves 2 of 3 behind.
  struct End {
    void operator()(CallTurns* turns) const { turns->end(); }
  };
  /// Ranks stand still again.
  struct Rest {
    void operator()(CallTurns* turns) const { turns->working_.store(false, std::memory_order_release); }
  };

 public:
  /// Lasts as long as it lives. It is empty where a thread reads under a call of its own.
  using Turn = std::unique_ptr<CallTurns, End>;
  using Work = std::unique_ptr<CallTurns, Rest>;

  [[nodiscard]] Turn take(const char* call) {
    int nobody = 0;
    if (!holders_.compare_exchange_strong(nobody, one_alone, std::memory_order_acq_rel)) refuse(call);
    thread_.store(std::this_thread::get_id(), std::memory_order_relaxed);
    return Turn{this};
  }
  /// The turn of one that reads, beside others of its kind or `alone`.
  [[nodiscard]] Turn read(const char* call, bool alone = false) {
    if (working_.load(std::memory_order_acquire)) refuse(call);
    int there = holders_.load(std::memory_order_acquire);
    // A thread finds its own name only while it has the turn: it takes the name away before it ends.
    if (there == one_alone && thread_.load(std::memory_order_relaxed) == std::this_thread::get_id()) return {};
    if (alone) return take(call);
    do {
      if (there == one_alone) refuse(call);
    } while (!holders_.compare_exchange_weak(there, there + 1, std::memory_order_acq_rel));
    return Turn{this};
  }
  /// While it lives ranks are at work.
  [[nodiscard]] Work work() {
    working_.store(true, std::memory_order_release);
    return Work{this};
  }

 private:
  static constexpr int one_alone = -1;

  void end() {
    if (holders_.load(std::memory_order_relaxed) != one_alone) {
      holders_.fetch_sub(1, std::memory_order_release);
      return;
    }
    thread_.store(std::thread::id{}, std::memory_order_relaxed);
    holders_.store(0, std::memory_order_release);
  }
  [[noreturn]] HEDDLE_COLD static void refuse(const char* call) {
    throw Error(Code{'R', 11}, std::string{call} +
                                   " was called while another call of the same trainer is under way, by an observer, a callback or a "
                                   "second thread. Fix: call it after the other call has returned.");
  }
  std::atomic<int> holders_{0};  // that read; -1: one has it alone
  std::atomic<std::thread::id> thread_{};
  std::atomic<bool> working_{false};
};

}  // namespace heddle::run_room
