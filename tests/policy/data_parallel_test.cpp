// SPDX-License-Identifier: MIT
#include "heddle/policy/data_parallel.hpp"

#include <doctest/doctest.h>

#include "policy/models.hpp"

using namespace heddle;
using tests::answer;
using tests::Chain;

static_assert(Policy<DataParallel<4>>);

TEST_CASE("DataParallel splits the batch over its replicas and keeps the model whole") {
  constexpr Layout layout = answer<Chain, DataParallel<4>>();
  static_assert(layout.fault.ok());
  static_assert(layout.mesh.size(axis::data) == 4 && layout.mesh.ranks() == 4);
  static_assert(layout.batch_ranks() == 4 && layout.roles() == 1);
  static_assert(layout.chunk_count == 1 && layout.first_node[1] == 5);
  CHECK(layout.batch_split[static_cast<int>(axis::data)]);
}

TEST_CASE("one replica is legal, none is refused") {
  static_assert(answer<Chain, DataParallel<1>>().fault.ok());
  static_assert(answer<Chain, DataParallel<0>>().fault.code == Code{'M', 2});
  CHECK(answer<Chain, DataParallel<-2>>().fault.code == Code{'M', 2});
}
