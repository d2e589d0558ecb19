// SPDX-License-Identifier: MIT
#include "heddle/run/step_input.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

struct Small : Sequential<Linear<4, 4>, ReLU, Linear<4, 2>> {};
template <class P, class... Options> using Of = Plan<Small, CrossEntropy, SGD, Batch<48>, P, Options...>;
using Mixed = Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<3>>, Grain<4>>;

}  // namespace

TEST_CASE("ranks, micro-batches and grains cover every row of the batch once, in order") {
  const Program& p = lower<Mixed>();
  std::vector<int> seen(48);
  std::int64_t next = 0;
  for (int replica = 0; replica < 3; ++replica)
    for (int m = 0; m < p.batch.total_micro_batches(); ++m)
      for (int g = 0; g < p.batch.grains(); ++g) {
        const std::int64_t first = first_row(p.batch, replica, m, g);
        CHECK(first == next);
        next = first + p.batch.grain_rows;
        for (std::int64_t r = first; r < next; ++r) ++seen[static_cast<std::size_t>(r)];
      }
  CHECK(std::vector<int>(48, 1) == seen);
}

TEST_CASE("the stages of one replica share its rows: Hybrid<MP, DP> has model-parallel groups of consecutive ranks") {
  const Program& p = lower<Mixed>();
  for (int rank = 0; rank < 6; ++rank) CHECK(batch_position(p, Rank{rank}) == rank / 2);
  using Outside = Of<Hybrid<DataParallel<3>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>, Grain<4>>;
  for (int rank = 0; rank < 6; ++rank) CHECK(batch_position(lower<Outside>(), Rank{rank}) == rank % 3);
}

TEST_CASE("ranks of one stage share a group of the transport, ranks of different stages do not") {
  const Program& p = lower<Mixed>();
  for (int rank = 0; rank < 6; ++rank) CHECK(transport_group(p, Rank{rank}, axis::data) == rank % 2);
}
