// SPDX-License-Identifier: MIT
// What the programs behind ./heddle share: sentences on standard error, a standard output that takes all or says why not, an end by ^C.
#pragma once

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <exception>
#include <heddle/core/utf8.hpp>
#include <heddle/run/error.hpp>
#include <iostream>
#include <new>
#include <string>
#include <string_view>
#include <system_error>

namespace output {

using namespace heddle;

/// Whether a line is drawn on the terminal that has no end yet.
inline volatile std::sig_atomic_t line_is_open = 0;

/// One line on standard error, which no terminal obeys. A standard error that takes nothing changes nothing.
inline void say(std::string_view program, std::string_view words) {
  if (line_is_open != 0) std::fputs("\n", stderr);
  line_is_open = 0;
  std::fputs((std::string{program} + ": " + printable(words) + "\n").c_str(), stderr);
}

[[nodiscard]] inline Error refusal(int number) {
  return Error(Code{'D', 20}, "standard output cannot be written: " + std::generic_category().message(number) +
                                  ". Fix: free disk space, or send the output elsewhere.");
}

/// What ends a program without being a sentence of Heddle's: memory that the system does not give, or a fault of its own.
[[nodiscard]] inline std::string words_of(const std::exception& problem) {
  if (dynamic_cast<const std::bad_alloc*>(&problem) != nullptr)
    return "the system gives no more memory. Fix: free memory, or raise the limit on it (ulimit -v).";
  return std::string{problem.what()} + ". Fix: free memory or disk space and repeat.";
}

/// Hands over what was printed so far. Errors  D20 if standard output does not take it
inline void flush() {
  errno = 0;
  std::cout.flush();
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0 || !std::cout) throw refusal(errno != 0 ? errno : EIO);
}

template <class... Parts> void print(fmt::format_string<Parts...> words, Parts&&... parts) {
  const std::string text = fmt::format(words, std::forward<Parts>(parts)...);
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) throw refusal(errno != 0 ? errno : EIO);
}

/// What to say, and how to end, after a parse that gives no options: the help and 0, or a sentence and 2.
[[nodiscard]] inline int end_of_options(const CLI::App& app, const CLI::ParseError& problem) {
  if (problem.get_exit_code() != 0) {
    say(app.get_name(), std::string{problem.what()} + ". See --help.");
    return 2;
  }
  const int code = app.exit(problem);
  try {
    flush();
  } catch (const Error& full) {
    say(app.get_name(), full.what());
    return 1;
  }
  return code;
}

/// Ends the line that is being drawn and the process, as if the signal had not been caught: a shell sees 130 after ^C.
extern "C" inline void end_by_signal(int number) {
  static constexpr char stopped[] = "\nheddle train: stopped before the end; there is no table.\n";
  const bool open = line_is_open != 0;
  const char* const words = open ? stopped : stopped + 1;
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, words, std::strlen(words));
  std::signal(number, SIG_DFL);
  std::raise(number);
}

/// A standard output above the limit on the size of files is refused in words, where the signal of the system would end the process without any.
inline void hear_of_file_limits() { std::signal(SIGXFSZ, SIG_IGN); }

/// ^C and a polite kill end with a sentence, unless whoever started the process has them ignored.
inline void end_with_a_sentence() {
  for (const int number : {SIGINT, SIGTERM})
    if (std::signal(number, SIG_IGN) != SIG_IGN) std::signal(number, end_by_signal);
}

}  // namespace output
