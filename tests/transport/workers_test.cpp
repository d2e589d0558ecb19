// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <atomic>
#include <cfenv>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <thread>
#include <vector>

#include "heddle/transport/workers.hpp"

using namespace heddle;

namespace {
std::atomic<int> allocations{0};
}

// g++ 12 takes an inlined replacement for a mismatched pair.
[[gnu::noinline]] void* operator new(std::size_t bytes) {
  allocations.fetch_add(1);
  if (void* memory = std::malloc(bytes)) return memory;
  throw std::bad_alloc{};
}
[[gnu::noinline]] void operator delete(void* memory) noexcept { std::free(memory); }
[[gnu::noinline]] void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

TEST_CASE("every job runs once on every rank, each rank on its own thread") {
  for (const int ranks : {1, 2, 5}) {
    Workers workers{ranks};
    std::vector<int> runs(static_cast<std::size_t>(ranks), 0);
    std::vector<std::thread::id> threads(runs.size());
    for (int job = 0; job < 200; ++job)
      workers.run([&](int rank) {
        ++runs[static_cast<std::size_t>(rank)];
        const auto mine = std::this_thread::get_id();
        if (job == 0)
          threads[static_cast<std::size_t>(rank)] = mine;
        else if (threads[static_cast<std::size_t>(rank)] != mine)
          runs[static_cast<std::size_t>(rank)] = -1000;
      });
    CHECK(runs == std::vector<int>(runs.size(), 200));
  }
}

TEST_CASE("what a rank throws is kept for that rank until the next run") {
  Workers workers{3};
  workers.run([](int rank) {
    if (rank == 1) throw std::runtime_error{"one"};
  });
  CHECK_FALSE(workers.error(0));
  CHECK(workers.error(1));
  CHECK_FALSE(workers.error(2));
  CHECK_THROWS_WITH(workers.rethrow_first(), "one");
  workers.run([](int) {});
  CHECK_FALSE(workers.error(1));
  CHECK_NOTHROW(workers.rethrow_first());
}

TEST_CASE("a run allocates nothing") {
  Workers workers{2};
  std::atomic<int> calls{0};
  workers.run([&](int) { ++calls; });
  const int before = allocations.load();
  for (int i = 0; i < 50; ++i) workers.run([&](int) { ++calls; });
  CHECK(allocations.load() == before);
  CHECK(calls == 102);
}

TEST_CASE("idle workers that fell asleep are woken") {
  Workers workers{2};
  int runs[2] = {0, 0};
  for (int i = 0; i < 5; ++i) {
    workers.run([&](int rank) { ++runs[rank]; });
    std::this_thread::sleep_for(std::chrono::milliseconds{2});
  }
  CHECK((runs[0] == 5 && runs[1] == 5));
}

TEST_CASE("every rank rounds as the caller does in this run, whatever a job before it has set") {
  Workers workers{3};
  for (const int rounding : {FE_UPWARD, FE_TONEAREST, FE_DOWNWARD, FE_TONEAREST}) {
    std::fesetround(rounding);
    int seen[3];
    workers.run([&](int rank) { seen[rank] = std::fegetround(); });
    CHECK((seen[0] == rounding && seen[1] == rounding && seen[2] == rounding));
    workers.run([](int rank) {
      if (rank > 0) std::fesetround(FE_TOWARDZERO);
    });
  }
}
