// SPDX-License-Identifier: MIT
// The closed forms are held in oracle/collective_formulas_test; here: where groups lie, and what that does to them.
#include "heddle/cost/collective_time.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>

#include "heddle/cost/presets.hpp"

using namespace heddle;

namespace {

constexpr Machine nodes{.alpha = 10, .beta = 4, .levels = {{8, 1, 2}}};
// 4 ranks of axis tensor side by side, 2 stages, 4 replicas: 32 ranks, 4 nodes.
constexpr Mesh mesh{{axis::tensor, axis::stage, axis::data}, {4, 2, 4}, 3};

}  // namespace

TEST_CASE("the stride of an axis says which levels its groups cross") {
  static_assert(levels_of(nodes, mesh, axis::tensor).outermost() == 0);
  static_assert(levels_of(nodes, mesh, axis::stage).outermost() == 0);
  static_assert(levels_of(nodes, mesh, axis::data).outermost() == 1);
  const Mesh outside{{axis::data, axis::tensor}, {4, 4}, 2};  // tensor outermost: 2 of its ranks in each node
  CHECK(levels_of(nodes, outside, axis::data).outermost() == 0);
  CHECK(levels_of(nodes, outside, axis::tensor).outermost() == 1);
  CHECK(levels_of(nodes, outside, axis::tensor).within[0] == 2);
  CHECK(levels_of(nodes, Mesh{{axis::data}, {4}, 1}, axis::data).outermost() == 0);
  CHECK(levels_of(nodes, Mesh{{axis::data}, {12}, 1}, axis::data).within[0] == 1);                   // 8 and 4 of them: not cut evenly
  CHECK(levels_of(nodes, Mesh{{axis::data, axis::stage}, {3, 4}, 2}, axis::data).outermost() == 1);  // ranks 6 to 8 cross
  CHECK(levels_of(nodes, mesh, axis::shard).members == 1);
}

TEST_CASE("a ring is as slow as its slowest link, and counts bytes on both levels") {
  const Mesh sixteen{{axis::data}, {16}, 1};
  const GroupLevels spread = levels_of(nodes, sixteen, axis::data);
  const CollectiveCost cost = collective_cost(nodes, spread, CollectiveKind::all_reduce, 1600);
  CHECK(cost.seconds == 30 * (10 + 100 * 4));
  CHECK(cost.sent() == doctest::Approx(30 * 100));
  CHECK(cost.bytes[1] == doctest::Approx(30 * 100 * 2 / 16.0));  // 2 of 16 links leave a node
  CHECK(collective_cost(nodes, levels_of(nodes, mesh, axis::tensor), CollectiveKind::all_gather, 400).seconds == 3 * (1 + 100 * 2));
}

TEST_CASE("by pairs the distance says the level of each exchange") {
  Machine machine = nodes;
  const GroupLevels spread = levels_of(machine, Mesh{{axis::data}, {16}, 1}, axis::data);
  machine.collectives = CollectiveAlgorithm::recursive_doubling;
  CHECK(collective_cost(machine, spread, CollectiveKind::all_reduce, 100).seconds == 3 * (1 + 200) + (10 + 400));
  CHECK(collective_cost(machine, spread, CollectiveKind::all_reduce, 100).bytes[1] == 100);
  machine.collectives = CollectiveAlgorithm::halving_doubling;
  CHECK(collective_cost(machine, spread, CollectiveKind::all_reduce, 160).seconds == 2 * (10 + 80 * 4 + 3 * 1 + (40 + 20 + 10) * 2));
  CHECK(collective_cost(machine, spread, CollectiveKind::all_reduce, 160).bytes[1] == 160);
}

TEST_CASE("ranks beyond a power of two leave pairs that lie further apart than their numbers, and none of their bytes count twice") {
  Machine machine{.alpha = 10, .beta = 1, .collectives = CollectiveAlgorithm::recursive_doubling, .levels = {{4, 0, 0}}};
  const auto twelve = [](const Machine& m) { return levels_of(m, Mesh{{axis::data}, {12}, 1}, axis::data); };
  // Left are 1, 3, 5, 7 and 8 to 11: of distance 2 the pair 1 and 5 crosses nodes, of distance 4 all do.
  CHECK(collective_cost(machine, twelve(machine), CollectiveKind::all_reduce, 1000).seconds == 2 * 1010);
  machine.levels[0].ranks = 6;  // 5 and 7, 3 and 7, 1 and 8
  CHECK(collective_cost(machine, twelve(machine), CollectiveKind::all_reduce, 1000).seconds == 3 * 1010);
  const Machine flat{.beta = 1, .collectives = CollectiveAlgorithm::recursive_doubling};
  for (const auto& [ranks, all] : {std::pair{3, 4000.0}, {5, 10'000.0}, {8, 24'000.0}})
    CHECK(ranks * collective_cost(flat, levels_of(flat, Mesh{{axis::data}, {ranks}, 1}, axis::data), CollectiveKind::all_reduce, 1000).sent() ==
          doctest::Approx(all));
}

TEST_CASE("no level has fewer than no bytes, whatever its blocks are, and all levels together have those of a ring") {
  for (const int inner : {1, 2, 3, 4, 6})
    for (const int outer : {1, 2, 3, 4, 6})
      for (const Axis a : {Axis::data, Axis::shard})
        for (const CollectiveAlgorithm by :
             {CollectiveAlgorithm::ring, CollectiveAlgorithm::recursive_doubling, CollectiveAlgorithm::halving_doubling,
              CollectiveAlgorithm::hierarchical, CollectiveAlgorithm::fastest}) {
          const Machine machine{.alpha = 1, .beta = 1, .collectives = by, .levels = {{2, 0.1, 0.1}, {6, 0.2, 0.2}}};
          const GroupLevels spread = levels_of(machine, Mesh{{axis::shard, axis::data}, {inner, outer}, 2}, a);
          const CollectiveCost cost = collective_cost(machine, spread, CollectiveKind::all_reduce, 720);
          for (const double bytes : cost.bytes) CHECK(bytes >= 0);
          if (by == CollectiveAlgorithm::ring) CHECK(cost.sent() == doctest::Approx(2.0 * (spread.members - 1) / spread.members * 720));
        }
}

TEST_CASE("hierarchical sends an eighth between nodes, and the fastest is never slower than any") {
  Machine machine = nodes;
  const GroupLevels spread = levels_of(machine, Mesh{{axis::data}, {16}, 1}, axis::data);
  machine.collectives = CollectiveAlgorithm::hierarchical;
  const CollectiveCost cost = collective_cost(machine, spread, CollectiveKind::all_reduce, 1600);
  CHECK(cost.bytes[0] == doctest::Approx(2 * 1600 * 7 / 8.0));
  CHECK(cost.bytes[1] == doctest::Approx(2 * 200 / 2.0));
  CHECK(cost.seconds == 2 * 7 * (1 + 200 * 2) + 2 * (10 + 100 * 4));
  Machine fastest = h100_nodes();
  for (double bytes = 64; bytes < 1e9; bytes *= 4) {
    const GroupLevels wide = levels_of(fastest, Mesh{{axis::data}, {256}, 1}, axis::data);
    fastest.collectives = CollectiveAlgorithm::fastest;
    const double best = collective_cost(fastest, wide, CollectiveKind::all_reduce, bytes).seconds;
    double least = 1e9;
    for (const CollectiveAlgorithm a : {CollectiveAlgorithm::ring, CollectiveAlgorithm::recursive_doubling, CollectiveAlgorithm::halving_doubling,
                                        CollectiveAlgorithm::hierarchical}) {
      fastest.collectives = a;
      least = std::min(least, collective_cost(fastest, wide, CollectiveKind::all_reduce, bytes).seconds);
    }
    CHECK(best == least);
  }
}

TEST_CASE("a collective costs once what it costs as such, each message its acknowledgement, and one rank nothing") {
  const Machine machine{.alpha = 1, .per_collective = 5, .acknowledgement = 0.5};
  const GroupLevels four = levels_of(machine, Mesh{{axis::data}, {4}, 1}, axis::data);
  CHECK(collective_cost(machine, four, CollectiveKind::all_reduce, 0).seconds == 5 + 6 * 1.5);
  CHECK(collective_cost(machine, levels_of(machine, Mesh{}, axis::data), CollectiveKind::all_reduce, 1e9).seconds == 0);
}

TEST_CASE("two ranks are joined by the smallest block that has both") {
  constexpr Machine two{.levels = {{8, 1, 1}, {32, 2, 2}}};
  static_assert(level_between(two, 0, 7) == 0 && level_between(two, 7, 8) == 1 && level_between(two, 31, 32) == 2);
  CHECK(level_between(Machine{}, 0, 1) == 0);
}

TEST_CASE("ranks that share memory fetch what they read and what they write over, half of what a message of that size fetches") {
  const Machine threads{.alpha = 1, .beta = 2, .per_collective = 3, .gamma = 1000, .collectives = CollectiveAlgorithm::shared_memory};
  const GroupLevels spread = levels_of(threads, Mesh{{axis::data}, {4}, 1}, axis::data);
  const auto seconds = [&](CollectiveKind kind, bool apart) { return collective_cost(threads, spread, kind, 400, apart).seconds; };
  for (const CollectiveKind kind : {CollectiveKind::all_reduce, CollectiveKind::reduce_scatter, CollectiveKind::all_gather})
    CHECK(seconds(kind, false) == 3 + 1 + 400);
  CHECK(seconds(CollectiveKind::all_reduce, true) == 3 + 1 + 400);
  CHECK(seconds(CollectiveKind::reduce_scatter, true) == 3 + 1 + 400 + 100);  // a slice elsewhere is written as well
  CHECK(seconds(CollectiveKind::all_gather, true) == 3 + 1 + 400 + 100);
  CHECK(collective_cost(threads, spread, CollectiveKind::all_reduce, 400).sent() == 600);  // what the ledger counts, as of a ring
}
