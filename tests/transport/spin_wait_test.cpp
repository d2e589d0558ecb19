// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif

#include "heddle/transport/spin_wait.hpp"

using namespace heddle;

TEST_CASE("a sleeper returns when it is ready, spinning or asleep") {
  for (const int spins : {0, 100000}) {
    Sleeper sleeper;
    std::atomic<bool> ready{false};
    std::thread waker([&] {
      std::this_thread::sleep_for(std::chrono::milliseconds{2});
      ready.store(true, std::memory_order_seq_cst);
      sleeper.wake();
    });
    Deadline deadline{std::chrono::minutes{2}};
    CHECK(sleeper.wait(spins, deadline, [&] { return ready.load(std::memory_order_seq_cst); }));
    waker.join();
  }
}

TEST_CASE("a sleeper returns false after the deadline") {
  Sleeper sleeper;
  Deadline deadline{std::chrono::milliseconds{3}};
  CHECK_FALSE(sleeper.wait(10, deadline, [] { return false; }));
  CHECK_FALSE(sleeper.wait(0, deadline, [] { return false; }));  // the point in time stays
}

TEST_CASE("a condition that holds after the deadline still counts") {
  Sleeper sleeper;
  Deadline deadline{std::chrono::nanoseconds{1}};
  CHECK(sleeper.wait(0, deadline, [] { return true; }));
}

TEST_CASE("the longest deadline does not overflow the clock") {
  Deadline deadline{std::chrono::nanoseconds::max()};
  CHECK(deadline.point() > std::chrono::steady_clock::now() + std::chrono::hours{1});
}

TEST_CASE("no wake-up is lost between two threads that take turns") {
  Sleeper sleepers[2];
  std::atomic<int> turn{0};
  const auto play = [&](int me) {
    for (int i = 0; i < 2000; ++i) {
      sleepers[me].wait(i % 3, [&] { return turn.load(std::memory_order_seq_cst) % 2 == me; });
      turn.fetch_add(1, std::memory_order_seq_cst);
      sleepers[1 - me].wake();
    }
  };
  std::thread other([&] { play(1); });
  play(0);
  other.join();
  CHECK(turn.load() == 4000);
}

TEST_CASE("a wait spins long only where each thread has a core by affinity and by quota") {
  const CoreLimits machine{64, {0, 1, 2, 3}, 0};
  CHECK(spins_before_sleep(4, machine) > 1000);
  CHECK(spins_before_sleep(5, machine) < 100);
  const CoreLimits quota{64, {0, 1, 2, 3}, 2.5};
  CHECK(spins_before_sleep(2, quota) > 1000);
  CHECK(spins_before_sleep(3, quota) < 100);
}

#if defined(__linux__)
TEST_CASE("a process that may use one core sleeps soon") {
  cpu_set_t before, one;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  int core = 0;
  while (!CPU_ISSET(core, &before)) ++core;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  REQUIRE(sched_setaffinity(0, sizeof one, &one) == 0);
  CHECK(read_core_limits().allowed == std::vector<int>{core});
  CHECK(spins_before_sleep(2) < 100);
  sched_setaffinity(0, sizeof before, &before);
}
#endif
