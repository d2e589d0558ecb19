// SPDX-License-Identifier: MIT
#include "heddle/compute/field/census.hpp"

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using namespace heddle;

TEST_CASE("a census has a line a call, a degree run one a symbol with the highest degrees") {
  FieldCensus census;
  census.note({1, 10, 0}, FieldMode::census);
  census.note({1, 10, 0}, FieldMode::census);
  CHECK(census.take().size() == 2);
  CHECK(census.take().empty());
  census.note({4, 1, 3}, FieldMode::degrees);
  census.note({4, 2, 2}, FieldMode::degrees);
  census.note({5, 1, 1}, FieldMode::degrees);
  const std::vector<FieldCall> lines = census.take();
  REQUIRE(lines.size() == 2);
  CHECK((lines[0].first == 2 && lines[0].highest == 3));
}

TEST_CASE("a census of a large model keeps as many calls of a function as leave no bound, and begins anew") {
  FieldCensus census;
  for (int run = 0; run < 2; ++run) {
    for (std::uint64_t i = 0; i < FieldCensus::most_calls + 1000; ++i) census.note({1, i, 0}, FieldMode::census);
    census.note({2, 1, 0}, FieldMode::census);
    CHECK(census.take().size() == FieldCensus::most_calls + 1);
  }
}

TEST_CASE("calls of several threads are all there") {
  FieldCensus census;
  std::vector<std::thread> threads;
  for (std::uint64_t t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (std::uint64_t i = 0; i < 500; ++i) census.note({t, i, 0}, FieldMode::census);
    });
  for (std::thread& thread : threads) thread.join();
  CHECK(census.take().size() == 2000);
}
