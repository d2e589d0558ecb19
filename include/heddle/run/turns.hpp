// SPDX-License-Identifier: MIT
// Room: run. One call of a trainer at a time: observers and callbacks run inside one, and so may begin no other.
// Sees: seams/error.  Does not see: programs, ranks, what the calls do.
// In: the name of a call.  Out: its turn, or R11 in one sentence.
#pragma once

#include <atomic>
#include <string>

#include "heddle/core/host_device.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// Who may do what. A call that runs ranks or writes parameters needs a turn of its own; one that reads parameters needs ranks that stand still, as
/// they do in a callback.
///
/// Errors  R11 a call from an observer, a callback or another thread while a call is under way
/// Tested  run/turns_test
class CallTurns {
 public:
  /// Sets a flag for as long as it lives.
  class Hold {
   public:
    explicit Hold(std::atomic<bool>& flag) : flag_(flag) { flag_.store(true, std::memory_order_release); }
    Hold(const Hold&) = delete;
    Hold& operator=(const Hold&) = delete;
    ~Hold() { flag_.store(false, std::memory_order_release); }

   private:
    std::atomic<bool>& flag_;
  };

  [[nodiscard]] Hold take(const char* call) {
    if (taken_.exchange(true, std::memory_order_acq_rel)) refuse(call);
    return Hold{taken_};
  }
  /// While it lives ranks are at work.
  [[nodiscard]] Hold work() { return Hold{working_}; }
  void refuse_at_work(const char* call) const {
    if (working_.load(std::memory_order_acquire)) refuse(call);
  }

 private:
  [[noreturn]] HEDDLE_COLD static void refuse(const char* call) {
    throw Error(Code{'R', 11}, std::string{call} +
                                   " was called while another call of the same trainer is under way, by an observer, a callback or a "
                                   "second thread. Fix: call it after the other call has returned.");
  }
  std::atomic<bool> taken_{false};
  std::atomic<bool> working_{false};
};

}  // namespace heddle::run_room
