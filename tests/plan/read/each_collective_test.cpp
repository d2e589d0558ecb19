// SPDX-License-Identifier: MIT
#include "heddle/plan/read/each_collective.hpp"

#include <doctest/doctest.h>

#include "heddle/graph/losses/mean_squared_error.hpp"
#include "heddle/plan/check/collectives.hpp"
#include "heddle/plan/options/options.hpp"
#include "heddle/plan/read/ledger.hpp"
#include "heddle/policy/sharded.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "plan/gain.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

template <class P> [[nodiscard]] Collective largest_sum() {
  Collective most;
  each_collective(P::training, [&](int, const Collective& c, std::int64_t) {
    if (c.sums() && c.elements > most.elements) most = c;
  });
  return most;
}

/// Those of one kind and purpose: how often they are started, and the last of them.
struct Started {
  std::int64_t times = 0;
  Collective last;
};
template <class P> [[nodiscard]] constexpr Started started(Purpose purpose, CollectiveKind kind) {
  Started found;
  each_collective(P::training, [&](int, const Collective& c, std::int64_t times) {
    if (c.purpose != purpose || c.kind != kind) return;
    found.times += times;
    found.last = c;
  });
  return found;
}
constexpr auto sum = CollectiveKind::all_reduce;
constexpr auto scatter = CollectiveKind::reduce_scatter;
constexpr auto gather = CollectiveKind::all_gather;

}  // namespace

TEST_CASE("a bucket is reduced whole along the axis that slices units, and as a slice along the others") {
  using P = Trained<Chain, Hybrid<Sharded<4, OptimizerState>, DataParallel<2>>, Clip<GlobalNorm>>;
  constexpr const Program& p = P::training;
  constexpr Started scattered = started<P>(Purpose::gradient, scatter);
  constexpr Started reduced = started<P>(Purpose::gradient, sum);
  constexpr Started gathered = started<P>(Purpose::parameters, gather);
  constexpr std::int64_t last = p.buckets[p.bucket_count - 1].elements;
  static_assert(scattered.times == p.bucket_count && scattered.last.axis == axis::shard && scattered.last.elements == last);
  static_assert(reduced.times == p.bucket_count && reduced.last.axis == axis::data && reduced.last.elements == last / 4);
  static_assert(gathered.times == p.bucket_count && gathered.last.axis == axis::shard && gathered.last.elements == last);
  static_assert(started<P>(Purpose::loss, sum).last.elements == 1);
  CHECK(started<P>(Purpose::norm, sum).last.elements == 3);  // units of the model
}

TEST_CASE("a value over axis tensor is padded to whole lines a grain, a part at a time") {
  struct Odd : Sequential<Linear<6, 6, NoBias>, ReLU, Linear<6, 6, NoBias>> {};
  using P = Plan<Odd, MeanSquaredError, SGD, Batch<10>, Grain<5>, TensorParallel<2>>;
  static_assert(P::training.batch.grains() == 2);
  constexpr Started summed = started<P>(Purpose::value, sum);
  static_assert(summed.times == 1 && summed.last.elements == 2 * 32);
  CHECK(summed.last.payload == 10 * 6);
  struct Last : Sequential<Linear<6, 6, NoBias>, ReLU, Linear<6, 6, NoBias>, ReLU, Linear<6, 6, NoBias>> {};
  using Q = Plan<Last, MeanSquaredError, SGD, Batch<10>, Grain<5>, TensorParallel<2>>;
  constexpr Started gathered = started<Q>(Purpose::value, gather);
  static_assert(gathered.times == 1 && gathered.last.elements == 2 * 2 * 16);  // two parts of two grains of 5 x 3
  CHECK(gathered.last.payload == 10 * 6);
  FollowingCollective following{P::training};
  Entry entry;
  entry.axis = axis::tensor;
  entry.features = 6;
  for (const BodyOp what : {BodyOp::gather_value, BodyOp::scatter_value}) {
    entry.what = what;
    CHECK(following.of(entry).elements == 2 * 2 * 16);
    CHECK(following.of(entry).halves() == 1);
    CHECK(following.of(entry).sums() == (what == BodyOp::scatter_value));
    CHECK(starts_collective(what));
  }
  CHECK(!starts_collective(BodyOp::slice_value));
}

TEST_CASE("every start is visited: in lists, in bodies, as often as it is run") {
  struct Gained : Sequential<Linear<64, 64, NoBias>, Gain, Linear<64, 64, NoBias>> {};
  using P = Plan<Gained, MeanSquaredError, SGD, Batch<64>, TensorParallel<2>, Clip<GlobalNorm>, Accumulate<4>>;
  int values = 0;
  int parameters = 0;
  int norms = 0;
  each_collective(P::training, [&](int role, const Collective& size, std::int64_t times) {
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
  for (const When when : {When::always, When::reporting, When::first_micro_batch, When::last_micro_batch, When::later_micro_batches}) {
    entry.when = when;
    std::int64_t times = 0;
    for (int micro_batch = 0; micro_batch < 4; ++micro_batch) times += runs_in(P::training, when, micro_batch) ? 1 : 0;
    CHECK(times == times_in_a_step(P::training, entry));
  }
  CHECK((runs_in(P::training, When::last_micro_batch, 3) && !runs_in(P::training, When::first_micro_batch, 3)));
}
