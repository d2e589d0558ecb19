// SPDX-License-Identifier: MIT
#include "heddle/plan/schedule.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "heddle/policy/schedule/gpipe.hpp"
#include "heddle/policy/schedule/one_f_one_b.hpp"

using namespace heddle;

namespace {

constexpr Graph no_graph{};

constexpr Layout chunks_on(std::initializer_list<int> devices, OrderRules order, int in_flight, int micro_batches) {
  Layout layout{no_graph};
  layout.chunk_count = 0;
  int roles = 0;
  for (const int d : devices) {
    layout.in_flight[layout.chunk_count] = in_flight;
    layout.device_of_chunk[layout.chunk_count++] = d;
    roles = d + 1 > roles ? d + 1 : roles;
  }
  layout.claim(axis::stage, roles);
  layout.order = order;
  layout.micro_batches = micro_batches;
  return layout;
}

/// The laws of every schedule: each compute once, after what it needs, one at a time on a device, in order of begin, within in-flight limits.
template <int Chunks, int MicroBatches> void obeys_the_laws(const Layout& layout, int round) {
  const auto schedule = schedule_computes<Chunks, MicroBatches, true>(layout, round);
  int forward_end[Chunks][MicroBatches]{};
  int backward_end[Chunks][MicroBatches]{};
  int free_at[Chunks]{};
  int in_flight[Chunks]{};
  int last_begin = 0;
  int latest = 0;
  for (const TimedCompute& c : schedule.computes) {
    CHECK(c.begin >= last_begin);
    last_begin = c.begin;
    CHECK(c.end - c.begin == (c.backward ? backward_time : forward_time));
    int& free = free_at[layout.device_of_chunk[c.chunk]];
    CHECK(c.begin >= free);
    free = c.end;
    latest = c.end > latest ? c.end : latest;
    int& end = c.backward ? backward_end[c.chunk][c.micro_batch] : forward_end[c.chunk][c.micro_batch];
    CHECK(end == 0);  // once
    end = c.end;
    int needed = 0;
    if (c.backward)
      needed = c.chunk + 1 < Chunks ? backward_end[c.chunk + 1][c.micro_batch] : forward_end[c.chunk][c.micro_batch];
    else if (c.chunk > 0)
      needed = forward_end[c.chunk - 1][c.micro_batch];
    const bool needs = c.backward || c.chunk > 0;
    CHECK((needed > 0) == needs);
    CHECK(c.begin >= needed);
    in_flight[c.chunk] += c.backward ? -1 : 1;
    CHECK(in_flight[c.chunk] <= layout.in_flight[c.chunk]);
    if (layout.order.forwards_first && c.backward)
      for (int m = c.micro_batch / round * round; m < (c.micro_batch / round + 1) * round; ++m) CHECK(forward_end[c.chunk][m] > 0);
  }
  CHECK(schedule.makespan == latest);
}

}  // namespace

TEST_CASE("one chunk alternates, and takes 3 units for each micro-batch") {
  constexpr Layout one = chunks_on({0}, OrderRules{}, 1, 4);
  constexpr auto schedule = schedule_computes<1, 4, true>(one, 4);
  static_assert(schedule.makespan == 12);
  for (int i = 0; i < 8; ++i) {
    CHECK(schedule.computes[i].backward == (i % 2 == 1));
    CHECK(schedule.computes[i].micro_batch == i / 2);
  }
}

TEST_CASE("without an order a pipeline is sequential: one micro-batch at a time") {
  constexpr Layout two = chunks_on({0, 1}, OrderRules{}, 1, 2);
  constexpr auto schedule = schedule_computes<2, 2, true>(two, 2);
  // F0 on both, then B0 on both, and F1 of the first chunk must wait for B0 of the first chunk.
  static_assert(schedule.makespan == 2 * (2 + 4));
  CHECK(schedule.makespan == 12);
}

TEST_CASE("every schedule obeys the laws: order, dependencies, one at a time, in flight") {
  obeys_the_laws<3, 5>(chunks_on({0, 1, 2}, OrderRules{}, 1, 5), 5);
  obeys_the_laws<3, 5>(chunks_on({0, 1, 2}, GPipe::rules(), 5, 5), 5);
  obeys_the_laws<3, 6>(chunks_on({0, 1, 2}, GPipe::rules(), 3, 3), 3);  // two rounds
  obeys_the_laws<3, 5>(chunks_on({0, 1, 0}, OneFOneB::rules(), 2, 5), 5);
  obeys_the_laws<4, 8>(chunks_on({0, 1, 1, 0}, GPipe::rules(), 8, 8), 8);
  Layout limits = chunks_on({0, 1, 2, 3}, OneFOneB::rules(), 0, 8);
  for (int c = 0; c < 4; ++c) limits.in_flight[c] = OneFOneB::in_flight(c, 4, 8);
  obeys_the_laws<4, 8>(limits, 8);
}

TEST_CASE("GPipe ends a round before it begins the next") {
  const Layout layout = chunks_on({0, 1}, GPipe::rules(), 2, 2);
  const auto rounds = schedule_computes<2, 6, true>(layout, 2);
  int ended = 0;
  for (const TimedCompute& c : rounds.computes) {
    if (c.chunk != 0) continue;
    if (c.backward)
      ++ended;
    else
      CHECK(ended >= c.micro_batch / 2 * 2);
  }
  CHECK(ended == 6);
}

TEST_CASE("evaluation has forwards only, back to back") {
  constexpr Layout three = chunks_on({0, 1, 2}, OneFOneB::rules(), 1, 4);
  constexpr auto schedule = schedule_computes<3, 4, false>(three, 4);
  static_assert(schedule.count == 12 && schedule.makespan == 3 + 4 - 1);
  for (const TimedCompute& c : schedule.computes) CHECK_FALSE(c.backward);
}

TEST_CASE("a schedule that is too long for a constant expression is refused with its numbers") {
  Layout layout = chunks_on({0, 1, 2, 3}, OneFOneB::rules(), 4, 375);
  BatchDivision batch;
  batch.micro_batches = 375;
  CHECK(check_schedule_length(layout, batch).ok());  // 2 x 4 x 375 = 3000
  batch.rounds = 2;
  const Diagnosis found = check_schedule_length(layout, batch);
  CHECK(found.code == Code{'S', 7});
  CHECK(found.numbers[0] == 4);
  CHECK(found.numbers[1] == 750);
  CHECK(found.numbers[2] == 6000);
}
