// SPDX-License-Identifier: MIT
// Room: run. What a program says when code of a user ends it by a pointer, as a kernel does that goes through null.
// Sees: standard library.  Does not see: layers, kernels.
// In: a sentence.  Out: it, on stderr, before the signal goes its way.
#pragma once

#include <unistd.h>

#include <csignal>
#include <cstring>
#include <mutex>
#include <string>
#include <utility>

#include "heddle/core/language.hpp"

namespace heddle::run_room {

/// While it lives, a signal SIGSEGV in its thread writes the sentence and then does what it would have done without it, as to dump a core or to be
/// reported by a sanitizer; the handler of the program is put back as it was, flags and mask included. Several may live, in one thread and in others:
/// each thread says the sentence of its last one. Of ten kernels that read through null, the program says in which it was and what was null.
///
/// Tested  run/said_at_crash_test
class SaidAtCrash {
 public:
  explicit SaidAtCrash(std::string sentence) : sentence_(std::move(sentence)), outer_(said()) {
    sentence_ += '\n';
    said() = sentence_.c_str();
    const std::scoped_lock lock{installed().mutex};
    if (installed().count++ > 0) return;
    struct sigaction says {};
    says.sa_handler = &SaidAtCrash::say;
    says.sa_flags = SA_ONSTACK;
    sigaction(SIGSEGV, &says, &installed().before);
  }
  ~SaidAtCrash() {
    said() = outer_;
    const std::scoped_lock lock{installed().mutex};
    if (--installed().count == 0) sigaction(SIGSEGV, &installed().before, nullptr);
  }
  SaidAtCrash(const SaidAtCrash&) = delete;
  SaidAtCrash& operator=(const SaidAtCrash&) = delete;

 private:
  /// The handler from before, while some live: of two in one thread and one in another the count is 3.
  struct Installed {
    std::mutex mutex;
    int count = 0;
    struct sigaction before {};
  };
  static Installed& installed() {
    static Installed all;
    return all;
  }
  static const char*& said() {
    static thread_local const char* now = nullptr;
    return now;
  }
  /// Where it returns to, the same read comes once more and meets the handler from before. It calls what a handler may call, and nothing else.
  static void say(int number) {
    if (const char* const words = said(); words != nullptr) static_cast<void>(!write(STDERR_FILENO, words, std::strlen(words)));
    sigaction(number, &installed().before, nullptr);
  }
  std::string sentence_;
  const char* outer_;
};

}  // namespace heddle::run_room
