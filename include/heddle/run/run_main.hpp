// SPDX-License-Identifier: MIT
// Room: run. The main function of a program: an error that nobody has caught becomes one sentence and an exit code.
// Sees: seams/error.  Does not see: plans, trainers, any backend.
// In: a function.  Out: run_main; LastSentence, which a backend of processes tells in its own way.
#pragma once

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

#include "heddle/core/host_device.hpp"
#include "heddle/core/not_included.hpp"
#include "heddle/core/utf8.hpp"
#include "heddle/core/written.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::core_room {

template <class... Given> inline constexpr bool is_included<RunMainHeader, Given...> = true;

}  // namespace heddle::core_room

namespace heddle::run_room {

/// What run_main may be told besides the function.
struct MainOptions {
  std::string_view program{};        ///< stands before the sentence: "heddle train: [heddle.D01] ..."
  void (*before_words)() = nullptr;  ///< for example ends a line of progress that is still open
};

/// The sentence that ends a program, and how it is said.
struct LastSentence {
  std::string text;
  bool of_a_lost_rank = false;
  MainOptions how;

  /// One line on standard error, which no terminal obeys. `process` is named where processes have ended with different sentences.
  void say(int process = -1) const {
    std::fflush(stdout);  // what was printed before stands before it
    if (how.before_words != nullptr) how.before_words();
    std::string line;
    if (!how.program.empty()) line = std::string{how.program} + ": ";
    if (process >= 0) line += "process " + std::to_string(process) + ": ";
    std::fputs((line + printable(text) + "\n").c_str(), stderr);
  }
};

/// Set by a backend with processes: some ends are found by all of them, and one says so. Without such a backend a program says what it finds.
inline void (*tell_with_processes)(const LastSentence&) = nullptr;

/// D20 of a standard output that does not take what was printed.
[[nodiscard]] HEDDLE_COLD inline Error refused_output(int number) {
  const char* const fix = number == EPIPE   ? "let the program behind the pipe read to the end, or write to a file"
                          : number == EBADF ? "send the output to a file or a terminal"
                                            : "free disk space, or send the output elsewhere";
  return Error(Code{'D', 20}, written({"standard output cannot be written: ", std::generic_category().message(number), ". Fix: ", fix, "."}));
}

/// Hands over what was printed so far.
///
/// Errors  D20 if standard output does not take it
/// Tested  run/run_main_test
inline void flush_output() {
  errno = 0;
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) throw refused_output(errno != 0 ? errno : EIO);
}

/// What an exception that has reached the end of the program says there.
[[nodiscard]] inline LastSentence last_sentence(const std::exception_ptr& problem, MainOptions how = {}) {
  try {
    std::rethrow_exception(problem);
  } catch (const Error& error) {
    return {error.what(), error.code() == Code{'R', 1}, how};
  } catch (const std::bad_alloc&) {
    return {"[heddle.R14] the program needs more memory than the system gives. Fix: free memory, or raise the limit (ulimit -v).", false, how};
  } catch (const std::length_error& size) {
    return {"[heddle.R14] the program asks for more than a container can hold (" + std::string{size.what()} +
                "). Fix: look for a size that is negative or too large.",
            false, how};
  } catch (const std::exception& other) {
    const char* const words = other.what();
    if (words == nullptr || *words == '\0')
      return {"the program has thrown an exception without words. Fix: throw one that says what is wrong.", false, how};
    return {words, false, how};
  } catch (...) {
    return {"the program has thrown an exception that is no std::exception. Fix: throw a type that derives from it, such as std::runtime_error.",
            false, how};
  }
}

/// What main returns: 1 after an exception, which is said. Errors  D20 if standard output could not be written
template <class Body> [[nodiscard]] int exit_code_of(Body&& body, MainOptions how) {
#if defined(SIGXFSZ)
  std::signal(SIGXFSZ, SIG_IGN);  // output above the limit on the size of files is then refused in words
#endif
  try {
    int code = 0;
    if constexpr (std::is_void_v<std::invoke_result_t<Body>>)
      std::forward<Body>(body)();
    else
      code = std::forward<Body>(body)();
    flush_output();
    return code;
  } catch (...) {
    const LastSentence last = last_sentence(std::current_exception(), how);
    if (tell_with_processes != nullptr)
      tell_with_processes(last);
    else
      last.say();
    return 1;
  }
}

/// Runs the body of a program and gives the exit code of main: `int main() { return heddle::run_main([] { ... }); }`.
///
/// An error that nobody has caught becomes one sentence on standard error and 1. Where the program is several processes, one of them says what all
/// have found; what only some have found, each says with its number. The body returns nothing or an int, which is the exit code. Standard output is
/// flushed at the end, and a disk that is full is an error as well.
/// Errors  none at run time: what is thrown is said; R29 at build of a body that takes arguments or returns something else
/// Tested  run/run_main_test, processes/mains_check, fail/R29_main_with_arguments, fail/R29_main_that_returns_a_number
template <class Body> [[nodiscard]] int run_main(Body&& body, MainOptions how = {}) {
  static_assert(std::is_invocable_v<Body>, "[heddle.R29] run_main takes a function without arguments. Fix: write run_main([&] { ... }).");
  if constexpr (std::is_invocable_v<Body>) {
    using Result = std::invoke_result_t<Body>;
    constexpr bool gives_a_code = std::is_void_v<Result> || std::is_same_v<Result, int>;
    static_assert(gives_a_code, "[heddle.R29] the body of run_main returns something else than an exit code. Fix: return nothing or an int.");
    if constexpr (gives_a_code) return exit_code_of(std::forward<Body>(body), how);
  }
  return 1;
}

}  // namespace heddle::run_room

namespace heddle {
using run_room::run_main;
}  // namespace heddle
