// SPDX-License-Identifier: MIT
// Room: run. What a program says when code of a user ends it by a pointer, as a kernel does that goes through null.
// Sees: standard library.  Does not see: layers, kernels.
// In: a sentence.  Out: it, on stderr, before the signal goes its way.
#pragma once

#include <atomic>
#include <csignal>
#include <cstdio>
#include <string>
#include <utility>

#include "heddle/core/language.hpp"

namespace heddle::run_room {

/// While it lives, a signal SIGSEGV writes the sentence and then does what it would have done without it, as to dump a core or to be reported by a
/// sanitizer. One lives at a time. Of ten kernels that read through null, the program says in which it was and what was null.
///
/// Tested  run/said_at_crash_test
class SaidAtCrash {
 public:
  explicit SaidAtCrash(std::string sentence) : sentence_(std::move(sentence)) {
    sentence_ += '\n';
    said().store(sentence_.c_str());
    before().store(std::signal(SIGSEGV, &SaidAtCrash::say));
  }
  ~SaidAtCrash() {
    std::signal(SIGSEGV, before().load());
    said().store(nullptr);
  }
  SaidAtCrash(const SaidAtCrash&) = delete;
  SaidAtCrash& operator=(const SaidAtCrash&) = delete;

 private:
  using Handler = void (*)(int);
  static std::atomic<const char*>& said() {
    static std::atomic<const char*> now{nullptr};
    return now;
  }
  static std::atomic<Handler>& before() {
    static std::atomic<Handler> now{SIG_DFL};
    return now;
  }
  /// Where it returns to, the same read comes once more and meets the handler from before.
  static void say(int number) {
    if (const char* const words = said().load(); words != nullptr) std::fputs(words, stderr);
    std::fflush(stderr);
    std::signal(number, before().load());
  }
  std::string sentence_;
};

}  // namespace heddle::run_room
