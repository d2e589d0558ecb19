// SPDX-License-Identifier: MIT
#include "heddle/core/row_of.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <stdexcept>

using heddle::core_room::RowOf;

namespace {

/// Counts what lives; neither copied nor moved.
struct Counted {
  static inline int alive = 0;
  explicit Counted(int given) : value(given) {
    if (given < 0) throw std::runtime_error{"refused"};
    ++alive;
  }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;
  ~Counted() { --alive; }
  int value;
};
struct alignas(256) Wide {
  int value = 5;
};

}  // namespace

TEST_CASE("each object is made where it stays, from its number, and all end with the row") {
  {
    RowOf<Counted> row(3, [](std::size_t i) { return Counted{static_cast<int>(10 * i)}; });
    CHECK(row.size() == 3);
    CHECK(Counted::alive == 3);
    CHECK(row[2].value == 20);
    CHECK(row.at(1).value == 10);
    CHECK_THROWS_AS(static_cast<void>(row.at(3)), std::out_of_range);
    int sum = 0;
    for (const Counted& one : row) sum += one.value;
    CHECK(sum == 30);
  }
  CHECK(Counted::alive == 0);
}

TEST_CASE("numbers begin as 0, and what is aligned widely stands so") {
  const RowOf<std::int64_t> numbers(4);
  for (const std::int64_t number : numbers) CHECK(number == 0);
  const RowOf<Wide> wide(3);
  CHECK(reinterpret_cast<std::uintptr_t>(wide.begin()) % 256 == 0);
  CHECK(wide[2].value == 5);
  const RowOf<Wide> none;
  CHECK(none.empty());
  CHECK(RowOf<Wide>(0).empty());
}

TEST_CASE("what was made before an object refused is ended") {
  const auto make = [] { RowOf<Counted>(3, [](std::size_t i) { return Counted{i == 2 ? -1 : 0}; }); };
  CHECK_THROWS_AS(make(), std::runtime_error);
  CHECK(Counted::alive == 0);
}
