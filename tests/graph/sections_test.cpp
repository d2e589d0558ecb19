// SPDX-License-Identifier: MIT
#include "heddle/graph/sections.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "heddle/graph/layers/concat.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/local_leaf.hpp"

using namespace heddle;

namespace {

/// Elements of 0, 1, 2, ... that a rank has of a dimension of this size.
std::vector<int> part(std::vector<int> whole, Laid how, int ranks, int rank) {
  const auto share = static_cast<std::size_t>(static_cast<int>(whole.size()) / how.shares());
  std::vector<int> mine;
  std::size_t at = 0;
  for (int s = 0; s < how.sections(); ++s) {
    const std::size_t size = s == 0 ? share * static_cast<std::size_t>(how.first()) : share;
    const std::size_t each = size / static_cast<std::size_t>(ranks);
    for (std::size_t i = 0; i < each; ++i) mine.push_back(whole[at + static_cast<std::size_t>(rank) * each + i]);
    at += size;
  }
  return mine;
}
std::vector<int> numbers(int first, int count) {
  std::vector<int> all;
  for (int i = 0; i < count; ++i) all.push_back(first + i);
  return all;
}

}  // namespace

TEST_CASE("a rank that puts its parts of two values one behind the other has its part of both together") {
  int fitting = 0;
  for (const int ranks : {2, 3})
    for (int sections = 2; sections <= Laid::most_sections; ++sections)
      for (int larger = 1; larger <= 3; ++larger)
        for (int behind = 1; behind < sections; ++behind) {
          const Laid joined = laid::shard(1, sections, larger);
          const int second = behind * ranks, first = (joined.shares() - behind) * ranks;
          const PartsOfTwo parts = parts_of_two(joined, first, second);
          REQUIRE(parts.fit());
          ++fitting;
          for (int r = 0; r < ranks; ++r) {
            std::vector<int> mine = part(numbers(0, first), parts.first, ranks, r);
            for (const int i : part(numbers(first, second), parts.second, ranks, r)) mine.push_back(i);
            CHECK(mine == part(numbers(0, first + second), joined, ranks, r));
          }
        }
  CHECK(fitting == 168);
}

TEST_CASE("nothing fits where a value ends within a section, or where there are none") {
  CHECK_FALSE(parts_of_two(laid::shard(0, 3), 3, 6).second == laid::shard(0));
  CHECK_FALSE(parts_of_two(laid::shard(0, 2), 3, 5).fit());     // sections of 4
  CHECK_FALSE(parts_of_two(laid::shard(0, 2, 2), 3, 3).fit());  // 4 and 2
  CHECK_FALSE(parts_of_two(laid::shard(0, 2, 2), 2, 4).fit());  // the first section is cut
  CHECK_FALSE(parts_of_two(laid::shard(0, 3), 4, 3).fit());     // 7 is no three equal ones
  CHECK_FALSE(parts_of_two(laid::shard(0), 4, 4).fit());
  CHECK_FALSE(parts_of_two(laid::shard(0, 2), 0, 0).fit());
}

TEST_CASE("two plain values are sections, the first as one of them, as far as a Laid counts them") {
  static_assert(sections_of_two(1, 4, 4) == laid::shard(1, 2) && sections_of_two(0, 8, 4) == laid::shard(0, 2, 2));
  CHECK(sections_of_two(0, 8, 12) == laid::shard(0, 4, 2));
  CHECK(sections_of_two(0, 1, 7) == laid::shard(0, 8));
  CHECK(sections_of_two(0, 1, 8).replicated());
  CHECK(sections_of_two(0, 256, 1) == laid::shard(0, 2, 256));
  CHECK(sections_of_two(0, 257, 1).replicated());
  CHECK(sections_of_two(0, 0, 0).replicated());
}

TEST_CASE("columns of a product take any sections; a join shares those that are asked of it") {
  const Leaf columns = Linear<4, 12>::describe(Spec{Shape{4}});
  CHECK(in_sections(columns, columns.signatures[0], laid::shard(0, 2, 2)) == columns.signatures[0].in_sections_of(laid::shard(0, 2, 2)));
  const Leaf join = Concat::describe(Spec{Shape{6, 12}}, Spec{Shape{6, 4}});
  REQUIRE(join.signature_count == 2);
  const Signature& stated = join.signatures[1];
  CHECK((stated.input == laid::shard(1) && stated.second == laid::shard(1) && stated.output == laid::shard(1, 2, 3)));
  const Signature asked = in_sections(join, stated, laid::shard(1, 3, 2));
  CHECK((asked.input == laid::shard(1, 2, 2) && asked.second == laid::shard(1) && asked.output == laid::shard(1, 3, 2)));
  CHECK((asked.input_gradient == asked.input && asked.output_gradient == asked.output));
  CHECK((check_signature(join, asked).ok() && check_signature(join, stated).ok()));
  CHECK(in_sections(join, stated, laid::shard(1, 2)) == stated);  // 8 and 8: the first has 12
  CHECK((indivisible_size(join, asked, 4) == 0 && indivisible_size(join, asked, 3) == 4));
}
