// SPDX-License-Identifier: MIT
#include "heddle/core/lists.hpp"

#include <doctest/doctest.h>

#include <utility>

using namespace heddle;

namespace {

template <int... Numbers> constexpr int sum_below(std::integer_sequence<int, Numbers...>) { return sum_of({Numbers...}); }
template <int... Numbers> constexpr bool all_below(std::integer_sequence<int, Numbers...>, int most) { return all_of({(Numbers < most)...}); }

}  // namespace

TEST_CASE("sums and answers of more elements than a compiler folds") {
  static_assert(sum_below(std::make_integer_sequence<int, 1000>{}) == 999 * 500 && sum_of({}) == 0);
  static_assert(all_below(std::make_integer_sequence<int, 1000>{}, 1000) && !all_below(std::make_integer_sequence<int, 1000>{}, 999));
  CHECK(all_of({}));
}

TEST_CASE("calls in a list are made in its order") {
  int last = 0;
  bool in_order = true;
  const auto call = [&](int number) { in_order = in_order && number == last + 1, last = number; };
  CHECK(sum_of({(call(1), 0), (call(2), 0), (call(3), 0)}) == 0);
  CHECK(in_order);
  CHECK(last == 3);
}
