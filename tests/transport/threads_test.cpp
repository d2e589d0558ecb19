// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <string>
#include <thread>
#include <vector>

#include "heddle/transport/threads.hpp"
#include "heddle/transport/workers.hpp"

using namespace heddle;
using namespace std::chrono_literals;

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

namespace {

constexpr PendingLimits four{.transfers = 4, .reductions = 4};

/// The rank that the call's RankLost names, -1 if the call succeeds.
int lost_by(const auto& call) {
  try {
    call();
  } catch (const RankLost& error) {
    return error.rank().value;
  }
  return -1;
}

}  // namespace

TEST_CASE("starts alone complete a transfer: one thread can drive both sides") {
  Threads threads{2, {{0, 1}}, four, 2min};
  float a = 1, b = 2;
  auto& zero = threads.endpoint(Rank{0});
  auto& one = threads.endpoint(Rank{1});
  for (int i = 0; i < 20; ++i) {
    const auto send = zero.send_start(1, &a, 1);
    const auto receive = one.receive_start(0, &b, 1);
    one.receive_wait(0, receive);
    zero.send_wait(1, send);
    CHECK(b == a);
    const auto first = zero.all_reduce_start(0, &a, 1);
    const auto second = one.all_reduce_start(0, &b, 1);
    one.all_reduce_wait(0, second);
    CHECK((a == b && a == 2));
    zero.all_reduce_wait(0, first);
    a = 1;
  }
}

TEST_CASE("nothing is allocated after construction") {
  Threads threads{3, {{0, 1, 2}}, four, 2min};
  Workers workers{3};
  std::vector<std::vector<float>> data(3, std::vector<float>(50000, 1.0F)), other = data;
  const auto step = [&](int rank) {
    auto& endpoint = threads.endpoint(Rank{rank});
    auto& mine = data[static_cast<std::size_t>(rank)];
    auto& from_left = other[static_cast<std::size_t>(rank)];
    const auto send = endpoint.send_start((rank + 1) % 3, mine.data(), 300);
    endpoint.receive_wait((rank + 2) % 3, endpoint.receive_start((rank + 2) % 3, from_left.data(), 300));
    endpoint.send_wait((rank + 1) % 3, send);
    endpoint.all_reduce_wait(0, endpoint.all_reduce_start(0, mine.data(), 50000));
    endpoint.reduce_scatter_wait(0, endpoint.reduce_scatter_start(0, mine.data(), from_left.data(), 30000));
    endpoint.all_gather_wait(0, endpoint.all_gather_start(0, from_left.data(), mine.data(), 30000));
  };
  workers.run(step);
  const int before = allocations.load();
  for (int i = 0; i < 20; ++i) workers.run(step);
  CHECK(allocations.load() == before);
  workers.rethrow_first();
}

TEST_CASE("a deadline names the rank that is late, the operation and the sequence") {
  Threads threads{2, {{0, 1}}, four, 5ms};
  float a = 1;
  auto& zero = threads.endpoint(Rank{0});
  SUBCASE("receive") {
    CHECK_THROWS_WITH_AS(zero.receive_wait(1, zero.receive_start(1, &a, 1)),
                         doctest::Contains("[heddle.R01] rank 1 was lost at receive from rank 1, sequence 0: "
                                           "it started nothing within the deadline of 5 ms"),
                         RankLost);
  }
  SUBCASE("send") { CHECK_THROWS_WITH_AS(zero.send_wait(1, zero.send_start(1, &a, 1)), doctest::Contains("send to rank 1"), RankLost); }
  SUBCASE("reduce-scatter") {
    float whole[2] = {1, 2};
    CHECK_THROWS_WITH_AS(zero.reduce_scatter_wait(0, zero.reduce_scatter_start(0, whole, &a, 2)),
                         doctest::Contains("lost at reduce-scatter of group 0"), RankLost);
  }
  SUBCASE("all-gather") {
    float whole[2] = {1, 2};
    CHECK_THROWS_WITH_AS(zero.all_gather_wait(0, zero.all_gather_start(0, &a, whole, 2)), doctest::Contains("lost at all-gather of group 0"),
                         RankLost);
  }
  SUBCASE("all-reduce") {
    CHECK_THROWS_WITH_AS(zero.all_reduce_wait(0, zero.all_reduce_start(0, &a, 1)), doctest::Contains("lost at all-reduce of group 0"), RankLost);
  }
}

TEST_CASE("memory of a rank that left is not touched by those who come later") {
  Threads threads{3, {{0, 1, 2}}, four, 5ms};
  float kept[3] = {-1, -1, -1}, source = 7;
  auto& zero = threads.endpoint(Rank{0});
  auto& one = threads.endpoint(Rank{1});
  auto& two = threads.endpoint(Rank{2});
  const auto late = zero.receive_start(1, &kept[0], 1);
  zero.receive_start(2, &kept[1], 1);     // pending while rank 0 leaves
  zero.all_reduce_start(0, &kept[2], 1);  // as well
  two.all_reduce_start(0, &source, 1);
  CHECK(lost_by([&] { zero.receive_wait(1, late); }) == 1);
  CHECK(lost_by([&] { two.send_wait(0, two.send_start(0, &source, 1)); }) == 1);
  CHECK(lost_by([&] { one.send_start(0, &source, 1); }) == 1);
  CHECK(lost_by([&] { one.all_reduce_start(0, &source, 1); }) == 1);
  CHECK(lost_by([&] { zero.send_start(2, &source, 1); }) == 1);  // a rank that left starts nothing more
  CHECK((kept[0] == -1 && kept[1] == -1 && kept[2] == -1 && source == 7));
}

TEST_CASE("what was complete when a rank was given up succeeds, the rest throws at once, with the reason") {
  Threads threads{2, {{0, 1}}, four, 1h};
  float a = 1, b = 2, c = 3;
  auto& zero = threads.endpoint(Rank{0});
  auto& one = threads.endpoint(Rank{1});
  const auto complete = zero.receive_start(1, &a, 1);
  const auto reduced = zero.all_reduce_start(0, &c, 1);
  const auto open = zero.receive_start(1, &c, 1);
  one.send_start(0, &b, 1);
  one.all_reduce_start(0, &b, 1);
  threads.give_up(Rank{1}, "its kernel threw");
  CHECK_NOTHROW(zero.receive_wait(1, complete));
  CHECK_NOTHROW(zero.all_reduce_wait(0, reduced));
  CHECK((a == 2 && b == 5 && c == 5));
  CHECK_THROWS_WITH_AS(zero.receive_wait(1, open), doctest::Contains("rank 1 was lost at receive from rank 1, sequence 1: its kernel threw"),
                       RankLost);
}

TEST_CASE("a rank that sleeps is woken when another is given up") {
  Threads threads{3, {{0, 1, 2}}, four, 1h};
  Workers workers{3};
  float data[3] = {1, 2, 3};
  workers.run([&](int rank) {
    auto& endpoint = threads.endpoint(Rank{rank});
    if (rank == 2) {
      std::this_thread::sleep_for(20ms);  // the others are asleep by now, most likely; if not they find it lost
      threads.give_up(Rank{2}, "enough");
    } else {
      endpoint.all_reduce_wait(0, endpoint.all_reduce_start(0, &data[rank], 1));
    }
  });
  for (const int rank : {0, 1}) CHECK(lost_by([&] { std::rethrow_exception(workers.error(rank)); }) == 2);
  CHECK_FALSE(workers.error(2));
}

TEST_CASE("reset brings everything back to the state after construction") {
  Threads threads{2, {{0, 1}}, four, 5ms};
  float a = 1, b = 2;
  auto& zero = threads.endpoint(Rank{0});
  auto& one = threads.endpoint(Rank{1});
  for (int i = 0; i < 3; ++i) {
    CHECK(zero.send_start(1, &a, 1) == 0);
    CHECK(one.receive_start(0, &b, 1) == 0);
    one.receive_wait(0, 0);
    zero.send_wait(1, 0);
    CHECK(zero.all_reduce_start(0, &a, 1) == 0);
    CHECK(lost_by([&] { zero.all_reduce_wait(0, 0); }) == 1);
    threads.reset();
  }
  CHECK(threads.sent(Rank{0}, Movement::point_to_point) == Sent{3, Bytes{12}});
  threads.clear_traffic();
  CHECK(threads.sent(Rank{0}, Movement::point_to_point) == Sent{});
}

TEST_CASE("a rank that comes too late for one of its pending collectives is told so in every wait, in whatever order it waits") {
  for (const bool backwards : {false, true}) {
    Threads threads{2, {{0, 1}}, four, 5ms};
    float a[2] = {1, 2}, b[2] = {3, 4};
    auto& zero = threads.endpoint(Rank{0});
    auto& one = threads.endpoint(Rank{1});
    CHECK(lost_by([&] { zero.all_reduce_wait(0, zero.all_reduce_start(0, &a[0], 1)); }) == 1);
    CHECK(lost_by([&] { one.all_reduce_start(0, &b[0], 1); }) == 1);  // it was named, so it starts nothing more
    threads.reset();
    const auto first = zero.all_reduce_start(0, &a[0], 1);
    const auto second = zero.all_reduce_start(0, &a[1], 1);
    CHECK(lost_by([&] { zero.all_reduce_wait(0, backwards ? second : first); }) == 1);
    CHECK((a[0] == 1 && a[1] == 2 && b[0] == 3 && b[1] == 4));
  }
}

// ---- Every rank stops at every operation ------------------------------------------------------------------------------------------------

namespace {

struct Step {
  int group;  // -1: a transfer
  int from;
  int to;
  Movement kind = Movement::all_reduce;
};
const std::vector<std::vector<int>> groups{{0, 1, 2}, {2, 1}};
const std::vector<Step> steps{{-1, 0, 1},
                              {0, 0, 0},
                              {-1, 1, 2},
                              {0, 0, 0, Movement::reduce_scatter},
                              {-1, 2, 0},
                              {1, 0, 0, Movement::all_gather},
                              {1, 0, 0},
                              {0, 0, 0, Movement::all_gather},
                              {1, 0, 0, Movement::reduce_scatter},
                              {-1, 2, 1}};

bool takes_part(const Step& step, int rank) {
  if (step.group == 0) return true;
  return step.group == 1 ? rank != 0 : rank == step.from || rank == step.to;
}

/// The step on this rank; the values it must give are written down by hand: rank r brings r + 1.
void carry_out(Threads::Endpoint& endpoint, const Step& step, std::string& fault) {
  const int rank = endpoint.rank().value;
  float value = static_cast<float>(rank + 1);
  float expected = value;
  if (step.kind == Movement::reduce_scatter) {
    const float whole[3] = {value, value, value};
    endpoint.reduce_scatter_wait(step.group, endpoint.reduce_scatter_start(step.group, whole, &value, step.group == 0 ? 3 : 2));
    expected = step.group == 0 ? 6.0F : 5.0F;
  } else if (step.kind == Movement::all_gather) {
    float whole[3] = {};
    endpoint.all_gather_wait(step.group, endpoint.all_gather_start(step.group, &value, whole, step.group == 0 ? 3 : 2));
    if (step.group == 0 ? !(whole[0] == 1 && whole[1] == 2 && whole[2] == 3) : !(whole[0] == 3 && whole[1] == 2)) fault = "gathered in another order";
  } else if (step.group >= 0) {
    endpoint.all_reduce_wait(step.group, endpoint.all_reduce_start(step.group, &value, 1));
    expected = step.group == 0 ? 6.0F : 5.0F;
  } else if (rank == step.from) {
    endpoint.send_wait(step.to, endpoint.send_start(step.to, &value, 1));
  } else {
    endpoint.receive_wait(step.from, endpoint.receive_start(step.from, &value, 1));
    expected = static_cast<float>(step.from + 1);
  }
  if (value != expected) fault = "rank " + std::to_string(rank) + " got " + std::to_string(value);
}

/// What a survivor sees when `stopper` stops before step `stop`: it goes on with the next call after every error.
std::string survive(Threads::Endpoint& endpoint, int stopper, std::size_t stop) {
  std::string fault;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    if (!takes_part(steps[i], endpoint.rank().value)) continue;
    const int lost = lost_by([&] { carry_out(endpoint, steps[i], fault); });
    if (lost >= 0 && lost != stopper) fault = "step " + std::to_string(i) + " names rank " + std::to_string(lost);
    if (lost < 0 && i >= stop && takes_part(steps[i], stopper))
      fault = "step " + std::to_string(i) + " succeeded without rank " + std::to_string(stopper);
    if (lost >= 0 && i < stop) fault = "step " + std::to_string(i) + " failed before anybody stopped";
  }
  return fault;
}

void stop_everywhere(bool in_silence, std::chrono::nanoseconds deadline) {
  Threads threads{3, groups, four, deadline};
  Workers workers{3};
  for (int stopper = 0; stopper < 3; ++stopper)
    for (std::size_t stop = 0; stop < steps.size(); ++stop) {
      if (!takes_part(steps[stop], stopper)) continue;
      CAPTURE(stopper);
      CAPTURE(stop);
      std::string faults[3];
      workers.run([&](int rank) {
        auto& endpoint = threads.endpoint(Rank{rank});
        if (rank != stopper) {
          faults[rank] = survive(endpoint, stopper, stop);
          return;
        }
        for (std::size_t i = 0; i < stop; ++i)
          if (takes_part(steps[i], rank)) carry_out(endpoint, steps[i], faults[rank]);
        if (!in_silence) threads.give_up(Rank{rank}, "stopped at step " + std::to_string(stop));
      });
      for (int rank = 0; rank < 3; ++rank) {
        CAPTURE(rank);
        CHECK_FALSE(workers.error(rank));
        CHECK(faults[rank] == "");
      }
      threads.reset();
    }
}

}  // namespace

TEST_CASE("wherever a rank gives up, every call of every survivor succeeds or names it") { stop_everywhere(false, 1min); }

// The deadline must only be longer than a rank that works may be kept off its core.
TEST_CASE("wherever a rank falls silent, every call of every survivor succeeds or names it") { stop_everywhere(true, 300ms); }

// ---- Every rank comes just before or after a deadline -----------------------------------------------------------------------------------

namespace {

/// HEDDLE_ATTEMPTS asks for more of them than a usual run makes.
int attempts(int usual) {
  const char* const more = std::getenv("HEDDLE_ATTEMPTS");
  return more == nullptr ? usual : std::atoi(more);
}

/// Every rank takes all steps until it loses one; rank `late` begins after so long. The fault, empty if all ends right or with R01 that names a rank.
std::string meet_at_the_deadline(Threads& threads, Workers& workers, int late, std::chrono::microseconds after, int& lost) {
  std::string faults[3];
  std::atomic<int> losses{0};
  workers.run([&](int rank) {
    if (const auto begin = std::chrono::steady_clock::now() + after; rank == late)
      while (std::chrono::steady_clock::now() < begin) std::this_thread::yield();
    std::string& fault = faults[rank];
    int named = -1;
    for (std::size_t i = 0; i < steps.size() && named < 0; ++i)
      if (takes_part(steps[i], rank)) try {
          carry_out(threads.endpoint(Rank{rank}), steps[i], fault);
        } catch (const RankLost& error) {
          named = error.rank().value;
          ++losses;
          if (named < 0 || named >= 3) fault = "rank " + std::to_string(named) + " is named";
        }
  });
  for (int rank = 0; rank < 3; ++rank)
    if (workers.error(rank)) faults[rank] = "something else than R01 was thrown";
  lost += losses.load();
  threads.reset();
  return faults[0] + faults[1] + faults[2];
}

}  // namespace

TEST_CASE("whoever comes just before or after a deadline of some microseconds ends right or with R01") {
  Workers workers{3};
  int lost = 0;
  for (int i = 0; i < attempts(3000); ++i) {
    Threads threads{3, groups, four, std::chrono::microseconds{1 + i % 60}};
    const std::string fault = meet_at_the_deadline(threads, workers, i % 3, std::chrono::microseconds{i / 3 % 61}, lost);
    if (!fault.empty()) FAIL(fault);
  }
  CHECK(lost > 0);
}

TEST_CASE("whoever comes some microseconds around a deadline of 20 ms ends right or with R01") {
  Workers workers{3};
  Threads threads{3, groups, four, 20ms};
  int lost = 0;
  for (int i = 0; i < attempts(3000) / 60; ++i) {
    const std::string fault = meet_at_the_deadline(threads, workers, i % 3, std::chrono::microseconds{20000 + i % 200}, lost);
    if (!fault.empty()) FAIL(fault);
  }
  CHECK(lost > 0);
}
