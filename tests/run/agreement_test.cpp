// SPDX-License-Identifier: MIT
#include "heddle/run/agreement.hpp"

#include <doctest/doctest.h>

#include <cstring>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

using namespace heddle;

namespace {

/// A process of a few, of which the others have spoken before: what is shared by them is played back, what it shares itself is written down.
struct Process {
  int own = 0;
  std::vector<std::vector<std::byte>>* tape = nullptr;
  std::size_t at = 0;
  [[nodiscard]] bool local(Rank rank) const { return own < 0 || rank == Rank{own}; }  // below 0: all are here, as threads
  void share(Rank owner, std::span<std::byte> bytes) {
    if (own < 0) return;
    if (local(owner)) {
      if (tape->size() <= at) tape->resize(at + 1);
      (*tape)[at].assign(bytes.begin(), bytes.end());
    } else {
      REQUIRE(at < tape->size());
      REQUIRE((*tape)[at].size() == bytes.size());
      std::memcpy(bytes.data(), (*tape)[at].data(), bytes.size());
    }
    ++at;
  }
};

/// One that gathers: its parts of what all say are played back, or written down.
struct Gathering : Process {
  std::vector<std::byte>* gathered = nullptr;
  int gathers = 0;
  void gather(std::span<std::byte> all) {
    ++gathers;
    const std::size_t part = all.size() / 2, mine = static_cast<std::size_t>(own) * part;
    gathered->resize(all.size());
    std::memcpy(gathered->data() + mine, all.data() + mine, part);
    std::memcpy(all.data(), gathered->data(), all.size());
  }
};
template <class Action> std::string sentence(Action action) {
  const std::optional<Error> error = error_of(action);
  return error ? error->what() : "nothing was thrown";
}
/// What both processes end with: `action(process)` of rank 0, of rank 1, then of rank 0 once more, which then knows what rank 1 says.
template <class Action> std::vector<std::string> gathered_by_two(Action action) {
  std::vector<std::vector<std::byte>> tape;
  std::vector<std::byte> gathered;
  std::vector<std::string> said;
  for (const int rank : {0, 1, 0}) {
    Gathering process{{rank, &tape}, &gathered};
    said.push_back(sentence([&] { action(process); }));
    CHECK(process.gathers == 1);
  }
  return {said[2], said[1]};
}
[[noreturn]] void fail() { throw Error(Code{'D', 20}, "the disk is full. Fix: free it."); }

}  // namespace

TEST_CASE("what the owner could not do is thrown by all, in its words; what another could not do is not asked for") {
  std::vector<std::vector<std::byte>> tape;
  Process first{0, &tape}, second{1, &tape};
  const std::string said = "[heddle.D20] the disk is full. Fix: free it.";
  CHECK(sentence([&] { throw_everywhere(first, Rank{0}, error_of(fail)); }) == said);
  CHECK(sentence([&] { throw_everywhere(second, Rank{0}, std::nullopt); }) == said);
  CHECK(first.at == second.at);
  tape.clear();
  Process third{0, &tape}, fourth{1, &tape};
  CHECK(sentence([&] { throw_everywhere(third, Rank{0}, std::nullopt); }) == "nothing was thrown");
  CHECK(sentence([&] { throw_everywhere(fourth, Rank{0}, error_of(fail)); }) == "nothing was thrown");
}

TEST_CASE("what fails in any process is thrown by all, with the rank where ranks are processes") {
  std::vector<std::vector<std::byte>> tape;
  Process threads{-1, &tape};
  CHECK(sentence([&] { in_every_process(threads, 2, fail); }) == "[heddle.D20] the disk is full. Fix: free it.");
  CHECK(sentence([&] { in_every_process(threads, 2, [] {}); }) == "nothing was thrown");
  CHECK_FALSE(live_apart(threads, 2));
  Process first{0, &tape}, second{1, &tape};
  CHECK(live_apart(first, 2));
  const std::string said = "[heddle.D20] rank 0: the disk is full. Fix: free it.";
  CHECK(sentence([&] { in_every_process(first, 2, fail); }) == said);
  CHECK(sentence([&] { in_every_process(second, 2, [] {}); }) == said);
}

TEST_CASE("what is thrown that is no error of Heddle is told to all as one, and in one process alone it stays what it is, but for memory") {
  const auto loses = [] { throw std::runtime_error("the network is gone"); };
  const auto has_no_memory = [] { throw std::bad_alloc{}; };
  std::vector<std::vector<std::byte>> tape;
  Process threads{-1, &tape};
  CHECK_THROWS_AS(in_every_process(threads, 2, loses), std::runtime_error);
  CHECK(sentence([&] { in_every_process(threads, 2, has_no_memory); }) ==
        "[heddle.R14] the system gives no memory for the parameters of the whole model. Fix: free memory, or raise the limit on it.");
  Process first{0, &tape}, second{1, &tape};
  const std::string said = "[heddle.R28] rank 0: what has the parameters threw: the network is gone. Fix: look there for what it says.";
  CHECK(sentence([&] { in_every_process(first, 2, loses); }) == said);
  CHECK(sentence([&] { in_every_process(second, 2, [] {}); }) == said);
  tape.clear();
  Process third{0, &tape};
  CHECK(sentence([&] { in_every_process(third, 2, has_no_memory); }).find("[heddle.R14] rank 0: the system gives no memory for") == 0);
}

TEST_CASE("a number that is another in one process is refused in all of them") {
  const auto odd = [](int rank) { return Error(Code{'R', 28}, "rank " + std::to_string(rank) + ". Fix: none."); };
  std::vector<std::vector<std::byte>> tape;
  Process threads{-1, &tape};
  CHECK(sentence([&] { refuse_other_numbers(threads, 3, 5, odd); }) == "nothing was thrown");
  for (const std::uint64_t other : {5U, 6U}) {
    const std::string said = other == 5 ? "nothing was thrown" : "[heddle.R28] rank 1. Fix: none.";
    tape.assign(2, std::vector<std::byte>(sizeof other));
    std::memcpy(tape[1].data(), &other, sizeof other);
    Process first{0, &tape}, second{1, &tape};
    CHECK(sentence([&] { refuse_other_numbers(first, 2, 5, odd); }) == said);
    CHECK(sentence([&] { refuse_other_numbers(second, 2, other, odd); }) == said);
  }
}

TEST_CASE("processes that gather find the first problem, and the first number that is another one, in one exchange") {
  const auto fails_in = [](int rank) {
    return [rank](Gathering& process) { in_every_process(process, 2, [&] { process.own == rank ? fail() : void(); }); };
  };
  CHECK(gathered_by_two([](Gathering& process) { in_every_process(process, 2, [] {}); }) == std::vector<std::string>(2, "nothing was thrown"));
  CHECK(gathered_by_two(fails_in(0)) == std::vector<std::string>(2, "[heddle.D20] rank 0: the disk is full. Fix: free it."));
  CHECK(gathered_by_two(fails_in(1)) == std::vector<std::string>(2, "[heddle.D20] rank 1: the disk is full. Fix: free it."));
  const auto odd = [](int rank) { return Error(Code{'R', 28}, "rank " + std::to_string(rank) + ". Fix: none."); };
  CHECK(gathered_by_two([&](Gathering& process) { refuse_other_numbers(process, 2, 5, odd); }) == std::vector<std::string>(2, "nothing was thrown"));
  CHECK(gathered_by_two([&](Gathering& process) { refuse_other_numbers(process, 2, process.own == 0 ? 5 : 6, odd); }) ==
        std::vector<std::string>(2, "[heddle.R28] rank 1. Fix: none."));
}
