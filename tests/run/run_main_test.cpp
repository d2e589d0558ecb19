// SPDX-License-Identifier: MIT
#include "heddle/run/run_main.hpp"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

using namespace heddle;

namespace {

/// What a body that runs as a program ends with: its code, and what stands on standard error.
struct Ended {
  int code = -1;
  std::string words;
};

/// `output`: where standard output goes meanwhile, or null.
template <class Body> Ended end_of(Body body, MainOptions how = {}, const char* output = nullptr) {
  std::FILE* const said = std::tmpfile();
  REQUIRE(said != nullptr);
  std::fflush(stdout);
  const int errors = ::dup(STDERR_FILENO);
  const int before = ::dup(STDOUT_FILENO);
  ::dup2(::fileno(said), STDERR_FILENO);
  if (output != nullptr) {
    const int to = ::open(output, O_WRONLY);
    ::dup2(to, STDOUT_FILENO);
    ::close(to);
  }
  Ended ended;
  ended.code = run_main(body, how);
  ::dup2(errors, STDERR_FILENO);
  std::clearerr(stdout);
  ::dup2(before, STDOUT_FILENO);
  ::close(errors);
  ::close(before);
  std::rewind(said);
  for (int c = std::fgetc(said); c != EOF; c = std::fgetc(said)) ended.words += static_cast<char>(c);
  std::fclose(said);
  return ended;
}

}  // namespace

TEST_CASE("a body that returns ends with its code, or with 0, and says nothing") {
  const Ended nothing = end_of([] {});
  CHECK(nothing.code == 0);
  CHECK(nothing.words.empty());
  CHECK(end_of([] { return 0; }).code == 0);
  const Ended three = end_of([] { return 3; });
  CHECK(three.code == 3);
  CHECK(three.words.empty());
}

TEST_CASE("whatever a body throws becomes one line and 1") {
  const Ended error = end_of([] { throw Error(Code{'D', 1}, "no folder was given. Fix: give one."); });
  CHECK(error.code == 1);
  CHECK(error.words == "[heddle.D01] no folder was given. Fix: give one.\n");
  CHECK(end_of([]() -> int { throw std::runtime_error("the disk\nis on fire\x1b[2J"); }).words == "the disk?is on fire?[2J\n");
  CHECK(end_of([] { throw std::bad_alloc{}; }).words ==
        "[heddle.R14] the program needs more memory than the system gives. Fix: free memory, or raise the limit (ulimit -v).\n");
  const Ended number = end_of([] { throw 42; });
  CHECK(number.code == 1);
  CHECK(number.words ==
        "the program has thrown an exception that is no std::exception. Fix: throw a type that derives from it, such as std::runtime_error.\n");
}

TEST_CASE("an exception without words, or with those of the library for a size, is told in a sentence") {
  struct Mute : std::exception {
    explicit Mute(const char* said) : words(said) {}
    [[nodiscard]] const char* what() const noexcept override { return words; }
    const char* words;
  };
  for (const char* const nothing : {"", static_cast<const char*>(nullptr)}) {
    const Ended mute = end_of([&] { throw Mute{nothing}; });
    CHECK(mute.code == 1);
    CHECK(mute.words == "the program has thrown an exception without words. Fix: throw one that says what is wrong.\n");
  }
  CHECK(end_of([] { throw std::length_error{"vector::_M_default_append"}; }).words ==
        "[heddle.R14] the program asks for more than a container can hold (vector::_M_default_append). Fix: look for a size that is negative or too "
        "large.\n");
}

TEST_CASE("the name of the program stands before the sentence, and a line that is open is ended first") {
  const auto end_line = [] { std::fputs("open line\n", stderr); };
  const Ended named = end_of([] { throw std::runtime_error("no"); }, {.program = "heddle train", .before_words = end_line});
  CHECK(named.words == "open line\nheddle train: no\n");
}

TEST_CASE("what standard output does not take is said, and the code is 1") {
  const Ended full = end_of([] { std::fputs("results", stdout); }, {}, "/dev/full");
  CHECK(full.code == 1);
  CHECK(full.words ==
        "[heddle.D20] standard output cannot be written: No space left on device. Fix: free disk space, or send the output elsewhere.\n");
  CHECK(std::string{refused_output(EPIPE).what()} ==
        "[heddle.D20] standard output cannot be written: Broken pipe. Fix: let the program behind the pipe read to the end, or write to a file.");
  CHECK(std::string{refused_output(EBADF).what()} ==
        "[heddle.D20] standard output cannot be written: Bad file descriptor. Fix: send the output to a file or a terminal.");
  CHECK(end_of([] {}, {}, "/dev/full").code == 0);  // nothing was printed, so nothing is lost
}

TEST_CASE("a backend with processes tells the sentence in its own way") {
  static std::vector<std::string> told;
  tell_with_processes = [](const LastSentence& last) { told.push_back((last.of_a_lost_rank ? "lost: " : "common: ") + last.text); };
  CHECK(end_of([] { throw std::runtime_error("no"); }).words.empty());
  CHECK(end_of([] { throw RankLost(Rank{2}, "a step", 7, "it has ended"); }).code == 1);
  tell_with_processes = nullptr;
  REQUIRE(told.size() == 2);
  CHECK(told[0] == "common: no");
  CHECK(told[1].starts_with("lost: [heddle.R01] rank 2 was lost at a step, sequence 7: it has ended"));
}
