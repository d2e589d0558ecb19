// SPDX-License-Identifier: MIT
#include "heddle/plan/advice.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/graph/layers/attention.hpp"
#include "heddle/graph/layers/embedding.hpp"
#include "heddle/graph/losses/mean_squared_error.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "heddle/policy/weighted_data_parallel.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

using Square = Linear<64, 64>;
struct Even : Repeat<4, Square> {};
template <class Policy, int Rows = 64, class... Options> using EvenPlan = Plan<Even, CrossEntropy, Adam, Batch<Rows, KeepLast>, Policy, Options...>;

using Useful = EvenPlan<Hybrid<Pipeline<Balanced<4>, OneFOneB, Microbatches<4>>, DataParallel<2>>>;

/// The sentence of the remark with this number; empty if there is none.
template <class ThePlan> std::string remark(int number, const AdviceLimits& limits = {}) {
  for (const Diagnosis& d : advise(training_of<ThePlan>(), plan_room::RequestOf<ThePlan>::layout, limits))
    if (d.code == Code{'A', number}) return std::string{d.sentence().view()};
  return {};
}

}  // namespace

TEST_CASE("a plan that leaves nothing unused has no remark") {
  constexpr AdviceReport none = advice<Useful>();
  static_assert(none.empty() && none.count == 0);
  CHECK(none.begin() == none.end());
  CHECK(advice<EvenPlan<DataParallel<4>>>().empty());
}

TEST_CASE("a plan that is refused has no remark: its refusal is enough") {
  using Refused = Plan<Even, CrossEntropy, Adam, Batch<63>, DataParallel<4>>;
  static_assert(!check<Refused>().ok());
  CHECK(advice<Refused>().empty());
}

TEST_CASE("A01: a batch smaller than the devices, or few rows for each product") {
  using InTurn = EvenPlan<Pipeline<Balanced<4>>, 3>;
  CHECK(remark<InTurn>(1) ==
        "[heddle.A01] Batch<3> is smaller than the 4 devices of the plan. Fix: use a batch of at least 4 rows, or fewer devices.");
  using Few = EvenPlan<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, DataParallel<2>>, 16>;
  CHECK(remark<Few>(1) ==
        "[heddle.A01] Batch<16> over 2 ranks x 4 micro-batches leaves 2 rows for each product, and every weight is read for so few. "
        "Fix: use a batch of at least 32 rows, or fewer parts.");
  CHECK(remark<EvenPlan<DataParallel<8>, 8>>(1).find("leaves 1 row for each product") != std::string::npos);
  CHECK(remark<EvenPlan<DataParallel<8>, 32>>(1).empty());  // four rows are enough
  CHECK_FALSE(remark<EvenPlan<DataParallel<8>, 32>>(1, {.rows = 5}).empty());
  CHECK(remark<EvenPlan<Single, 1>>(1).empty());  // nothing was split
}

TEST_CASE("A02: ranks without rows, room that stays empty, rows left out") {
  using Nine = EvenPlan<DataParallel<8>, 9>;
  CHECK(remark<Nine>(2) ==
        "[heddle.A02] Batch<9> does not divide by 8 ranks, so there is room for 16 rows and 3 of 8 ranks have none. "
        "Fix: use a batch of 8 or 16 rows.");
  using Ten = EvenPlan<DataParallel<4>, 10>;
  CHECK(remark<Ten>(2).find("room for 12 rows and 2 of them stay empty. Fix: use a batch of 8 or 12 rows.") != std::string::npos);
  using Padded = Plan<Even, CrossEntropy, Adam, Batch<9, PadLast>, DataParallel<8>>;
  CHECK(remark<Padded>(2) == remark<Nine>(2));             // a batch of nine rows is filled up already
  using Shares = EvenPlan<WeightedDataParallel<1, 3>, 5>;  // 2 and 3 rows of 2 and 6
  CHECK(remark<Shares>(2).find("room for 8 rows and 3 of them stay empty.") != std::string::npos);
  using Front = EvenPlan<WeightedDataParallel<3, 1>, 5>;  // 5 and no rows of 6 and 2
  CHECK(remark<Front>(2).find("room for 8 rows and 1 of 2 ranks have none.") != std::string::npos);
  using Grains = Plan<Even, CrossEntropy, Adam, Batch<48, KeepLast>, DataParallel<2>, Grain<16>>;
  CHECK(remark<Grains>(2) ==
        "[heddle.A02] Batch<48> does not divide by 2 ranks into grains of 16 rows, so there is room for 64 rows and 16 of them stay empty. "
        "Fix: use a batch of 32 or 64 rows.");
  CHECK_FALSE(remark<Grains>(2, {.unused_rows_percent = 25}).empty());
  CHECK(remark<Grains>(2, {.unused_rows_percent = 26}).empty());
  using Alone = Plan<Even, CrossEntropy, Adam, Batch<64, KeepLast>, Single, Grain<48>>;
  CHECK(remark<Alone>(2).find("Batch<64> does not divide into grains of 48 rows, so there is room for 96 rows and 32") != std::string::npos);
  using Left = Plan<Even, CrossEntropy, Adam, Batch<15, DropLast>, DataParallel<8>>;
  CHECK(remark<Left>(2).find("so 7 rows of each batch are left out. Fix: use a batch of 8 or 16 rows.") != std::string::npos);
  CHECK(remark<EvenPlan<DataParallel<8>, 63>>(2).empty());  // 1 of 64
  CHECK_FALSE(remark<EvenPlan<DataParallel<8>, 63>>(2, {.unused_rows_percent = 1}).empty());
}

TEST_CASE("A03: stages out of balance by more than the limit") {
  using Uneven = EvenPlan<Pipeline<Stage<Repeat<3, Square>, On<0>>, Stage<Square, On<1>>, OneFOneB, Microbatches<4>>>;
  constexpr AdviceReport report = advice<Uneven>();
  static_assert(report.has(Code{'A', 3}));
  // Stage 0 has three layers of four; its first makes no gradient of its input: 65,920 of the mean 45,312 flops, 31.3 % wait.
  CHECK(remark<Uneven>(3) ==
        "[heddle.A03] stages are out of balance: stage 0 has 65,920 flops a row, stage 1 has 24,704, so the 2 stages wait for the slowest 31 % of "
        "the time; the slowest of Balanced<2> has 49,408. Fix: give stage 0 fewer layers, or name Balanced<2>.");
  CHECK_FALSE(remark<Uneven>(3, {.imbalance_percent = 31}).empty());
  CHECK(remark<Uneven>(3, {.imbalance_percent = 32}).empty());
  CHECK(report.begin()->numbers[1] == stage_flops(training_of<Uneven>(), 0));
  CHECK(remark<EvenPlan<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>(3).empty());
  using Home = EvenPlan<Pipeline<Stage<Square, On<0>>, Stage<Repeat<2, Square>, On<1>>, Stage<Square, On<0>>, OneFOneB, Microbatches<4>>>;
  CHECK(remark<Home>(3).empty());  // a device counts with all its stages
}

TEST_CASE("A03: Balanced is no remedy for a plan that uses it, nor where its cut is hardly better") {
  using Used = Trained<Mnist, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;
  CHECK(remark<Used>(3) ==
        "[heddle.A03] stages are out of balance: stage 0 has 156,900 flops a row, stage 1 has 3120, so the 2 stages wait for the slowest 49 % of the "
        "time, and Balanced<2> finds no better cut. Fix: use fewer stages, or smaller layers than layer 0 'linear1' Linear<784, 50>.");
  using Named = EvenPlan<Pipeline<Stage<Repeat<2, Square>>, Stage<Square>, Stage<Square>, OneFOneB, Microbatches<4>>>;
  CHECK(remark<Named>(3).find("; the slowest of Balanced<3> has 41,216. Fix: use fewer stages, or smaller layers than layer 1 '1' Linear<64, 64>") !=
        std::string::npos);
  // What runs again counts as work of a stage, but is no reason to cut elsewhere.
  using Again = EvenPlan<Pipeline<Stage<Square>, Stage<Repeat<3, Square>>, OneFOneB, Microbatches<4>>, 64, Recompute<EveryBlock>>;
  CHECK(remark<Again>(3).find("the slowest of Balanced<2> has 49,408. Fix: give stage 1 fewer layers, or name Balanced<2>.") != std::string::npos);
}

TEST_CASE("A04 says the idle share of the stages as they are; waiting for a slow stage alone is for A03") {
  using Thirds = EvenPlan<Pipeline<Stage<Repeat<2, Square>>, Stage<Square>, Stage<Square>, GPipe, Microbatches<2>, FewMicrobatches>>;
  CHECK(remark<Thirds>(4).find("leave stages idle " + std::to_string(bubble_percent(training_of<Thirds>())) + " % of a step") != std::string::npos);
  CHECK(bubble_percent(training_of<Thirds>()) > 100 * 2 / (2 + 2));                                                  // equal stages: (S-1)/(M+S-1)
  using Waits = EvenPlan<Pipeline<Stage<Repeat<2, Square>>, Stage<Square>, Stage<Square>, GPipe, Microbatches<4>>>;  // idle 43 %, waiting 26 %
  CHECK(remark<Waits>(4, {.imbalance_percent = 26, .bubble_percent = 40}).empty());
  CHECK_FALSE(remark<Waits>(4, {.imbalance_percent = 27, .bubble_percent = 40}).empty());
  struct Slow : Sequential<Linear<64, 640>, Linear<640, 640>, Linear<640, 10>> {};
  using Many = Trained<Slow, Pipeline<Balanced<3>, OneFOneB, Microbatches<16>>>;
  CHECK(bubble_percent(training_of<Many>()) > 50);
  CHECK(remark<Many>(4).empty());
  CHECK_FALSE(remark<Many>(3).empty());
}

TEST_CASE("A04: fewer micro-batches than stages, or no order at all") {
  CHECK(remark<EvenPlan<Pipeline<Balanced<4>>>>(4) ==
        "[heddle.A04] without an order micro-batches pass the 4 stages one at a time, so stages are idle 75 % of a step. "
        "Fix: name OneFOneB and Microbatches<4> or more.");
  CHECK(remark<EvenPlan<Pipeline<Balanced<4>, GPipe, Microbatches<3>, FewMicrobatches>>>(4) ==
        "[heddle.A04] 3 micro-batches under GPipe over 4 stages leave stages idle 51 % of a step. Fix: name Microbatches<4> or more.");
  CHECK(remark<EvenPlan<Pipeline<Balanced<4>, GPipe, Microbatches<4>>>>(4).empty());
  CHECK_FALSE(remark<EvenPlan<Pipeline<Balanced<4>, GPipe, Microbatches<4>>>>(4, {.bubble_percent = 42}).empty());
}

TEST_CASE("A05: an axis of size 1 splits nothing") {
  CHECK(remark<EvenPlan<DataParallel<1>>>(5) ==
        "[heddle.A05] axis data has size 1, so its policy splits nothing. Fix: leave that policy out, or give it a size of 2 or more.");
  using Both = EvenPlan<Hybrid<Pipeline<Balanced<1>>, DataParallel<1>>>;
  CHECK(advice<Both>().count == 2);
}

TEST_CASE("A06: a stage without parameters") {
  using Bare = Trained<Chain, Pipeline<Stage<Sequential<Linear<8, 6>>>, Stage<ReLU>, Stage<Sequential<Part2, Part3>>, OneFOneB, Microbatches<4>>>;
  CHECK(remark<Bare>(6) == "[heddle.A06] stage 1 holds no parameters, only ReLU. Fix: join it with a neighbouring stage.");
  CHECK(remark<Trained<Chain, BackIn<OneFOneB, 4>>>(6).empty());
}

TEST_CASE("A07: one bucket of all gradients overlaps nothing") {
  CHECK(remark<EvenPlan<DataParallel<2>>>(7).empty());  // 66,560 bytes are not worth it
  const AdviceLimits small{.overlap = 48_KiB};          // three layers of four can overlap
  CHECK(
      remark<EvenPlan<DataParallel<2>>>(7, small) ==
      "[heddle.A07] the 66,560 bytes of gradients of stage 0 are one bucket, so their reduction starts after the last backward and overlaps nothing. "
      "Fix: name Bucket<17_KiB> or smaller.");
  CHECK_FALSE(remark<EvenPlan<DataParallel<2>>>(7, {.overlap = Bytes{49'920}}).empty());  // just these
  CHECK(remark<EvenPlan<DataParallel<2>>>(7, {.overlap = Bytes{49'921}}).empty());
  CHECK(remark<EvenPlan<DataParallel<2>, 64, Bucket<17_KiB>>>(7, small).empty());
  CHECK(remark<EvenPlan<Single>>(7, small).empty());                                                           // nothing is reduced
  CHECK(remark<Plan<Square, CrossEntropy, Adam, Batch<64>, DataParallel<2>>>(7, {.overlap = 1_KiB}).empty());  // one layer has nothing to overlap
}

TEST_CASE("A08: padding that is a large share of what is reduced") {
  // Linear<8, 6>: 48 floats in 3 lines and 6 in one; each of the three layers fills 4,096 bytes with 54, 42 and 21 floats.
  using Tiny = Trained<Chain, DataParallel<2>>;
  constexpr Volume moved = traffic<Tiny>().gradients().on(axis::data);
  static_assert(100 * moved.padding().value / moved.total_with_padding.value == 96);
  CHECK(remark<Tiny>(8) ==
        "[heddle.A08] 96 % of the 12,288 bytes of gradients that are reduced are padding, since each layer or block fills a multiple of 4096 "
        "bytes. Fix: use wider layers, or put small ones, or their Repeat, into one OneUnit<...>.");
  CHECK_FALSE(remark<Tiny>(8, {.padding_percent = 96}).empty());
  CHECK(remark<Tiny>(8, {.padding_percent = 97}).empty());
  CHECK(remark<Trained<Chain, Single>>(8).empty());
  CHECK(remark<Trained<Mnist, DataParallel<4>>>(8).empty());  // 4,800 of 163,840 bytes
}

TEST_CASE("A09: chunks in turn that make the idle share hardly less, for more messages and more values in flight") {
  using Little = EvenPlan<Pipeline<Balanced<2>, Interleaved<2>, Microbatches<16>>>;
  CHECK(
      remark<Little>(9) ==
      "[heddle.A09] Interleaved<2> sends 96 messages between stages in a step where OneFOneB would send 32, and keeps 5 passes of a chunk in flight "
      "where it keeps 4, for stages that are idle 10 % of a step instead of 12 % (equal ones 3 instead of 5 %). Fix: use OneFOneB.");
  CHECK(bubble_percent(training_of<Little>()) == 10);
  CHECK(bubble_percent(training_of<EvenPlan<Pipeline<Balanced<2>, OneFOneB, Microbatches<16>>>>()) == 12);
  CHECK(traffic<Little>().activations().messages == 96);
  CHECK(traffic<EvenPlan<Pipeline<Balanced<2>, OneFOneB, Microbatches<16>>>>().activations().messages == 32);
  CHECK(remark<Little>(9, {.interleaving_percent = 2}).empty());
  CHECK(remark<EvenPlan<Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>>>(9).empty());  // 11 % instead of 20 %
  CHECK(remark<EvenPlan<Pipeline<Balanced<2>, Interleaved<1>, Microbatches<16>>>>(9).empty());
  // With a table in front every layer makes a gradient of its input, so stages are equal and the formula is what they are idle.
  struct Equal : Sequential<Input<1>, Embedding<64, 64>, Repeat<8, Linear<64, 64>>> {};
  CHECK(remark<Plan<Equal, CrossEntropy, Adam, Batch<128>, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<16>>>>(9).find(
            "for equal stages that are idle 3 % of a step instead of 5 %. Fix: use OneFOneB.") != std::string::npos);
}

template <int A, int B, int C> static void judge_in_turns() {
  struct Net : Sequential<Linear<20, A>, ReLU, Linear<A, B>, ReLU, Linear<B, C>, ReLU, Linear<C, 10>> {};
  using Turned = Plan<Net, CrossEntropy, Adam, Batch<128>, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>>;
  using Staged = Plan<Net, CrossEntropy, Adam, Batch<128>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;
  CHECK(bubble_percent(training_of<Turned>()) > bubble_percent(training_of<Staged>()));
  CHECK(idle_of_balanced_stages(training_of<Turned>()) == bubble_percent(training_of<Staged>()));
  CHECK_FALSE(remark<Turned>(9).empty());
}

TEST_CASE("A09: chunks of unequal work leave stages idle for longer than OneFOneB would") {
  struct Uneven : Sequential<Linear<20, 500>, ReLU, Linear<500, 500>, ReLU, Linear<500, 500>, ReLU, Linear<500, 10>> {};
  using Turned = Plan<Uneven, CrossEntropy, Adam, Batch<128>, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>>;
  using Staged = Plan<Uneven, CrossEntropy, Adam, Batch<128>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;
  CHECK(remark<Turned>(9) ==
        "[heddle.A09] Interleaved<2> sends 24 messages between stages in a step where OneFOneB would send 8, and keeps 5 passes of a chunk in flight "
        "where it keeps 4, for chunks of unequal work that leave stages idle 24 % of a step, where 2 balanced stages are idle 20 %. Fix: use "
        "OneFOneB.");
  CHECK(bubble_percent(training_of<Turned>()) == 24);
  CHECK(bubble_percent(training_of<Staged>()) == 20);  // the estimate of the remark is what that plan does
  CHECK(remark<Staged>(9).empty());
}

TEST_CASE("A09: what balanced stages would be idle is what such a plan is, also where the first of them is the slowest and hides the second") {
  judge_in_turns<500, 500, 200>();
  judge_in_turns<500, 300, 300>();
  judge_in_turns<800, 400, 300>();
}

TEST_CASE("A10: a layer that every rank of axis tensor runs whole, since the ranks do not divide its heads or features") {
  struct Attends : Sequential<Input<4, 32>, Linear<32, 48>, SelfAttention<Heads<4>, KeyValueHeads<1>>, Linear<32, 64>, ReLU, Linear<64, 32>> {};
  using Split = Plan<Attends, MeanSquaredError, Adam, Batch<8>, TensorParallel<2>>;
  CHECK(
      remark<Split>(10) ==
      "[heddle.A10] layer 2 '2' SelfAttention<Heads<4>, KeyValueHeads<1>> runs whole on each of the 2 ranks of axis tensor, which is 11 % of what a "
      "rank computes, because 2 does not divide its 1 piece that stays whole. Fix: use as many ranks as divide 1: 1, or a layer whose size they "
      "divide.");
  CHECK(remark<Split>(10, {.whole_percent = 12}).empty());
  CHECK(remark<Plan<Attends, MeanSquaredError, Adam, Batch<8>, Single>>(10).empty());
}
