// SPDX-License-Identifier: MIT
#include "heddle/transport/mpi_watch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

#include "heddle/transport/movement.hpp"
#include "transport/mpi_ranks.hpp"

using namespace heddle;
using namespace std::chrono_literals;
using heddle::tests::FirstRanks;

namespace {

/// Something that one rank waits for from others.
struct Waits {
  std::vector<int> from;
  bool complete = false;
  bool is_broken = false;
  [[nodiscard]] bool broken() const { return is_broken; }
  [[nodiscard]] bool done() const { return complete; }
  [[nodiscard]] bool needs(int rank) const { return std::find(from.begin(), from.end(), rank) != from.end(); }
  [[nodiscard]] OperationName describe() const {
    OperationName name{"a wait for rank "};
    name << from.front();
    return name;
  }
};

const auto nothing = [] {};
bool await(MpiWatch& watch, Waits waits, const auto& progress) {
  return watch.await(
      waits, [&] { progress(); },
      [&](auto visit) {
        for (const int rank : waits.from) visit(rank);
      });
}
bool await(MpiWatch& watch, Waits waits) { return await(watch, std::move(waits), nothing); }

}  // namespace

TEST_CASE("what completes is complete, also when a rank is lost that it does not need") {
  const FirstRanks ranks{3};
  if (!ranks.taking_part()) return;
  MpiWatch watch{ranks.get(), 2min};
  if (watch.rank() == 2) {
    watch.say_farewell("it threw");
    watch.linger(1min, [] { return false; });
  } else {
    while (!watch.lost().contains(2)) watch.listen();
    Waits other{{1 - watch.rank()}};
    int looks = 0;
    CHECK(watch.await(
        other, [&] { other.complete = ++looks == 5; }, [](auto) {}));
    CHECK_FALSE(watch.out());
    watch.say_farewell("");
    watch.linger(1min, [] { return false; });
  }
  CHECK(watch.all_gone());
  CHECK((watch.lost().cause() == 2 && watch.lost().why() == "it threw"));
}

TEST_CASE("a wait for a rank that says farewell ends at once, and the first cause is passed on") {
  const FirstRanks ranks{3};
  if (!ranks.taking_part()) return;
  MpiWatch watch{ranks.get(), 1h};
  if (watch.rank() == 0) {
    watch.say_farewell("the disk is on fire");
  } else {
    CHECK_FALSE(await(watch, {{watch.rank() - 1}}));  // 2 waits for 1, which waits for 0
    watch.say_farewell("");
  }
  watch.linger(1min, [] { return false; });
  CHECK((watch.lost().cause() == 0 && watch.lost().why() == "the disk is on fire"));
}

TEST_CASE("who waits long for another process looks rarely") {
  const FirstRanks ranks{2};
  if (!ranks.taking_part()) return;
  MpiWatch watch{ranks.get(), 2min};
  Waits other{{1 - watch.rank()}};
  int looks = 0;
  const auto begin = std::chrono::steady_clock::now();
  CHECK(watch.await(
      other,
      [&] {
        ++looks;
        other.complete = std::chrono::steady_clock::now() - begin > 1s;
      },
      [](auto visit) { visit(0); }));
  CHECK(looks < 20'000);  // without a sleep some 100,000; with sleeps of 20 us and more, and what a system adds to them, fewer than 10,000
  MPI_Barrier(ranks.get());
  watch.say_farewell("");
  watch.linger(2s, [] { return false; });
}

namespace {

/// The ranks that wait name the one that is silent. Each waits for what `from` gives it.
void name_the_silent(int silent, int size, const auto& from, std::chrono::milliseconds deadline = 1200ms) {
  const FirstRanks ranks{size};
  if (!ranks.taking_part()) return;
  CAPTURE(silent);
  CAPTURE(ranks.rank());
  MpiWatch watch{ranks.get(), deadline};
  if (watch.rank() == silent) {
    MPI_Barrier(ranks.get());                            // silent while the others wait
    CHECK_FALSE(await(watch, {{silent == 0 ? 1 : 0}}));  // it hears that it was given up
    CHECK((watch.lost().cause() == silent && watch.out()));
  } else {
    CHECK_FALSE(await(watch, {from(watch.rank())}));
    CHECK(watch.lost().cause() == silent);
    CHECK(watch.lost().why() == "it started nothing within the deadline of " + std::to_string(deadline.count()) + " ms");
    CHECK_FALSE(watch.out());
    MPI_Barrier(ranks.get());
  }
  watch.say_farewell("");
  watch.linger(2s, [] { return false; });
}

}  // namespace

TEST_CASE("where a connection is broken the silent rank is lost long before the deadline, and nobody is where all answer") {
  const FirstRanks ranks{3};
  if (!ranks.taking_part()) return;
  for (const bool all_answer : {false, true}) {
    MpiWatch watch{ranks.get(), 4s};
    const auto begin = std::chrono::steady_clock::now();
    const auto passed = [&] { return std::chrono::steady_clock::now() - begin; };
    Waits waits{{(watch.rank() + 1) % 3, (watch.rank() + 2) % 3}, false, watch.rank() == 0};
    if (watch.rank() == 2 && !all_answer) {
      MPI_Barrier(ranks.get());  // silent while the others wait
      CHECK_FALSE(await(watch, {{0, 1}}));
    } else {
      const bool done = watch.await(
          waits, [&] { waits.complete = all_answer && watch.rank() > 0 && passed() > 3600ms; },
          [&](auto visit) {
            for (const int rank : waits.from) visit(rank);
          });
      CHECK(done == (all_answer && watch.rank() > 0));
      if (watch.rank() == 0) CHECK(passed() < 3800ms);
      if (all_answer) {
        CHECK_FALSE(watch.lost().any());
      } else {
        CHECK((watch.lost().cause() == 2 &&
               watch.lost().why() == "a connection is broken, and it answered nothing within half of the deadline of 4000 ms"));
        if (watch.rank() == 0) watch.say_farewell("");
        MPI_Barrier(ranks.get());
      }
    }
    MPI_Barrier(ranks.get());
    watch.say_farewell("");
    watch.linger(2s, [] { return false; });
  }
}

TEST_CASE("who is late because of another is not to blame") {
  name_the_silent(2, 3, [](int rank) { return std::vector{rank + 1}; });  // 0 waits for 1, which waits for 2
  name_the_silent(0, 4, [](int rank) { return std::vector{rank - 1}; });
}

TEST_CASE("of many that have not come the silent one is to blame, whoever it is, in groups of three and four") {
  for (const int size : {3, 4})
    for (int silent = 0; silent < size; ++silent)
      name_the_silent(silent, size, [&](int rank) {
        std::vector<int> others;
        for (int other = 0; other < size; ++other)
          if (other != rank) others.push_back(other);
        return others;
      });
}

TEST_CASE("whoever asks and answers at once leaves no question out, however often it is asked") {
  for (int time = 0; time < 10; ++time)
    name_the_silent(
        time % 4, 4, [&](int rank) { return std::vector{(rank + 3) % 4}; }, 400ms);
}

TEST_CASE("a rank that was alive at the first question and is silent at the second is to blame") {
  const FirstRanks ranks{3};
  if (!ranks.taking_part()) return;
  MpiWatch watch{ranks.get(), 2s};
  if (watch.rank() == 2) {
    Waits until{{0}};
    const auto begin = std::chrono::steady_clock::now();
    CHECK(watch.await(
        until, [&] { until.complete = std::chrono::steady_clock::now() - begin > 1200ms; }, [](auto visit) { visit(0); }));
    MPI_Barrier(ranks.get());
  } else {
    CHECK_FALSE(await(watch, {{1 - watch.rank(), 2}}));
    CHECK((watch.lost().cause() == 2 && watch.lost().why() == "it started nothing within the deadline of 2000 ms"));
    MPI_Barrier(ranks.get());
  }
  watch.say_farewell("");
  watch.linger(2s, [] { return false; });
}

TEST_CASE("ranks that wait for each other are told where, and that they make different calls") {
  const FirstRanks ranks{3};
  if (!ranks.taking_part()) return;
  MpiWatch watch{ranks.get(), 1s};
  CHECK_FALSE(await(watch, {{(watch.rank() + 1) % 3}}));
  const std::string next = std::to_string((watch.lost().cause() + 1) % 3);
  CAPTURE(watch.lost().why());
  CHECK(watch.lost().why().find("it waits at a wait for rank " + next + ", rank ") == 0);
  bool names_both = false;  // whoever found it names itself beside the one that it waits for
  for (int finder = 0; finder < 3; ++finder)
    names_both = names_both || watch.lost().why() == "it waits at a wait for rank " + next + ", rank " + std::to_string(finder) +
                                                         " at a wait for rank " + std::to_string((finder + 1) % 3) +
                                                         ", and so does every rank that they wait for. Fix: make the same calls in the same order in "
                                                         "every process.";
  CHECK(names_both);
  watch.say_farewell("");
  watch.linger(2s, [] { return false; });
}
