// SPDX-License-Identifier: MIT
// What the programs behind ./heddle share: sentences on standard error, a standard output that takes all or says why not, an end by ^C.
#pragma once

#include <fmt/core.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <heddle/run/run_main.hpp>
#include <iostream>
#include <string>

namespace output {

using namespace heddle;

/// Whether a line is drawn on the terminal that has no end yet.
inline volatile std::sig_atomic_t line_is_open = 0;

inline void end_open_line() {
  if (line_is_open != 0) std::fputs("\n", stderr);
  line_is_open = 0;
}

/// Hands over what was printed so far. Errors  D20 if standard output does not take it
inline void flush() {
  errno = 0;
  std::cout.flush();
  if (!std::cout) throw run_room::refused_output(errno != 0 ? errno : EIO);
  run_room::flush_output();
}

template <class... Parts> void print(fmt::format_string<Parts...> words, Parts&&... parts) {
  const std::string text = fmt::format(words, std::forward<Parts>(parts)...);
  errno = 0;
  if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) throw run_room::refused_output(errno != 0 ? errno : EIO);
}

/// A number from one to another, which no NaN is; CLI::Range takes it for one.
inline CLI::Validator number_from(double least, double most) {
  const std::string words = fmt::format("FLOAT in [{:g} - {:g}]", least, most);
  return CLI::Validator(
      [least, most](std::string& text) {
        double value = 0;
        if (CLI::detail::lexical_cast(text, value) && value >= least && value <= most) return std::string{};
        return fmt::format("Value {} not in range [{:g} - {:g}]", text, least, most);
      },
      words, "number_from");
}

/// Runs the body of a program with these options: the help ends it with 0, an option that is wrong with a sentence and 2.
template <class Body> [[nodiscard]] int run(const CLI::App& app, Body body) {
  const std::string name = app.get_name();
  const run_room::MainOptions how{.program = name, .before_words = end_open_line};
  return run_main(
      [&] {
        try {
          return body();
        } catch (const CLI::ParseError& problem) {
          if (problem.get_exit_code() != 0) {
            run_room::LastSentence{std::string{problem.what()} + ". See --help.", false, how}.say();
            return 2;
          }
          const int code = app.exit(problem);
          flush();
          return code;
        }
      },
      how);
}

/// What a signal has the process say, behind an end of the line that may be open. It is made beforehand: a handler makes no text.
inline std::string words_at_a_signal;

/// Ends the line that is being drawn and the process, as if the signal had not been caught: a shell sees 130 after ^C.
extern "C" inline void end_by_signal(int number) {
  const std::size_t begin = line_is_open != 0 ? 0 : 1;
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, words_at_a_signal.data() + begin, words_at_a_signal.size() - begin);
  std::signal(number, SIG_DFL);
  std::raise(number);
}

/// ^C and a polite kill end with a sentence, unless whoever started the process has them ignored: of "there is no table" it is
/// "heddle train: stopped before the end; there is no table."
inline void end_with_a_sentence(const CLI::App& app, const std::string& missing) {
  words_at_a_signal = "\n" + app.get_name() + ": stopped before the end; " + missing + ".\n";
  for (const int number : {SIGINT, SIGTERM})
    if (std::signal(number, SIG_IGN) != SIG_IGN) std::signal(number, end_by_signal);
}

}  // namespace output
