// SPDX-License-Identifier: MIT
#include "heddle/transport/mpi_watch.hpp"

#include <doctest/doctest.h>

#include "transport/mpi_ranks.hpp"

using namespace heddle;
using namespace std::chrono_literals;
using heddle::tests::FirstRanks;

namespace {

/// Something that one rank waits for from another.
struct Waits {
  int from;
  bool complete = false;
  [[nodiscard]] bool done() const { return complete; }
  [[nodiscard]] bool needs(int rank) const { return rank == from; }
  [[nodiscard]] int missing() const { return from; }
};

const auto nothing = [] {};

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
    Waits other{1 - watch.rank()};
    int looks = 0;
    CHECK(watch.await(other, [&] { other.complete = ++looks == 5; }));
    CHECK_FALSE(watch.out());
    watch.say_farewell("");
    watch.linger(1min, [] { return false; });
  }
  CHECK(watch.all_gone());
  CHECK((watch.lost().first() == 2 && watch.lost().why() == "it threw"));
}

TEST_CASE("a wait for a rank that says farewell ends at once, and the first cause is passed on") {
  const FirstRanks ranks{3};
  if (!ranks.taking_part()) return;
  MpiWatch watch{ranks.get(), 1h};
  if (watch.rank() == 0) {
    watch.say_farewell("the disk is on fire");
  } else {
    Waits before{watch.rank() - 1};  // 2 waits for 1, which waits for 0
    CHECK_FALSE(watch.await(before, nothing));
    watch.say_farewell("");
  }
  watch.linger(1min, [] { return false; });
  CHECK((watch.lost().first() == 0 && watch.lost().why() == "the disk is on fire"));
}

TEST_CASE("who is late because of another is not to blame") {
  const FirstRanks ranks{3};
  if (!ranks.taking_part()) return;
  MpiWatch watch{ranks.get(), 400ms};
  if (watch.rank() == 2) {
    MPI_Barrier(ranks.get());  // silent while the others wait
  } else {
    Waits next{watch.rank() + 1};  // 0 waits for 1, which waits for 2
    CHECK_FALSE(watch.await(next, nothing));
    watch.say_farewell("");
    CHECK(watch.lost().first() == 2);
    CHECK(watch.lost().why() == "it started nothing within the deadline of 400 ms");
    MPI_Barrier(ranks.get());
  }
  Waits anybody{0};
  if (watch.rank() == 2) CHECK_FALSE(watch.await(anybody, nothing));  // it hears that it was given up
  CHECK((watch.lost().first() == 2 && watch.out()));
  watch.say_farewell("");
  watch.linger(2s, [] { return false; });
}
