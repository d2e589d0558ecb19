// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/collectives.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

#include "heddle/graph/losses/mean_squared_error.hpp"
#include "plan/flow.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

using One = Linear<16, 16>;
template <class Policy, class... Options> using Of = Plan<One, MeanSquaredError, SGD, Batch<8>, Policy, Options...>;

/// The only one of a purpose along an axis.
constexpr Collective find(const Program& p, Purpose purpose, Axis along) {
  int found = -1;
  for (int c = 0; c < p.collective_count; ++c)
    if (p.collectives[c].purpose == purpose && p.collectives[c].axis == along) found = found < 0 ? c : p.collective_count;
  return p.collectives[found];
}

}  // namespace

TEST_CASE("of a bucket come its reductions, innermost first, and its gather; then the loss; then the norm") {
  Layout layout{graph_of<Skips>};
  layout.claim(axis::data, 2);
  layout.claim(axis::shard, 4);
  layout.batch_split[static_cast<int>(axis::data)] = layout.batch_split[static_cast<int>(axis::shard)] = true;
  Storage slices{.axis = axis::shard, .parts = 4, .parameters = true, .gradients = true, .states = true};
  FlatBucket buckets[3];
  const CollectiveNumbers trains{layout, slices, {buckets, 3, 0}, true, BeforeStep{.clips = true}};
  CHECK((trains.reduction(1, axis::shard) == 3 && trains.reduction(1, axis::data) == 4 && trains.gather(1) == 5));
  CHECK((trains.of_loss(axis::shard) == 9 && trains.of_loss(axis::data) == 10));
  CHECK((trains.of_norm(axis::shard) == 11 && trains.count == 12));
  const CollectiveNumbers evaluates{layout, slices, {buckets, 3, 0}, false, BeforeStep{.clips = true}};
  CHECK((evaluates.gather(2) == 2 && evaluates.of_loss(axis::data) == 4 && evaluates.count == 5));  // no gradient, no norm
  slices.parameters = false;
  CHECK(CollectiveNumbers{layout, slices, {buckets, 3, 0}, true, BeforeStep{}}.count == 11);
  CHECK(CollectiveNumbers{layout, slices, {buckets, 3, 0}, false, BeforeStep{}}.count == 2);  // what was gathered after the step is there
  buckets[1].owner_begin = 0;                                                                 // not stepped, so not gathered
  const CollectiveNumbers tied{layout, slices, {buckets, 3, 0}, true, BeforeStep{}};
  CHECK((tied.gather(0) == 2 && tied.reduction(1, axis::data) == 4 && tied.reduction(2, axis::shard) == 5 && tied.count == 10));
}

TEST_CASE("gradients that are whole are reduced to the place of each rank in the whole, and gathered from there") {
  using P = Of<Hybrid<Sharded<2, OptimizerState>, DataParallel<2>>>;
  constexpr Collective scattered = find(P::training, Purpose::gradient, axis::shard);
  constexpr Collective reduced = find(P::training, Purpose::gradient, axis::data);
  constexpr Collective gathered = find(P::training, Purpose::parameters, axis::shard);
  static_assert(scattered.kind == CollectiveKind::reduce_scatter && scattered.elements == 1'024 && !scattered.accumulates);
  static_assert(scattered.source.stride == 0 && scattered.target.stride == 512 && scattered.target.along == axis::shard);
  static_assert(scattered.source.region == RegionKind::gradients && scattered.target.region == RegionKind::gradients);
  static_assert(reduced.kind == CollectiveKind::all_reduce && reduced.elements == 512 && reduced.payload == 272 && reduced.slices == 2);
  static_assert(reduced.target == scattered.target);
  CHECK(gathered.kind == CollectiveKind::all_gather);
  CHECK((gathered.source.stride == 512 && gathered.target.stride == 0 && gathered.target.region == RegionKind::parameters));
}

TEST_CASE("slices that lie by themselves are gathered to a ring and reduced from one; those of later micro-batches arrive apart") {
  using P = Of<Sharded<2>, Accumulate<2>>;
  constexpr Collective scattered = find(P::training, Purpose::gradient, axis::shard);
  constexpr Collective gathered = find(P::training, Purpose::parameters, axis::shard);
  static_assert(scattered.source.region == RegionKind::fresh && scattered.target.region == RegionKind::gradients && scattered.target.stride == 0);
  static_assert(scattered.accumulates && scattered.arrived.region == RegionKind::arrived);
  static_assert(gathered.source.region == RegionKind::parameters && gathered.target.region == RegionKind::gathered);
  CHECK(find(P::evaluation, Purpose::parameters, axis::shard) == gathered);
}

TEST_CASE("the loss is summed behind the terms of the grains, the norm with a float a unit and a flag") {
  using P = Of<Sharded<2>, Clip<GlobalNorm>, LossScaling>;
  constexpr Collective loss = find(P::training, Purpose::loss, axis::shard);
  constexpr Collective norm = find(P::training, Purpose::norm, axis::shard);
  static_assert(loss.target.region == RegionKind::losses && loss.elements == 1);
  static_assert(loss.target.begin == P::training.batch.rank_grains());
  static_assert(norm.target.region == RegionKind::norms && norm.elements == 2 && norm.payload == 2);
  CHECK(norm.kind == CollectiveKind::all_reduce);
}

TEST_CASE("sums over ranks follow the tree where sums over grains do, and where a model is only applied; a gather has no order") {
  using Tree = Of<Sharded<2>>;
  using Rounds = Of<Sharded<2>, Accumulate<2>>;
  static_assert(Tree::training.batch.tree && !Rounds::training.batch.tree);
  CHECK(find(Tree::training, Purpose::gradient, axis::shard).order == SumOrder::tree);
  CHECK(find(Rounds::training, Purpose::gradient, axis::shard).order == SumOrder::any);
  CHECK(find(Rounds::evaluation, Purpose::loss, axis::shard).order == SumOrder::tree);
  CHECK(find(Tree::training, Purpose::parameters, axis::shard).order == SumOrder::any);
}

TEST_CASE("what several groups of ranks hold alike is summed along the tree, whatever the batch asks") {
  using Rounds = Of<Sharded<2>, Accumulate<2>, Clip<GlobalNorm>>;
  using Split = Of<Hybrid<TensorParallel<2>, DataParallel<2>>, Accumulate<2>>;
  static_assert(!Rounds::training.batch.tree && !Split::training.batch.tree);
  for (const Purpose sum : {Purpose::loss, Purpose::norm}) CHECK(find(Rounds::training, sum, axis::shard).order == SumOrder::tree);
  CHECK(find(Split::training, Purpose::gradient, axis::data).order == SumOrder::tree);  // a bias that both ranks of axis tensor have
  CHECK(find(Split::training, Purpose::value, axis::tensor).order == SumOrder::any);    // one group for each
}

TEST_CASE("each collective of the table is named by a line or an entry") {
  for (const Program* p : {&Replicas::training, &Replicas::evaluation, &HalvedSlices::training, &HalvedSlices::evaluation, &SplitSlices::training,
                           &SplitSlices::evaluation, &SplitHalves::training, &TiedStages::training, &TiedStages::evaluation}) {
    std::vector<bool> named(static_cast<std::size_t>(p->collective_count));
    for (int i = 0; i < p->lists[p->roles - 1].end; ++i)
      if (const int number = p->instructions[i].collective; number >= 0) named[static_cast<std::size_t>(number)] = true;
    for (const IndexRange* bodies : {p->forward_bodies, p->backward_bodies, p->weight_bodies})
      for (int c = 0; c < p->chunks; ++c)
        for (int e = bodies[c].begin; e < bodies[c].end; ++e)
          if (const int number = p->entries[e].collective; number >= 0) named[static_cast<std::size_t>(number)] = true;
    for (std::size_t c = 0; c < named.size(); ++c) {
      CAPTURE(c);
      CHECK(named[c]);
    }
  }
}

TEST_CASE("a value of ranks of axis tensor lies where its entry has it") {
  const Program& p = SplitSlices::training;
  int values = 0;
  for (int c = 0; c < p.chunks; ++c)
    for (int e = p.forward_bodies[c].begin; e < p.forward_bodies[c].end; ++e) {
      const Entry& entry = p.entries[e];
      if (entry.what != BodyOp::reduce_value) continue;
      const Collective& sum = p.collectives[entry.collective];
      CHECK((sum.purpose == Purpose::value && sum.axis == axis::tensor && sum.target == address_of(entry.d)));
      CHECK((sum.payload == entry.features * p.batch.micro_rows && sum.elements == p.grain_stride(entry.features) * p.batch.grains()));
      ++values;
    }
  CHECK(values > 0);
  CHECK(address_of(Place{Place::scratch, 128}) == Address{.region = RegionKind::scratch, .begin = 32});
  CHECK(address_of(Place{3, 64}) == Address{.region = RegionKind::pools, .pool = 3, .begin = 16});
}
