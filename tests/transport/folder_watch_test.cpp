// SPDX-License-Identifier: MIT
#include "heddle/transport/folder_watch.hpp"

#include <doctest/doctest.h>

#include <atomic>
#include <fstream>

#include "transport/folder_ranks.hpp"

using namespace heddle;
using namespace folder_ranks;
using namespace std::chrono_literals;

namespace {

constexpr auto never = [] { return false; };
constexpr auto everybody = [](int) { return true; };
/// What a wait for all others ends with.
std::string wait(FolderWatch& watch, const char* where) { return watch.await(where, never, everybody) ? "" : watch.lost().error(where, 3).what(); }

}  // namespace

TEST_CASE("a wait ends as soon as it is done") {
  const Folder folder{"watch"};
  FolderWatch watch{folder.path, 0, 2, 10s};
  int looks = 0;
  CHECK(watch.await(
      "a call", [&] { return ++looks == 5; }, everybody));
  CHECK_FALSE(watch.hears_of_loss());
}

TEST_CASE("R01: a rank that stops is heard of by all that wait, long before the deadline, and so is its reason") {
  const Folder folder{"watch_stops"};
  const auto begun = std::chrono::steady_clock::now();
  std::vector<std::string> words(3);
  said_by(3, [&](int rank) {
    FolderWatch watch{folder.path, rank, 3, 30s};
    if (rank == 1) std::this_thread::sleep_for(50ms);
    if (rank == 1) watch.say_farewell("the disk is on fire");
    words[static_cast<std::size_t>(rank)] = rank == 1 ? "" : wait(watch, "a call");
    if (rank == 1) CHECK(watch.out());
  });
  for (const std::size_t rank : {0U, 2U})
    CHECK(words[rank] == "[heddle.R01] rank 1 was lost at a call, sequence 3: the disk is on fire. Fix: look at the first error of rank 1.");
  CHECK(std::chrono::steady_clock::now() - begun < 10s);
}

TEST_CASE("R01: at the deadline the one that is silent is lost, not those that wait for it as well") {
  const Folder folder{"watch_silent"};
  std::vector<std::string> words(3);
  std::atomic<int> waiting = 0;
  said_by(3, [&](int rank) {
    FolderWatch watch{folder.path, rank, 3, 400ms};
    ++waiting;
    while (rank == 0 && waiting < 5) std::this_thread::sleep_for(1ms);  // it computes, or is gone
    if (rank == 0) return;
    words[static_cast<std::size_t>(rank)] = wait(watch, "a call");
    ++waiting;
  });
  for (const std::size_t rank : {1U, 2U})
    CHECK(words[rank] ==
          "[heddle.R01] rank 0 was lost at a call, sequence 3: it started nothing within the deadline of 400 ms. Fix: look at the first "
          "error of rank 0, or raise the deadline if it is only slow.");
}

TEST_CASE("where a connection is broken the silent rank is lost half a deadline later, and nobody is where all answer") {
  for (const bool all_answer : {false, true}) {
    const Folder folder{"watch_broken"};
    std::vector<std::string> words(3);
    std::atomic<int> waiting = 0;
    said_by(3, [&](int rank) {
      FolderWatch watch{folder.path, rank, 3, 2s};
      ++waiting;
      while (waiting < (all_answer ? 3 : rank == 2 ? 5 : 0)) std::this_thread::sleep_for(1ms);  // it is gone, or all are there
      if (rank == 2 && !all_answer) return;
      const auto begun = std::chrono::steady_clock::now();
      std::string& said = words[static_cast<std::size_t>(rank)];
      const auto broken = [&] { return rank == 0 && std::chrono::steady_clock::now() - begun > 100ms; };
      const auto answers_long_enough = [&] { return all_answer && rank > 0 && std::chrono::steady_clock::now() - begun > 1500ms; };
      const bool done = watch.await("a call", answers_long_enough, everybody, broken);
      CHECK(done == (all_answer && rank > 0));
      said = watch.lost().any() ? watch.lost().error("a call", 3).what() : "nobody";
      if (!done && watch.lost().any()) watch.say_farewell("");
      if (rank == 0) CHECK(std::chrono::steady_clock::now() - begun < 1800ms);
      ++waiting;
    });
    if (all_answer) CHECK(words == std::vector<std::string>(3, "nobody"));
    for (const std::size_t rank : {0U, 1U})
      if (!all_answer)
        CHECK(words[rank] ==
              "[heddle.R01] rank 2 was lost at a call, sequence 3: a connection is broken, and it answered nothing within half of the deadline of "
              "2000 ms. Fix: look at the first error of rank 2, or raise the deadline if it is only slow.");
  }
}

TEST_CASE("R01: where all wait for each other the sentence says where") {
  const Folder folder{"watch_circle"};
  std::vector<std::string> words(2);
  said_by(2, [&](int rank) {
    FolderWatch watch{folder.path, rank, 2, 400ms};
    words[static_cast<std::size_t>(rank)] = wait(watch, rank == 0 ? "a call" : "the queue of rank 1");
  });
  const std::string zero =
      "[heddle.R01] rank 1 was lost at a call, sequence 3: it waits at the queue of rank 1, rank 0 at a call, and so does every "
      "rank that they wait for. Fix: make the same calls in the same order in every process.";
  const std::string one =
      "[heddle.R01] rank 0 was lost at the queue of rank 1, sequence 3: it waits at a call, rank 1 at the queue of rank 1, and so ";
  CAPTURE(words[0]);
  CAPTURE(words[1]);
  CHECK((words[0] == zero || begins(words[1], one)));  // the first to say it is heard by the other
  CHECK(has(words[0], "and so does every rank that they wait for"));
  CHECK(has(words[1], "and so does every rank that they wait for"));
}

TEST_CASE("R01: a rank that has left is waited for by nobody; the last to leave knows it") {
  const Folder folder{"watch_left"};
  FolderWatch first{folder.path, 0, 2, 2s}, second{folder.path, 1, 2, 2s};
  CHECK_FALSE(second.leaves_last());
  const auto begun = std::chrono::steady_clock::now();
  CHECK(
      wait(first, "a call") ==
      "[heddle.R01] rank 1 was lost at a call, sequence 3: its part in the plan has ended, because its trainer is gone. Fix: look at the first error "
      "of rank 1.");
  CHECK(std::chrono::steady_clock::now() - begun < 1s);
  CHECK(first.leaves_last());
}

TEST_CASE("R01: of a damaged notice, a rank that is none is nobody, and text without an end ends with the notice") {
  const Folder folder{"watch_damaged"};
  FolderWatch watch{folder.path, 0, 2, 300ms}, other{folder.path, 1, 2, 300ms};
  const auto damage = [&](std::int32_t rank) {
    other.say_farewell("why");  // both "lost" and "1.words" are notices of one that has stopped now
    std::fstream file{folder.path / "lost", std::ios::in | std::ios::out | std::ios::binary};
    file.seekp(12);
    file.write(reinterpret_cast<const char*>(&rank), sizeof rank);
    file.seekp(32);
    file << std::string(1016, 'x');
  };
  damage(99);
  CHECK(wait(watch, "a call") == "[heddle.R01] rank 1 was lost at a call, sequence 3: why. Fix: look at the first error of rank 1.");
  FolderWatch reads{folder.path, 0, 2, 300ms};  // it writes "lost" anew
  FolderWatch writes{folder.path, 1, 2, 300ms};
  writes.say_farewell(std::string(2000, 'y'));
  std::fstream file{folder.path / "lost", std::ios::in | std::ios::out | std::ios::binary};
  file.seekp(-1, std::ios::end);
  file << 'z';
  file.close();
  CHECK(has(wait(reads, "a call"), ": " + std::string(1015, 'y') + ". Fix: "));
}

TEST_CASE("R01: who is told of another run in the place waits for nobody, whichever rank it is, and so do those that it tells") {
  for (const int rank : {0, 1, 7}) {
    const Folder folder{"watch_spoiled"};
    FolderWatch watch{folder.path, 0, 2, 10s}, other{folder.path, 1, 2, 10s};
    FolderWatch::spoil(folder.path, rank, "another process is there");
    const auto begun = std::chrono::steady_clock::now();
    CHECK(has(wait(watch, "a call"), "was lost at a call, sequence 3: another process is there"));
    watch.say_farewell("");
    CHECK(watch.out());
    CHECK(has(wait(other, "a call"), "was lost at a call, sequence 3: another process is there"));
    CHECK(std::chrono::steady_clock::now() - begun < 5s);
  }
  FolderWatch::spoil("/nowhere", 0, "nobody is there");
}
