// SPDX-License-Identifier: MIT
#include "heddle/plan/read/collective_size.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/losses/mean_squared_error.hpp"
#include "heddle/plan/options/options.hpp"
#include "heddle/plan/read/ledger.hpp"
#include "heddle/policy/sharded.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "plan/gain.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

template <class P> [[nodiscard]] CollectiveSize largest_sum() {
  CollectiveSize most;
  each_collective(P::training, [&](int, const CollectiveSize& size, std::int64_t) {
    if (size.sums && size.elements > most.elements) most = size;
  });
  return most;
}

}  // namespace

TEST_CASE("a bucket is reduced whole along the axis that slices units, and as a slice along the others") {
  using P = Trained<Chain, Hybrid<Sharded<4, OptimizerState>, DataParallel<2>>, Clip<GlobalNorm>>;
  constexpr const Program& p = P::training;
  constexpr CollectiveSize scattered = bucket_collective(p, 0, axis::shard, false);
  constexpr CollectiveSize reduced = bucket_collective(p, 0, axis::data, false);
  constexpr CollectiveSize gathered = bucket_collective(p, 0, axis::shard, true);
  static_assert(scattered.halves == 1 && scattered.sums && scattered.elements == p.buckets[0].elements);
  static_assert(reduced.halves == 2 && reduced.sums && reduced.elements == p.buckets[0].elements / 4);
  static_assert(gathered.halves == 1 && !gathered.sums && gathered.elements == p.buckets[0].elements);
  static_assert(bucket_collective(p, loss_bucket, axis::data, false).elements == 1);
  CHECK(bucket_collective(p, norm_bucket, axis::shard, false).elements == 3);  // units of the model
}

TEST_CASE("a value over axis tensor is padded to whole lines a grain, a part at a time") {
  struct Odd : Sequential<Linear<6, 6, NoBias>, ReLU, Linear<6, 6, NoBias>> {};
  using P = Plan<Odd, MeanSquaredError, SGD, Batch<10>, Grain<5>, TensorParallel<2>>;
  static_assert(P::training.batch.grains() == 2);
  Entry entry;
  entry.axis = axis::tensor;
  entry.features = 6;
  entry.what = BodyOp::reduce_value;
  CHECK(collective_size(P::training, entry).elements == 2 * 32);
  CHECK(collective_size(P::training, entry).payload == 10 * 6);
  for (const BodyOp what : {BodyOp::gather_value, BodyOp::scatter_value}) {
    entry.what = what;
    const CollectiveSize size = collective_size(P::training, entry);
    CHECK(size.elements == 2 * 2 * 16);  // two parts of two grains of 5 x 3
    CHECK(size.halves == 1);
    CHECK(size.sums == (what == BodyOp::scatter_value));
  }
  entry.what = BodyOp::slice_value;
  CHECK(collective_size(P::training, entry).halves == 0);
}

TEST_CASE("every start is visited: in lists, in bodies, as often as it is run") {
  struct Gained : Sequential<Linear<64, 64, NoBias>, Gain, Linear<64, 64, NoBias>> {};
  using P = Plan<Gained, MeanSquaredError, SGD, Batch<64>, TensorParallel<2>, Clip<GlobalNorm>, Accumulate<4>>;
  int values = 0;
  int parameters = 0;
  int norms = 0;
  each_collective(P::training, [&](int role, const CollectiveSize& size, std::int64_t times) {
    CHECK(role == 0);
    if (size.elements <= 3) CHECK(times == 1);
    parameters += size.elements == 1 ? 1 : 0;
    norms += size.elements == 3 ? 1 : 0;
    if (size.elements == 16 * 64) values += static_cast<int>(times);
  });
  CHECK(parameters == 1);
  CHECK(norms == 1);
  CHECK(values == traffic<P>().value_collectives(0, BodyOp::reduce_value));
  CHECK(values == 4 * 1);  // the input of the first layer has no gradient
  CHECK(largest_sum<P>().elements == 16 * 64);
  CHECK(largest_sum<Trained<Mnist, DataParallel<2>>>().elements == 40'960);
  CHECK(largest_sum<Trained<Mnist, Single>>().elements == 0);
}

TEST_CASE("an entry runs once, in every micro-batch, or in all but the first") {
  using P = Trained<Chain, Sharded<2>, Accumulate<4>>;
  Entry entry;
  CHECK(times_in_a_step(P::training, entry) == 4);
  entry.when = When::later_micro_batches;
  CHECK(times_in_a_step(P::training, entry) == 3);
  for (const When once : {When::first_micro_batch, When::last_micro_batch}) {
    entry.when = once;
    CHECK(times_in_a_step(P::training, entry) == 1);
  }
}
