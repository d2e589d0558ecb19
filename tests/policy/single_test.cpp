// SPDX-License-Identifier: MIT
#include "heddle/policy/single.hpp"

#include <doctest/doctest.h>

#include "policy/models.hpp"

using namespace heddle;

static_assert(Policy<Single>);
static_assert(!Policy<int>);

TEST_CASE("Single claims nothing: one rank, one chunk, the whole batch") {
  constexpr Layout layout = tests::answer<tests::Chain, Single>();
  static_assert(layout.fault.ok());
  static_assert(layout.mesh.count == 0 && layout.mesh.ranks() == 1);
  static_assert(layout.chunk_count == 1 && layout.first_node[1] == 5 && layout.micro_batches == 1);
  for (int a = 0; a < axis_count; ++a) CHECK_FALSE(layout.batch_split[a]);
}
