// SPDX-License-Identifier: MIT
#include "heddle/run/transport_groups.hpp"

#include <doctest/doctest.h>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

struct Small : Sequential<Linear<8, 8>, ReLU, Linear<8, 2>> {};
template <class P, class... Options> using Of = Plan<Small, CrossEntropy, SGD, Batch<48>, P, Options...>;
template <class P> constexpr RankGroups groups_of(int rank) { return {P::training, P::evaluation, Rank{rank}}; }

}  // namespace

TEST_CASE("ranks of one stage share a group, ranks of different stages do not") {
  using Mixed = Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, DataParallel<3>>>;
  for (int rank = 0; rank < 6; ++rank) {
    CHECK(groups_of<Mixed>(rank)[axis::data] == rank % 2);
    CHECK(groups_of<Mixed>(rank)[axis::stage] == GroupNumbers::none);  // nothing is reduced over stages
  }
  static_assert(GroupNumbers{Mixed::training, Mixed::evaluation}.count == 2);
}

TEST_CASE("groups of axis shard come first, then data, tensor and stage") {
  using Wide = Of<Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>, DataParallel<2>>, Clip<GlobalNorm>>;
  constexpr GroupNumbers numbers{Wide::training, Wide::evaluation};
  static_assert(numbers.count == 4 * 8);
  for (int k = 0; k < 4; ++k) CHECK(numbers.of(Wide::training.mesh, Rank{0}, group_axes[k]) == 8 * k);
  CHECK(numbers.of(Wide::training.mesh, Rank{0}, axis::context) == GroupNumbers::none);
}

TEST_CASE("both Programs count: what one of them alone moves has a group in both") {
  using P = Of<Hybrid<Pipeline<Balanced<2>>, DataParallel<2>>, Clip<GlobalNorm>>;
  CHECK(GroupNumbers{P::evaluation, P::evaluation}.of(P::training.mesh, Rank{0}, axis::stage) == GroupNumbers::none);
  CHECK(GroupNumbers{P::training, P::evaluation}.of(P::training.mesh, Rank{0}, axis::stage) == 2);
  CHECK(GroupNumbers{P::evaluation, P::training}.of(P::training.mesh, Rank{0}, axis::stage) == 2);
}
