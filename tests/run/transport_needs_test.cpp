// SPDX-License-Identifier: MIT
#include "heddle/run/transport_needs.hpp"

#include <doctest/doctest.h>

#include <array>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

struct Small : Sequential<Linear<64, 64>, ReLU, Linear<64, 2>> {};
template <class P, class... Options> using Of = Plan<Small, CrossEntropy, SGD, Batch<48>, P, Options...>;
template <class P> [[nodiscard]] TransportNeeds needs_of() { return transport_needs(P::training, P::evaluation); }

}  // namespace

TEST_CASE("one device needs no group") {
  const TransportNeeds needs = needs_of<Of<Single>>();
  CHECK(needs.ranks == 1);
  CHECK(needs.groups.empty());
}

TEST_CASE("each stage has one group of its replicas, numbered as RankGroups says") {
  using Mixed = Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, DataParallel<3>>>;
  const TransportNeeds needs = needs_of<Mixed>();
  CHECK(needs.groups == std::vector<std::vector<int>>{{0, 2, 4}, {1, 3, 5}});
  for (int rank = 0; rank < 6; ++rank) {
    const auto& group = needs.groups[static_cast<std::size_t>(RankGroups{Mixed::training, Mixed::evaluation, Rank{rank}}[axis::data])];
    CHECK(group[static_cast<std::size_t>(batch_position(Mixed::training, Rank{rank}))] == rank);
  }
}

TEST_CASE("ranks that share layers are a group after those that split the batch") {
  using Mixed = Of<Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>;
  const TransportNeeds needs = needs_of<Mixed>();
  CHECK(needs.groups == std::vector<std::vector<int>>{{0, 4}, {1, 5}, {2, 6}, {3, 7}, {0, 1}, {2, 3}, {4, 5}, {6, 7}});
  for (int rank = 0; rank < 8; ++rank) {
    const auto& group = needs.groups[static_cast<std::size_t>(RankGroups{Mixed::training, Mixed::evaluation, Rank{rank}}[axis::tensor])];
    CHECK(group[static_cast<std::size_t>(rank % 2)] == rank);
  }
  CHECK(needs_of<Of<TensorParallel<1>>>().groups.empty());
}

TEST_CASE("a channel may have as many starts pending as a step has micro-batches, a group as many as collectives go along its axis") {
  CHECK(needs_of<Of<Pipeline<Balanced<2>, GPipe, Microbatches<8>>>>().transfers == 8);
  CHECK(needs_of<Of<DataParallel<2>>>().reductions == 2);  // the gradient and the loss
  CHECK(needs_of<Of<DataParallel<2>, Bucket<64_B>>>().reductions == 3);
}

TEST_CASE("the largest sum is that of a bucket or of a value in a body") {
  CHECK(needs_of<Of<Single>>().elements[0] == 0);
  CHECK(needs_of<Of<DataParallel<2>>>().elements[0] == Of<DataParallel<2>>::training.buckets[0].elements);
  using Wide = Plan<Small, CrossEntropy, SGD, Batch<4096>, TensorParallel<2>>;
  CHECK(needs_of<Wide>().elements[0] == 4096 * 2);  // logits of two classes
}

TEST_CASE("sizes of what a rank asks are constants, and those of the groups") {
  using Mixed = Of<Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<3>>, Clip<GlobalNorm>>;
  constexpr RankNeeds sizes = rank_needs(Mixed::training, Mixed::evaluation);
  const TransportNeeds needs = needs_of<Mixed>();
  CHECK(sizes.ranks == 12);
  CHECK(sizes.all_groups == static_cast<int>(needs.groups.size()));
  CHECK(sizes.members == std::array{3, 2, 2, 0});  // axes data, tensor, stage
  CHECK(sizes.elements[0] == Mixed::training.buckets[0].elements);
  CHECK(sizes.elements[1] == 48 / 3 / 2 * 2);  // logits of a micro-batch
  CHECK(sizes.elements[2] == 2);               // a norm of two units
  CHECK(sizes.elements == needs.elements);
}
