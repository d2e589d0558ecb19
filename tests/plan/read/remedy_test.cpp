// SPDX-License-Identifier: MIT
#include "heddle/plan/read/remedy.hpp"

#include <doctest/doctest.h>

#include <string>
#include <type_traits>

#include "heddle/graph/layers/embedding.hpp"
#include "heddle/graph/one_unit.hpp"
#include "heddle/graph/tied.hpp"
#include "heddle/plan/advice.hpp"
#include "heddle/plan/options/groups.hpp"
#include "heddle/plan/options/options.hpp"
#include "heddle/policy/sharded.hpp"
#include "heddle/policy/weighted_data_parallel.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

using Square = Linear<64, 64>;
struct Even : Repeat<4, Square> {};
template <class Policy, int Rows = 64, class... Options> using EvenPlan = Plan<Even, CrossEntropy, Adam, Batch<Rows, KeepLast>, Policy, Options...>;
template <class Model, class... Options> using Replicated = Plan<Model, CrossEntropy, Adam, Batch<64>, DataParallel<2>, Options...>;
template <class... Order> using Fours = Pipeline<Balanced<4>, Order...>;

struct Wide : Sequential<Linear<784, 2000>, ReLU, Linear<2000, 10>> {};
struct Both : Sequential<Linear<600, 600>, ReLU, Linear<600, 600>> {};
template <class Model, int Parts, class... Options>
using SlicedBy = Plan<Model, CrossEntropy, Adam, Batch<64>, Sharded<Parts, OptimizerState>, Options...>;
using Small = Linear<16, 16>;
struct Flat : Sequential<Small, Small, Small, Small, Small, Small, Small, Small> {};
struct Blocks : Repeat<8, Small> {};
struct Joined : OneUnit<Repeat<8, Small>> {};

template <class ThePlan> std::string remark(int number, const AdviceLimits& limits = {}) {
  for (const Diagnosis& d : advise(training_of<ThePlan>(), plan_room::RequestOf<ThePlan>::layout, limits))
    if (d.code == Code{'A', number}) return std::string{d.sentence().view()};
  return {};
}

/// The plan is told the remedy, and with the remedy the remark is gone.
template <class Before, class After> void mends(int number, const std::string& remedy, const AdviceLimits& limits = {}) {
  CAPTURE(number);
  const std::string before = remark<Before>(number, limits);
  CAPTURE(before);
  CHECK(before.find(remedy) != std::string::npos);
  const std::string after = remark<After>(number, limits);
  CAPTURE(after);
  CHECK(after.empty());
}

}  // namespace

TEST_CASE("whoever does what a remark says is not told the same again") {
  mends<EvenPlan<DataParallel<8>, 16>, EvenPlan<DataParallel<8>, 32>>(1, "a batch of at least 32 rows");
  mends<EvenPlan<WeightedDataParallel<15, 1>, 16>, EvenPlan<WeightedDataParallel<15, 1>, 64>>(
      1, "leaves 1 row for each product of the smallest share, and every weight is read for so few. Fix: use a batch of at least 64 rows");
  mends<EvenPlan<DataParallel<8>, 9>, EvenPlan<DataParallel<8>, 8>>(2, "a batch of 8 or 16 rows");
  mends<EvenPlan<DataParallel<8>, 9>, EvenPlan<DataParallel<8>, 16>>(2, "a batch of 8 or 16 rows");
  mends<EvenPlan<Pipeline<Stage<Repeat<3, Square>>, Stage<Square>, OneFOneB, Microbatches<4>>>,
        EvenPlan<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>(3, "name Balanced<2>");
  mends<EvenPlan<DataParallel<1>>, EvenPlan<Single>>(5, "leave that policy out");
  mends<Trained<Chain, Pipeline<Stage<Sequential<Linear<8, 6>>>, Stage<ReLU>, Stage<Sequential<Part2, Part3>>, OneFOneB, Microbatches<4>>>,
        Trained<Chain, Pipeline<Stage<Sequential<Linear<8, 6>, ReLU>>, Stage<Sequential<Part2, Part3>>, OneFOneB, Microbatches<4>>>>(
      6, "join it with a neighbouring stage");
  mends<EvenPlan<Pipeline<Balanced<2>, Interleaved<2>, Microbatches<16>>>, EvenPlan<Pipeline<Balanced<2>, OneFOneB, Microbatches<16>>>>(
      9, "Fix: use OneFOneB.");
  using InTurns = Pipeline<Stage<Square, On<0>>, Stage<Square, On<1>>, Stage<Square, On<0>>, Stage<Square, On<1>>, Interleaved<2>, Microbatches<16>>;
  mends<EvenPlan<InTurns>, EvenPlan<Pipeline<Stage<Repeat<2, Square>>, Stage<Repeat<2, Square>>, OneFOneB, Microbatches<16>>>>(
      9, "Fix: use OneFOneB, with one stage on each device.");
}

TEST_CASE("A04 names an order, and micro-batches only where there are too few, that the plan accepts") {
  mends<EvenPlan<Fours<>>, EvenPlan<Fours<OneFOneB, Microbatches<4>>>>(4, "Fix: name OneFOneB and Microbatches<4> or more.");
  mends<EvenPlan<Fours<Microbatches<8>>>, EvenPlan<Fours<OneFOneB, Microbatches<8>>>>(4, "Fix: name OneFOneB.");
  mends<EvenPlan<Fours<GPipe, Microbatches<2>, FewMicrobatches>>, EvenPlan<Fours<GPipe, Microbatches<4>>>>(4, "Fix: name Microbatches<4> or more.");
  // Four stages on two devices: an order takes as many micro-batches as stages, not as devices.
  using Home = Pipeline<Stage<Square, On<0>>, Stage<Square, On<1>>, Stage<Square, On<0>>, Stage<Square, On<1>>>;
  using Ordered = Pipeline<Stage<Square, On<0>>, Stage<Square, On<1>>, Stage<Square, On<0>>, Stage<Square, On<1>>, OneFOneB, Microbatches<4>>;
  mends<EvenPlan<Home>, EvenPlan<Ordered>>(4,
                                           "pass the 4 stages one at a time, so stages are idle 50 % of a step. Fix: name OneFOneB and "
                                           "Microbatches<4> or more.");
  // Batch<54> in nine parts of two rows each: four and five do not divide, so the next that does.
  using Exact = Plan<Even, CrossEntropy, Adam, Batch<54>, Fours<>>;
  mends<Exact, Plan<Even, CrossEntropy, Adam, Batch<54>, Fours<OneFOneB, Microbatches<6>>>>(4, "Fix: name OneFOneB and Microbatches<6> or more.");
  using FewRows = Plan<Even, CrossEntropy, Adam, Batch<6>, Hybrid<Fours<Microbatches<3>>, DataParallel<2>>>;
  mends<FewRows, Plan<Even, CrossEntropy, Adam, Batch<8>, Hybrid<Fours<OneFOneB, Microbatches<4>>, DataParallel<2>>>>(
      4, "Fix: name OneFOneB, Microbatches<4> and a batch of 8 rows.");
  // A batch that nothing divides takes the next rows.
  CHECK(remark<Plan<Even, CrossEntropy, Adam, Batch<999'983>, Fours<>>>(4).ends_with(
      "Fix: name OneFOneB, Microbatches<4> and a batch of 999,984 rows."));
}

TEST_CASE("A04 leaves to A03 what waits for a slow stage: the three parts of docs/tutorials.md on two devices") {
  struct P1 : Sequential<Linear<20, 500>, ReLU> {};
  struct P2 : Sequential<Linear<500, 500>, ReLU> {};
  struct P3 : Sequential<Linear<500, 10>> {};
  struct Network : Sequential<P1, P2, P3> {};
  using Home = Plan<Network, CrossEntropy, Adam, Batch<128>, Pipeline<Stage<P1, On<0>>, Stage<P2, On<1>>, Stage<P3, On<0>>, Microbatches<4>>>;
  CHECK(bubble_percent(training_of<Home>()) == 50);
  CHECK(remark<Home>(4).empty());
  CHECK_FALSE(remark<Home>(3).empty());
}

TEST_CASE("A07 names a bucket that some layer fills while the backward still runs, or says nothing") {
  constexpr EarlyGradients early = behind_the_first(Replicated<Wide>::training, 0);
  static_assert(early.payload == 20'010 && early.bytes == 81'920);
  CHECK(remark<Replicated<Wide>>(7).empty());  // all else is 80 KB
  mends<Replicated<Wide>, Replicated<Wide, Bucket<80_KiB>>>(7, "Fix: name Bucket<80_KiB> or smaller.", {.overlap = 64_KiB});
  mends<Replicated<Both>, Replicated<Both, Bucket<705_KiB>>>(7, "Fix: name Bucket<705_KiB> or smaller.");
  static_assert(behind_the_first(Replicated<Linear<600, 600>>::training, 0).payload == 0);
  // Where states are sliced a bucket ends where slices are whole lines; norms of slices, groups and gathers are of units, and one unit is not cut.
  struct One : OneUnit<Both> {};
  mends<SlicedBy<One, 2>, SlicedBy<One, 2, Bucket<705_KiB>>>(7, "Fix: name Bucket<705_KiB> or smaller.");
  CHECK(remark<SlicedBy<One, 4>>(7).empty());  // 64 elements do not divide 360,608, where the second layer begins
  CHECK(remark<SlicedBy<One, 2, Clip<GlobalNorm>>>(7).empty());
  CHECK(remark<SlicedBy<One, 2, NoDecay<>>>(7).empty());
  CHECK(remark<Plan<One, CrossEntropy, Adam, Batch<64>, DataParallel<2>, NoDecay<>>>(7).empty());
  using Apart = Plan<Both, CrossEntropy, Adam, Batch<64>, Sharded<2, OptimizerState>>;
  mends<Apart, Plan<Both, CrossEntropy, Adam, Batch<64>, Sharded<2, OptimizerState>, Bucket<705_KiB>>>(7, "Fix: name Bucket<705_KiB> or smaller.");
}

TEST_CASE("A08 names one unit where that moves fewer bytes: a Repeat alone is padded block by block") {
  for (const std::string& said : {remark<Replicated<Flat>>(8), remark<Replicated<Blocks>>(8)})
    CHECK(said.find("73 % of the 32,768 bytes") != std::string::npos);
  CHECK(remark<Replicated<Blocks>>(8).find("Fix: use wider layers, or put small ones, or their Repeat, into one OneUnit<...>.") != std::string::npos);
  static_assert(joined_bytes(Replicated<Flat>::training, 0) == 12'288 && joined_bytes(Replicated<Blocks>::training, 0) == 12'288);
  static_assert(joined_bytes(Replicated<Joined>::training, 0) == 12'288 && Replicated<Joined>::training.buckets[0].elements == 3072);
  CHECK(remark<Replicated<Joined>>(8).find("29 % of the 12,288 bytes") != std::string::npos);
  CHECK(remark<Replicated<Joined>>(8).ends_with("Fix: use wider layers."));
  struct Table : Sequential<Input<1>, Named<"table", Embedding<16, 16>>, Small, Tied<"head", Linear<16, 16, NoBias>, To<"table">>> {};
  static_assert(joined_bytes(Replicated<Table>::training, 0) == 3 * 4096);  // a tied table, the gradient of its second use, the layer between
}

TEST_CASE("micro-batches that suffice follow (S-1)/(M+S-1) for equal stages, and divide the batch") {
  struct Equal : Sequential<Input<1>, Embedding<64, 64>, Repeat<4, Linear<64, 64, NoBias>>> {};
  using P = Plan<Equal, CrossEntropy, Adam, Batch<64>, Fours<OneFOneB, Microbatches<4>>>;
  static_assert(micro_batches_for(P::training, 4, 50) == 4);
  static_assert(micro_batches_for(P::training, 4, 20) == 13);
  static_assert(micro_batches_for(P::training, 4, 0) == 32);
  constexpr auto batch_of = []<class T>(std::type_identity<T>) { return plan_room::RequestOf<T>::batch; };
  static_assert(accepted_micro_batches(batch_of(std::type_identity<Replicated<Even>>{}), 5, 1) == 8);
  static_assert(accepted_micro_batches(batch_of(std::type_identity<Replicated<Even>>{}), 33, 1) == 0);
  static_assert(accepted_micro_batches(batch_of(std::type_identity<EvenPlan<DataParallel<2>, 64, Accumulate<2>>>{}), 5, 1) == 5);  // KeepLast
  static_assert(accepted_micro_batches(batch_of(std::type_identity<Replicated<Even, Reproducible, Accumulate<2>>>{}), 5, 1) == 8);
  static_assert(shares_of_all(batch_of(std::type_identity<EvenPlan<WeightedDataParallel<3, 1>>>{})) == 4);
  static_assert(smallest_share(batch_of(std::type_identity<EvenPlan<WeightedDataParallel<3, 2>, 10>>{})) == 2);
}
