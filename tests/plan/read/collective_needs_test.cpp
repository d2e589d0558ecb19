// SPDX-License-Identifier: MIT
#include "heddle/plan/read/collective_needs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "heddle/graph/layers/batch_norm.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/unflatten.hpp"
#include "heddle/plan/read/each_collective.hpp"
#include "plan/flow.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

template <class P> constexpr CollectiveNeeds needs_of() { return collective_needs(P::training, P::evaluation); }
/// Elements of the largest all-reduce, reduce-scatter and all-gather.
std::vector<std::int64_t> largest(const AxisNeeds& along) { return {along.largest, along.largest + collective_kinds}; }

}  // namespace

TEST_CASE("what is asked along an axis is what the tables of both Programs have along it, and nothing else") {
  for (const auto& [training, evaluation] :
       {std::pair{&Replicas::training, &Replicas::evaluation}, std::pair{&InTurns::training, &InTurns::evaluation},
        std::pair{&HalvedSlices::training, &HalvedSlices::evaluation}, std::pair{&SplitSlices::training, &SplitSlices::evaluation},
        std::pair{&SplitHalves::training, &SplitHalves::evaluation}, std::pair{&TiedStages::training, &TiedStages::evaluation}}) {
    const CollectiveNeeds needs = collective_needs(*training, *evaluation);
    CollectiveNeeds seen;
    for (const Program* p : {training, evaluation})
      each_collective(*p, [&](int, const Collective& c, std::int64_t) {
        AxisNeeds& along = seen.along[static_cast<int>(c.axis)];
        std::int64_t& most = along.largest[static_cast<int>(c.kind)];
        most = std::max(most, c.elements);
      });
    for (int a = 0; a < axis_count; ++a) {
      CAPTURE(a);
      CHECK(largest(needs.along[a]) == largest(seen.along[a]));
      CHECK(needs.along[a].any() == (*std::max_element(seen.along[a].largest, seen.along[a].largest + collective_kinds) > 0));
    }
  }
}

TEST_CASE("stages reduce nothing, unless the plan clips or scales its loss") {
  CHECK_FALSE(needs_of<InTurns>().on(axis::stage).any());
  constexpr AxisNeeds norm = needs_of<SplitSlices>().on(axis::stage);
  static_assert(norm.largest_sum() == SplitSlices::training.norm_floats());
  CHECK(largest(norm) == std::vector<std::int64_t>{norm.largest_sum(), 0, 0});
}

TEST_CASE("an axis that no collective goes along asks for nothing, though ranks split the batch or layers along it") {
  CHECK_FALSE(needs_of<Trained<Chain, DataParallel<1>>>().on(axis::data).any());
  CHECK_FALSE(needs_of<Replicas>().on(axis::shard).any());
}

namespace {

/// Starts that a rank has made since the oldest that is not waited for, whatever it runs: bodies as they are, one behind the other.
template <class P> constexpr int under_way() { return starts_under_way(P::training, P::evaluation); }
struct Tells : Sequential<Linear<8, 6>, Unflatten<3, 2, 1>, Repeat<3, Residual<BatchNorm2d<3, Synchronised>>>, Flatten, Linear<6, 3>> {};
template <class... Parts> using Told = Plan<Tells, CrossEntropy, Adam, Batch<16>, DataParallel<2>, Parts...>;

}  // namespace

TEST_CASE("a place is kept for every start since the oldest that is not waited for, also for those that were waited for meanwhile") {
  CHECK(under_way<InTurns>() == 0);
  static_assert(under_way<Replicas>() == Replicas::training.bucket_count + 1);  // gradients, then the loss
  // The gradient of the last layer is on its way while three norms tell each other of their gradients; then come the other buckets, and the loss.
  constexpr int buckets = Told<Bucket<64_B>>::training.bucket_count;
  CHECK(under_way<Told<Bucket<64_B>>>() == buckets + 3 + 1);
  CHECK(under_way<Told<>>() == 2);  // one bucket, behind all of them, and the loss
}
