// SPDX-License-Identifier: MIT
#include "heddle/core/nearest.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

using namespace heddle;

namespace {

constexpr std::string_view words[] = {"", "a", "ab", "ba", "weight", "wieght", "weights", "first.weight", "bias"};

std::vector<int> nearest(std::string_view word, const std::vector<std::string_view>& candidates) {
  Nearest found{word};
  for (std::size_t i = 0; i < candidates.size(); ++i) found.consider(candidates[i], static_cast<int>(i));
  std::vector<int> numbers;
  for (int i = 0; i < found.count(); ++i) numbers.push_back(found.number(i));
  return numbers;
}

}  // namespace

TEST_CASE("a distance is symmetric, zero for equal words only, and no way around is shorter by more than a letter a swap") {
  for (const std::string_view a : words)
    for (const std::string_view b : words) {
      CHECK(edit_distance(a, b) == edit_distance(b, a));
      CHECK((edit_distance(a, b) == 0) == (a == b));
      CHECK(edit_distance(a, b) <= static_cast<int>(std::max(a.size(), b.size())));
    }
  static_assert(edit_distance("weight", "wieght") == 1);  // a swap
  static_assert(edit_distance("weight", "weigt") == 1 && edit_distance("weight", "weights") == 1 && edit_distance("weight", "height") == 1);
  static_assert(edit_distance("", "bias") == 4 && edit_distance("ca", "abc") == 3);
  CHECK(edit_distance(std::string(1000, 'x'), std::string(900, 'y')) == 160);  // the ends are left out
}

TEST_CASE("the nearest candidates are told, at most three, in their order, and none that is too far") {
  CHECK(nearest("first.wieght", {"first.weight", "first.bias", "last.weight"}) == std::vector<int>{0});
  CHECK(nearest("weight", {"first.weight", "first.bias", "other.weight"}) == std::vector<int>{0, 2});
  CHECK(nearest("a", {"b", "c", "ab", "ba", "ac", "ad"}) == std::vector<int>{2, 3, 4});
  CHECK(nearest("transformer.wte", {"linear1.bias", "x"}).empty());
  CHECK(nearest("", {"first.weight"}).empty());
}
