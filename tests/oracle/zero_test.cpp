// SPDX-License-Identifier: MIT
// What ZeRO publishes about memory and bytes, against the formulas here and against what plans hold and move. Source: sources.md#zero.
#include <doctest/doctest.h>

#include <cmath>

#include "heddle/cost/model_states.hpp"
#include "heddle/policy/sharded.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

struct Row {
  int ranks;
  double states, gradients, parameters;  // GB per device as printed, 7.5e9 parameters
  double places[3];                      // of the printed decimals
};
constexpr Row table1[] = {{1, 120, 120, 120, {1, 1, 1}},
                          {4, 52.5, 41.3, 30, {0.1, 0.1, 1}},
                          {16, 35.6, 21.6, 7.5, {0.1, 0.1, 0.1}},
                          {64, 31.4, 16.6, 1.88, {0.1, 0.1, 0.01}},
                          {256, 30.4, 15.4, 0.47, {0.1, 0.1, 0.01}},
                          {1024, 30.1, 15.1, 0.12, {0.1, 0.1, 0.01}}};

/// Rows of Table 1 that a formula gives, rounded to the printed place.
template <class Formula> int rows_held(Formula bytes_per_device) {
  int held = 0;
  for (const Row& row : table1) {
    const double printed[] = {row.states, row.gradients, row.parameters};
    const Sharding what[] = {OptimizerState::sharding, Gradients::sharding, Parameters::sharding};
    for (int column = 0; column < 3; ++column) {
      const double gigabytes = bytes_per_device(7.5e9, row.ranks, what[column]) / 1e9;
      held += std::abs(gigabytes - printed[column]) <= 0.5 * row.places[column] * 1.0001 ? 1 : 0;  // 41.25 is printed as 41.3
    }
  }
  return held;
}

template <class Policy> using Of = Plan<Mnist, CrossEntropy, Adam, Batch<64>, Policy>;
constexpr std::int64_t psi = parameters<Mnist>;

/// Bytes of parameters, gradients and states of one device, padding of units and the rings of a gathered unit left out.
template <class P> constexpr std::int64_t held_bytes() {
  const ArenaMap& map = P::training.arenas[0];
  return map[RegionKind::parameters].bytes() + map[RegionKind::gradients].bytes() + map[RegionKind::states].bytes();
}
template <class P> constexpr std::int64_t formula_bytes() {
  const Storage& kept = P::training.storage;
  const Sharding what{kept.parameters, kept.gradients, kept.states};
  return static_cast<std::int64_t>(
      model_state_bytes(full_precision_adam, static_cast<double>(P::training.arenas[0].flat_elements()), kept.parts, what));
}

}  // namespace

TEST_CASE("Table 1 of ZeRO: 18 of 18 cells for mixed-precision Adam, and fewer for each formula with one mistake") {
  const auto formula = [](double elements, int ranks, const Sharding& what) {
    return model_state_bytes(mixed_precision_adam, elements, ranks, what);
  };
  CHECK(rows_held(formula) == 18);
  const auto without_master_weights = [](double elements, int ranks, const Sharding& what) {
    return model_state_bytes(BytesPerParameter{2, 2, 8}, elements, ranks, what);
  };
  const auto gradients_never_sliced = [](double elements, int ranks, Sharding what) {
    what.gradients = false;
    return model_state_bytes(mixed_precision_adam, elements, ranks, what);
  };
  CHECK(rows_held(without_master_weights) < 18);
  CHECK(rows_held(gradients_never_sliced) < 18);
}

TEST_CASE("what a plan in full precision holds of parameters, gradients and states follows the same formula") {
  static_assert(held_bytes<Of<Single>>() == formula_bytes<Of<Single>>());
  static_assert(held_bytes<Of<DataParallel<4>>>() == formula_bytes<Of<DataParallel<4>>>());
  static_assert(held_bytes<Of<Sharded<2, OptimizerState>>>() == formula_bytes<Of<Sharded<2, OptimizerState>>>());
  static_assert(held_bytes<Of<Sharded<8, OptimizerState>>>() == formula_bytes<Of<Sharded<8, OptimizerState>>>());
  static_assert(held_bytes<Of<Sharded<4, Gradients>>>() == formula_bytes<Of<Sharded<4, Gradients>>>());
  static_assert(held_bytes<Of<Sharded<8, Parameters>>>() == formula_bytes<Of<Sharded<8, Parameters>>>());
  CHECK(held_bytes<Of<Hybrid<Sharded<4>, DataParallel<2>>>>() == held_bytes<Of<Sharded<4>>>());
}

TEST_CASE("a rank sends 2, 2 and 3 times (N-1)/N of the parameters, as replicas send 2") {
  constexpr auto moved = []<class P>(const P*) {
    const Traffic t = traffic<P>();
    Bytes sum;
    for (const Axis a : batch_axes) sum += t.gradients().on(a).total_payload + t.parameters().on(a).total_payload;
    return sum;
  };
  constexpr auto over = [](int n, int times) { return Bytes{times * (n - 1) * 4 * psi}; };  // over all ranks: N x times (N-1)/N psi
  static_assert(moved(static_cast<const Of<DataParallel<4>>*>(nullptr)) == over(4, 2));
  static_assert(moved(static_cast<const Of<Sharded<4, OptimizerState>>*>(nullptr)) == over(4, 2));
  static_assert(moved(static_cast<const Of<Sharded<4, Gradients>>*>(nullptr)) == over(4, 2));
  static_assert(moved(static_cast<const Of<Sharded<4, Parameters>>*>(nullptr)) == over(4, 3));
  CHECK(moved(static_cast<const Of<Sharded<8>>*>(nullptr)) == over(8, 3));
}

TEST_CASE("a rank that keeps what it gathered sends 2 times (N-1)/N of the parameters, whatever the number of micro-batches") {
  // Gradients that stay whole until the last micro-batch are reduced once, as the two halves are with one micro-batch.
  constexpr auto moved = []<class P>(const P*) {
    const Traffic t = traffic<P>();
    return t.gradients().on(axis::shard).total_payload + t.parameters().on(axis::shard).total_payload;
  };
  constexpr auto over = [](int n, int times) { return Bytes{times * (n - 1) * 4 * psi}; };
  using One = Of<Sharded<4, Keep::Step>>;
  using Four = Plan<Mnist, CrossEntropy, Adam, Batch<64>, Sharded<4, Keep::Step>, Accumulate<4>, Grain<4>>;
  using Dropped = Plan<Mnist, CrossEntropy, Adam, Batch<64>, Sharded<4>, Accumulate<4>, Grain<4>>;
  using Reduced = Plan<Mnist, CrossEntropy, Adam, Batch<64>, Sharded<4, Keep::Step>, Accumulate<4>>;
  static_assert(!Four::training.storage.gradients && Reduced::training.storage.gradients);
  static_assert(moved(static_cast<const One*>(nullptr)) == over(4, 2) && moved(static_cast<const One*>(nullptr)) != over(4, 3));
  static_assert(moved(static_cast<const Four*>(nullptr)) == over(4, 2));
  static_assert(moved(static_cast<const Dropped*>(nullptr)) == over(4, 2 * 4 + 1));  // gathered for each micro-batch, each way
  static_assert(moved(static_cast<const Reduced*>(nullptr)) == over(4, 1 + 4));      // slices of gradients are reduced in every backward
  CHECK(moved(static_cast<const Of<Sharded<8, Keep::Step>>*>(nullptr)) == over(8, 2));
}

TEST_CASE("a rank that keeps what it gathered holds the whole parameters in the place of two units") {
  constexpr auto difference = []<class Kept, class Dropped>(const Kept*, const Dropped*) {
    const ArenaMap& dropped = Dropped::training.arenas[0];
    return peak_memory<Kept>() + Bytes{dropped[RegionKind::gathered].bytes()} - peak_memory<Dropped>() - Bytes{4 * dropped.flat_elements()};
  };
  using Kept = Of<Sharded<4, Keep::Step>>;
  using Dropped = Of<Sharded<4>>;
  static_assert(difference(static_cast<const Kept*>(nullptr), static_cast<const Dropped*>(nullptr)) == Bytes{0});
  static_assert(held_bytes<Kept>() == held_bytes<Dropped>());  // between steps both have slices alone
  using Staged = Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Sharded<4>>>;
  using StagedKept = Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Sharded<4, Keep::Step>>>;
  for (int r = 0; r < 2; ++r) {
    const ArenaMap& map = StagedKept::training.arenas[r];
    CHECK(map[RegionKind::gathered].bytes() == 4 * map.flat_elements());
    CHECK(map.total - Staged::training.arenas[r].total == 4 * map.flat_elements() - Staged::training.arenas[r][RegionKind::gathered].bytes());
  }
}

TEST_CASE("a split backward gathers units for its gradients of inputs alone: not the first layer of the model, whose input has none") {
  using Split = Of<Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, Sharded<4>>>;
  using Whole = Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Sharded<4>>>;
  constexpr std::int64_t first = 784 * 50 + 50;
  static_assert(traffic<Split>().parameters().on(axis::shard).total_payload == Bytes{4 * 3 * 4 * (2 * psi - first)});
  static_assert(traffic<Whole>().parameters().on(axis::shard).total_payload == Bytes{4 * 3 * 4 * 2 * psi});
  CHECK(traffic<Split>().gradients().on(axis::shard).total_payload == traffic<Whole>().gradients().on(axis::shard).total_payload);
}

TEST_CASE("HSDP reduces whole gradients along shard and slices along data") {
  constexpr Traffic t = traffic<Of<Hybrid<Sharded<4>, DataParallel<2>>>>();
  static_assert(t.gradients().on(axis::shard).total_payload == Bytes{2 * 3 * 4 * psi});  // two groups of four, one pass
  static_assert(t.gradients().on(axis::data).total_payload == Bytes{2 * 4 * psi});       // four groups of two, two passes of a quarter
  CHECK(t.parameters().on(axis::shard).total_payload == Bytes{2 * 2 * 3 * 4 * psi});     // a gather for each direction
}
