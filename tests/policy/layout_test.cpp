// SPDX-License-Identifier: MIT
#include "heddle/policy/layout.hpp"

#include <doctest/doctest.h>

#include "policy/models.hpp"

using namespace heddle;
using tests::Chain;

TEST_CASE("before any answer there is one chunk of all nodes on one device") {
  constexpr Layout layout{graph_of<Chain>};
  static_assert(layout.chunk_count == 1 && layout.first_node[0] == 0 && layout.first_node[1] == 5);
  static_assert(layout.mesh.ranks() == 1 && layout.batch_ranks() == 1 && layout.roles() == 1);
  static_assert(layout.micro_batches == 1 && layout.in_flight[0] == 1 && !layout.order.named);
  CHECK(layout.fault.ok());
}

TEST_CASE("claims nest in the order they are made") {
  constexpr Layout layout = [] {
    Layout l{graph_of<Chain>};
    l.claim(axis::stage, 2);
    l.claim(axis::data, 4);
    l.splits_batch(axis::data);
    return l;
  }();
  static_assert(layout.fault.ok());
  static_assert(layout.mesh.stride(axis::stage) == 1 && layout.mesh.stride(axis::data) == 2);
  static_assert(layout.roles() == 2);
  CHECK(layout.batch_ranks() == 4);
}

TEST_CASE("ranks of an axis that splits the batch take other rows, others do not") {
  Layout layout{graph_of<Chain>};
  layout.claim(axis::data, 4);
  layout.claim(axis::tensor, 3);
  layout.claim(axis::shard, 2);
  layout.splits_batch(axis::data);
  layout.splits_batch(axis::shard);
  CHECK(layout.batch_split[static_cast<int>(axis::data)]);
  CHECK(layout.batch_split[static_cast<int>(axis::shard)]);
  CHECK_FALSE(layout.batch_split[static_cast<int>(axis::tensor)]);
  CHECK(layout.batch_ranks() == 8);
}

TEST_CASE("an axis claimed twice is refused with both sizes") {
  constexpr Layout layout = [] {
    Layout l{graph_of<Chain>};
    l.claim(axis::data, 4);
    l.claim(axis::data, 2);
    return l;
  }();
  static_assert(layout.fault.code == Code{'M', 1});
  static_assert(layout.fault.numbers[0] == 4 && layout.fault.numbers[1] == 2);
  CHECK(layout.fault.words.view().find("axis data is claimed twice, with sizes 4 and 2. Fix: ") != std::string_view::npos);
  CHECK(layout.fault.numbers[2] == 8);  // the remedy: one policy of the product
}

TEST_CASE("an axis of no size is refused") {
  for (const int size : {0, -3}) {
    Layout layout{graph_of<Chain>};
    layout.claim(axis::stage, size);
    CHECK(layout.fault.code == Code{'M', 2});
    CHECK(layout.fault.numbers[0] == size);
  }
}

TEST_CASE("of several faults the first is kept") {
  Layout layout{graph_of<Chain>};
  layout.claim(axis::data, 0);
  layout.claim(axis::stage, 2);
  layout.claim(axis::stage, 2);
  CHECK(layout.fault.code == Code{'M', 2});
}

TEST_CASE("a node is in the chunk that its number falls into") {
  Layout layout{graph_of<Chain>};
  layout.chunk_count = 3;
  layout.first_node[1] = 1;
  layout.first_node[2] = 4;
  layout.first_node[3] = 5;
  const int chunks[] = {0, 1, 1, 1, 2};
  for (int n = 0; n < 5; ++n) CHECK(layout.chunk_of(n) == chunks[n]);
}

TEST_CASE("as many ranks as an int counts are claimed, and not one more") {
  Layout layout{graph_of<Chain>};
  layout.claim(axis::data, 2'147'483'647);
  layout.claim(axis::shard, 1);
  CHECK(layout.fault.ok());
  layout.claim(axis::tensor, 2);
  CHECK(layout.fault.code == Code{'M', 14});
  CHECK(layout.fault.words.view().find("the plan has 4,294,967,294 ranks, at most 2,147,483,647 are counted") != std::string_view::npos);
}
