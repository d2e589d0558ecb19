// SPDX-License-Identifier: MIT
#include "heddle/run/slices.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace heddle;

namespace {

/// Owner and position in the part of every element of the whole.
std::vector<std::pair<int, std::int64_t>> owners(const Shape& whole, Laid how, int parts) {
  std::vector<std::pair<int, std::int64_t>> out(static_cast<std::size_t>(whole.elements()), {-1, -1});
  for (int part = 0; part < parts; ++part)
    each_run(whole, how, parts, part, [&](std::int64_t here, std::int64_t there, std::int64_t count) {
      for (std::int64_t i = 0; i < count; ++i) {
        auto& owner = out[static_cast<std::size_t>(there + i)];
        CHECK(owner.first == -1);
        owner = {part, here + i};
      }
    });
  return out;
}

}  // namespace

TEST_CASE("parts cover a tensor once, each in the order of its own elements") {
  const Shape whole{2, 6, 3};
  for (int d = 0; d < 3; ++d) {
    const int parts = d == 0 ? 2 : 3;
    CAPTURE(d);
    std::vector<std::int64_t> next(static_cast<std::size_t>(parts));
    std::int64_t index[3];
    std::size_t at = 0;
    const auto found = owners(whole, laid::shard(d), parts);
    for (index[0] = 0; index[0] < 2; ++index[0])
      for (index[1] = 0; index[1] < 6; ++index[1])
        for (index[2] = 0; index[2] < 3; ++index[2], ++at) {
          const int part = static_cast<int>(index[d] * parts / whole.sizes[d]);
          CHECK(found[at].first == part);
          CHECK(found[at].second == next[static_cast<std::size_t>(part)]++);
        }
  }
}

TEST_CASE("rows of a matrix are one run, columns one run a row") {
  int runs = 0;
  each_run(Shape{4, 6}, laid::shard(0), 2, 1, [&](std::int64_t here, std::int64_t there, std::int64_t count) {
    ++runs;
    CHECK((here == 0 && there == 12 && count == 12));
  });
  CHECK(runs == 1);
  each_run(Shape{4, 6}, laid::shard(1), 3, 2, [&](std::int64_t here, std::int64_t there, std::int64_t count) {
    CHECK((here == 2 * (runs - 1) && there == 6 * (runs - 1) + 4 && count == 2));
    ++runs;
  });
  CHECK(runs == 5);
}

TEST_CASE("sections are cut each for itself: a part has its share of every one, in their order") {
  const auto found = owners(Shape{2, 8, 3}, laid::shard(1, 3, 2), 2);  // sections of 4, 2 and 2
  const int of[] = {0, 0, 1, 1, 0, 1, 0, 1};
  std::vector<std::int64_t> next(2);
  for (std::size_t at = 0; at < found.size(); ++at) {
    const int part = of[at / 3 % 8];
    CHECK(found[at].first == part);
    CHECK(found[at].second == next[static_cast<std::size_t>(part)]++);
  }
  int runs = 0;
  each_run(Shape{6}, laid::shard(0, 3), 2, 1, [&](std::int64_t here, std::int64_t there, std::int64_t count) {
    CHECK((here == runs && there == 2 * runs + 1 && count == 1));
    ++runs;
  });
  CHECK(runs == 3);
}

TEST_CASE("what is not split is one run, on every part") {
  each_run(Shape{4, 6}, laid::replicate, 3, 2,
           [](std::int64_t here, std::int64_t there, std::int64_t count) { CHECK((here == 0 && there == 0 && count == 24)); });
}
