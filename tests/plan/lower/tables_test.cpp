// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/tables.hpp"

#include <doctest/doctest.h>

#include <string>
#include <utility>

using namespace heddle;

namespace {

struct Pair {
  int a = 3;
  bool b = true;
};

/// Appends so many elements to a list with so much room.
constexpr List<int> appended(int* storage, int room, int elements) {
  List<int> list{storage, room};
  for (int i = 0; i < elements; ++i) list.append() = i;
  return list;
}
constexpr int refused(int room, int elements) {
  int storage[4]{};
  return appended(storage, room, elements).refused;
}
constexpr int sum_of_tables(int elements) {
  Tables<int, Pair> tables;
  int* const numbers = tables.make<int>(elements);
  Pair* const pairs = tables.make<Pair>(elements);
  int sum = 0;
  for (int i = 0; i < elements; ++i) numbers[i] += i;
  for (int i = 0; i < elements; ++i) sum += numbers[i] + pairs[i].a;
  return sum;
}

}  // namespace

TEST_CASE("a list that is too short writes nothing behind its end, and counts what found no room: when a program is compiled and when it runs") {
  static_assert(refused(4, 4) == 0 && refused(4, 5) == 1 && refused(0, 3) == 3);
  int storage[3] = {-1, -1, -1};
  const List<int> list = appended(storage, 2, 5);
  CHECK(list.count == 2);
  CHECK(list.refused == 3);
  CHECK(storage[0] == 0);
  CHECK(storage[2] == -1);
}

TEST_CASE("a list without room is a diagnosis with the numbers and the remedy") {
  static_assert(check_room("entries", 4, 0).ok());
  constexpr Diagnosis found = check_room("entries", 4, refused(4, 7));
  static_assert(found.code == Code{'S', 14} && found.numbers[0] == 7 && found.numbers[1] == 4);
  CHECK(std::string{found.sentence().view()} ==
        "[heddle.S14] the plan makes 7 entries, but there is room for 4. Fix: make room for 7, or lower a smaller plan.");
}

TEST_CASE("where nobody can make room the remedy is a smaller plan alone") {
  static_assert(check_limit("layers", 4, 4).ok());
  constexpr Diagnosis found = check_limit("layers", 4, 5'000'000'000);
  CHECK(std::string{found.sentence().view()} ==
        "[heddle.S14] the plan makes 5,000,000,000 layers, but there is room for 4. Fix: lower a smaller plan.");
}

TEST_CASE("tables have their initial values, at compile time too, and keep their addresses when the owner moves") {
  static_assert(sum_of_tables(4) == 6 + 12);
  Tables<int, Pair> tables;
  int* const numbers = tables.make<int>(8);
  numbers[7] = 5;
  Tables<int, Pair> moved{std::move(tables)};
  CHECK(numbers[7] == 5);
  CHECK(moved.make_list<Pair>(2).capacity == 2);
  CHECK(moved.make<Pair>(0)->a == 3);  // one is always there
  tables = std::move(moved);
  CHECK(numbers[7] == 5);
}
