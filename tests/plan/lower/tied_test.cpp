// SPDX-License-Identifier: MIT
#include "heddle/plan/lower/tied.hpp"

#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "heddle/graph/tied.hpp"
#include "heddle/plan/inference.hpp"
#include "heddle/plan/options/options.hpp"
#include "heddle/plan/read/program_hash.hpp"
#include "heddle/policy/sharded.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

using Square = Linear<32, 32>;  // 1056 elements: two thousand 64-byte parts would be too few, one unit of 4096 bytes too
struct Language
    : Sequential<Linear<8, 32>, Named<"wte", Square>, Tanh, Tied<"middle", Square, To<"wte">>, GELU, Tied<"head", Square, To<"wte">>, Linear<32, 3>> {
};
struct Apart : Sequential<Linear<8, 32>, Named<"wte", Square>, Tanh, Named<"middle", Square>, GELU, Named<"head", Square>, Linear<32, 3>> {};
using Start = Sequential<Linear<8, 32>, Named<"wte", Square>, Tanh>;
template <class M> using MiddleOf = Sequential<M, GELU>;
template <class H> using EndOf = Sequential<H, Linear<32, 3>>;
template <class M, class H, int Last, class... Parts>
using StagesOf = Pipeline<Stage<Start, On<0>>, Stage<MiddleOf<M>, On<1>>, Stage<EndOf<H>, On<Last>>, Parts...>;
template <int Last> using Stages = StagesOf<Tied<"middle", Square, To<"wte">>, Tied<"head", Square, To<"wte">>, Last>;
template <int Last> using StagesApart = StagesOf<Named<"middle", Square>, Named<"head", Square>, Last>;

constexpr std::int64_t unit = 2 * unit_bytes;  // of Square: 4224 bytes, in whole units of 4096
static_assert(4 * (32 * 32 + 32) > unit_bytes && 4 * (32 * 32 + 32) <= unit);

}  // namespace

TEST_CASE("on one device there is one copy of tied parameters and of their states, and a gradient for every use") {
  const ArenaMap& tied = training_of<Trained<Language, Single>>().arenas[0];
  const ArenaMap& apart = training_of<Trained<Apart, Single>>().arenas[0];
  CHECK(4 * tied.flat_elements() == 4 * apart.flat_elements() - 2 * unit);
  CHECK(tied[RegionKind::states].slot_bytes == apart[RegionKind::states].slot_bytes - 2 * unit);
  CHECK(tied[RegionKind::gradients].slot_bytes == apart[RegionKind::gradients].slot_bytes);
  CHECK(tied.total == apart.total - (1 + 2) * 2 * unit);  // parameters and two moments
  CHECK(tied[RegionKind::ties].bytes() == 0);             // nothing arrives
}

TEST_CASE("uses in a row of one owner name its bucket, and gradients without parameters lie behind all parameters") {
  const Program& p = training_of<Trained<Language, Stages<0>>>();
  REQUIRE(p.use_count == 3);
  for (int u = 0; u < 3; ++u) {
    CHECK(p.uses[u].owner == 1);
    CHECK(p.uses[u].node == 1 + 2 * u);
    CHECK(p.uses[u].role == u % 2);
    const FlatBucket& bucket = p.buckets[p.uses[u].bucket];
    CHECK(bucket.shared);
    CHECK(bucket.lowest_node == p.uses[u].node);
    CHECK(bucket.highest_node == p.uses[u].node);
    CHECK(4 * bucket.elements == unit);
    CHECK(bucket.steps() == (u < 2));
  }
  const FlatBucket& first = p.buckets[p.uses[0].bucket];
  const FlatBucket& last = p.buckets[p.uses[2].bucket];
  CHECK(last.begin == p.arenas[0].flat_elements());
  CHECK(last.values() == first.begin);
  CHECK(p.arenas[0][RegionKind::gradients].slot_bytes == 4 * p.arenas[0].flat_elements() + unit);
  const Node& head = p.graph->nodes[5];
  CHECK(p.parameters[head.first_parameter].values() == p.parameters[p.graph->nodes[1].first_parameter].begin);
}

TEST_CASE("every use is sent to every other owner once a step, as a slice where states are slices") {
  const Program& two = training_of<Trained<Language, Stages<0>>>();  // two uses on device 0, one on device 1
  CHECK(two.transfer_count == 4 + 3);
  const Program& three = training_of<Trained<Language, Stages<2>>>();
  CHECK(three.transfer_count == 4 + 3 * 2);
  CHECK(two.arenas[0][RegionKind::ties].bytes() == unit);
  CHECK(two.arenas[1][RegionKind::ties].bytes() == 2 * unit);
  const Program& sliced = training_of<Trained<Language, Hybrid<Stages<2>, Sharded<4>>>>();
  for (int t = 4; t < sliced.transfer_count; ++t) {
    CHECK(sliced.transfers[t].use >= 0);
    CHECK(sliced.transfers[t].elements == unit / 4 / 4);
  }
  CHECK(sliced.arenas[2][RegionKind::ties].bytes() == 2 * unit / 4);
}

TEST_CASE("what owners exchange is stated, and is part of what a step moves") {
  using Two = Trained<Language, Hybrid<Stages<0>, Sharded<2>, DataParallel<2>>>;
  const Volume ties = traffic<Two>().ties();
  CHECK(ties.messages == 3 * 2 * 2);
  CHECK(ties.total_payload == Bytes{2 * 3 * 4 * (32 * 32 + 32)});  // of each replica a whole gradient in two slices
  CHECK(ties.total_with_padding == Bytes{2 * 3 * unit});
  CHECK(traffic<Two>().total() == traffic<Trained<Apart, Hybrid<StagesApart<0>, Sharded<2>, DataParallel<2>>>>().total() + ties.total_payload);
  CHECK(traffic<Trained<Language, Single>>().ties().messages == 0);
  CHECK(traffic<Trained<Apart, StagesApart<0>>>().ties().messages == 0);
}

TEST_CASE("slices that are gathered after their step are those of parameters that are kept") {
  using Tied1 = Trained<Language, Sharded<4, OptimizerState>>;
  using Apart1 = Trained<Apart, Sharded<4, OptimizerState>>;
  const Bytes saved = traffic<Apart1>().parameters().on(axis::shard).total_payload - traffic<Tied1>().parameters().on(axis::shard).total_payload;
  CHECK(saved == Bytes{2 * 3 * 4 * (32 * 32 + 32)});
  CHECK(traffic<Apart1>().gradients().on(axis::shard).total_payload == traffic<Tied1>().gradients().on(axis::shard).total_payload);
}

TEST_CASE("an Inference keeps one copy a device and exchanges nothing") {
  using Tied0 = Inference<Language, Batch<16>, Single>;
  using Apart0 = Inference<Apart, Batch<16>, Single>;
  CHECK(peak_memory<Apart0>() - peak_memory<Tied0>() == Bytes{2 * unit});
  CHECK(evaluation_of<Inference<Language, Batch<16>, Stages<2>>>().transfer_count == 2);
}

TEST_CASE("each use is sent to the first use on every other role, and 30,000 uses of one owner are walked as often as there are roles") {
  using Sent = std::vector<std::pair<int, int>>;
  const auto sent = [](const std::vector<TiedUse>& uses) {
    Sent all;
    each_tied_transfer(uses.data(), static_cast<int>(uses.size()), [&](int use, int to) { all.emplace_back(use, to); });
    return all;
  };
  CHECK(sent({{0, 0, 2}, {0, 1, 0}, {0, 2, 2}, {3, 3, 1}, {3, 4, 1}, {5, 5, 2}, {5, 6, 1}}) == Sent{{0, 1}, {1, 0}, {2, 1}, {5, 6}, {6, 5}});
  std::vector<TiedUse> many(30'000);
  for (std::size_t u = 0; u < many.size(); ++u) many[u] = TiedUse{0, static_cast<std::int16_t>(u), static_cast<std::int16_t>(u % 64)};
  const Sent all = sent(many);  // by a search for each pair 10'000'000'000'000 steps
  CHECK(all.size() == many.size() * 63);
  CHECK(all.back() == std::pair{29'999, 63});
}

TEST_CASE("ranks whose programs tie otherwise have other hashes") {
  struct Other
      : Sequential<Linear<8, 32>, Named<"wte", Square>, Tanh, Named<"middle", Square>, GELU, Tied<"head", Square, To<"wte">>, Linear<32, 3>> {};
  const std::uint64_t hash = program_hash(training_of<Trained<Language, Single>>());
  CHECK(hash != program_hash(training_of<Trained<Other, Single>>()));
  Program changed = training_of<Trained<Language, Single>>();
  TiedUse uses[] = {changed.uses[0], changed.uses[1], changed.uses[2]};
  changed.uses = uses;
  CHECK(program_hash(changed) == hash);
  uses[2].bucket = uses[1].bucket;
  CHECK(program_hash(changed) != hash);
}
