// SPDX-License-Identifier: MIT
#include "heddle/cost/simulate.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <type_traits>
#include <vector>

#include "heddle/cost/presets.hpp"
#include "heddle/heddle.hpp"
#include "heddle/plan/read/each_collective.hpp"
#include "plan/gain.hpp"

using namespace heddle;
using heddle::tests::Gain;

namespace {

// Four equal blocks; without bias the backward has exactly twice the flops of the forward. The table has parameters but no arithmetic: every product
// makes a gradient of its input.
template <int Blocks> struct Even : Sequential<Input<1>, Embedding<2, 64>, Repeat<Blocks, Linear<64, 64, NoBias>>> {};
template <class Order, int M> using Staged = Plan<Even<4>, MeanSquaredError, SGD, Batch<64>, Pipeline<Balanced<4>, Order, Microbatches<M>>>;
// Without the table the first product makes no gradient of its input.
struct Bare : Sequential<Repeat<4, Linear<64, 64, NoBias>>> {};
constexpr double product = 2.0 * 64 * 64;
constexpr double bare_flops = (2 + 3 * 3) * product;

}  // namespace

TEST_CASE("equal stages stand idle (p-1)/(m+p-1) of the time under GPipe and 1F1B") {
  CHECK(simulate(lower<Staged<GPipe, 4>>(), Machine{}).bubble() == doctest::Approx(3.0 / 7).epsilon(1e-12));
  CHECK(simulate(lower<Staged<OneFOneB, 8>>(), Machine{}).bubble() == doctest::Approx(3.0 / 11).epsilon(1e-12));
  CHECK(simulate(lower<Staged<OneFOneB, 16>>(), Machine{}).bubble() != doctest::Approx(3.0 / 16).epsilon(1e-3));  // (p-1)/m is another ratio
}

TEST_CASE("interleaved stages stand idle (p-1)/(vm+p-1) of the time, ZB-H1 (p-1)(F+I-W)/(m(F+B) + (p-1)(F+I-W))") {
  using Interleaving = Plan<Even<8>, MeanSquaredError, SGD, Batch<64>, Pipeline<Balanced<4>, Interleaved<2>, Microbatches<8>>>;
  CHECK(simulate(lower<Interleaving>(), Machine{}).bubble() == doctest::Approx(3.0 / (2 * 8 + 3)).epsilon(1e-12));
  CHECK(simulate(lower<Staged<ZeroBubbleH1, 8>>(), Machine{}).bubble() == doctest::Approx(3.0 / (3 * 8 + 3)).epsilon(1e-12));
  CHECK(simulate(lower<Staged<ZeroBubbleH1, 8>>(), Machine{}).bubble() < simulate(lower<Staged<OneFOneB, 8>>(), Machine{}).bubble());
}

TEST_CASE("unequal stages are idle for longer than their number says, and what is not computed takes no time") {
  // Stage 0 runs two products a micro-batch, forward and gradients of parameters; stage 1 a third, the gradient of its input.
  struct Front : Linear<1000, 2000, NoBias> {};
  struct Back : Linear<2000, 1000, NoBias> {};
  struct Mlp : Sequential<Front, Back> {};
  using Two = Plan<Mlp, MeanSquaredError, SGD, Batch<64>, Pipeline<Stage<Front>, Stage<Back>, OneFOneB, Microbatches<4>>>;
  const Estimate estimate = simulate(Two::training, Machine{});
  constexpr double one = 2.0 * 1000 * 2000 * 16;  // a product of a micro-batch
  CHECK(estimate.busy[0].value == 4 * 2 * one);
  CHECK(estimate.busy[1].value == 4 * 3 * one);
  CHECK(estimate.step.value == (4 * 3 + 2) * one);
  CHECK(estimate.bubble() == doctest::Approx(8.0 / 28).epsilon(1e-12));  // 1/5 if both stages had the same to do
}

TEST_CASE("the numbers of docs/tutorials.md: replicas wait for the network, stages for each other, chunks in turn halve the idle time") {
  struct Front : Sequential<Linear<1000, 2000>, ReLU> {};
  struct Back : Sequential<Linear<2000, 1000>> {};
  struct Mlp : Sequential<Front, Back> {};
  constexpr Machine machine{.alpha = 50e-6, .beta = 1e-9, .per_flop = 1e-10, .per_memory_byte = 0.05e-9};
  const auto is = [](const Estimate& e, double milliseconds, double percent) {
    CHECK(std::round(1e4 * e.step.value) / 10 == doctest::Approx(milliseconds));
    CHECK(std::round(1e3 * e.bubble()) / 10 == doctest::Approx(percent));
  };
  const auto estimate = [&]<class Policy, class... Options>(std::type_identity<Policy>, Options...) {
    return simulate(Plan<Mlp, MeanSquaredError, SGD, Batch<64>, Policy, Options...>::training, machine);
  };
  is(estimate(std::type_identity<Single>{}), 130.7, 0);
  is(estimate(std::type_identity<DataParallel<2>>{}), 82.7, 19.5);
  is(estimate(std::type_identity<DataParallel<2>>{}, Bucket<1_MiB>{}), 73.4, 9.4);
  using Staged = Pipeline<Stage<Front>, Stage<Back>, OneFOneB, Microbatches<4>>;
  is(estimate(std::type_identity<Staged>{}), 91.6, 28.7);
  CHECK(std::round(1e3 * simulate(Plan<Mlp, MeanSquaredError, SGD, Batch<64>, Staged>::training, Machine{}).bubble()) == 286);

  struct Deep : Sequential<Input<1>, Named<"table", Embedding<64, 64>>, Repeat<8, Linear<64, 64>>> {};
  const auto idle = []<class Order>(std::type_identity<Order>) {
    return simulate(Plan<Deep, CrossEntropy, Adam, Batch<64>, Pipeline<Balanced<4>, Order, Microbatches<8>>>::training, Machine{});
  };
  const Estimate once = idle(std::type_identity<OneFOneB>{});
  const Estimate twice = idle(std::type_identity<Interleaved<2>>{});
  CHECK(once.idle[0].value == 1'185'792);
  CHECK(twice.idle[0].value == 592'896);
  CHECK(std::round(1e3 * once.bubble()) == 273);
  CHECK(std::round(1e3 * twice.bubble()) == 158);
}

TEST_CASE("an all-reduce of a split backward starts after the weight part that completes its bucket") {
  using Split = Plan<Bare, MeanSquaredError, SGD, Batch<64>, Hybrid<Pipeline<Balanced<1>, ZeroBubbleH1, Microbatches<1>>, DataParallel<4>>>;
  using Whole = Plan<Bare, MeanSquaredError, SGD, Batch<64>, DataParallel<4>>;
  const Machine machine{0.25, 1e-6, 1e-9};
  CHECK(simulate(lower<Split>(), machine).step.value == doctest::Approx(simulate(lower<Whole>(), machine).step.value).epsilon(1e-12));
}

TEST_CASE("units that are kept are gathered for the first micro-batch alone") {
  using Dropped = Plan<Bare, MeanSquaredError, SGD, Batch<64>, Sharded<4>, Accumulate<4>>;
  using Kept = Plan<Bare, MeanSquaredError, SGD, Batch<64>, Sharded<4, Keep::Step>, Accumulate<4>>;
  const Machine machine{0.25, 0, 0};  // the wire alone: three messages a unit, four units; four reductions of slices
  CHECK(simulate(lower<Dropped>(), machine).step.value == doctest::Approx(4 * 3 * 0.25 * (2 * 4 + 4)));
  CHECK(simulate(lower<Kept>(), machine).step.value == doctest::Approx(4 * 3 * 0.25 * (1 + 4)));
}

TEST_CASE("frozen units take their time on the wire beside trained ones, for the forward and where a gradient passes") {
  struct Tail : Sequential<Linear<64, 64, NoBias>, Frozen<Repeat<3, Linear<64, 64, NoBias>>>> {};
  struct Front : Sequential<Frozen<Repeat<3, Linear<64, 64, NoBias>>>, Linear<64, 64, NoBias>> {};
  using Passes = Plan<Tail, MeanSquaredError, SGD, Batch<64>, Sharded<4>>;
  using Stops = Plan<Front, MeanSquaredError, SGD, Batch<64>, Sharded<4>>;
  const auto gathers = [](const Program& p) {
    int count = 0;
    each_collective(p, [&](int, const Collective& c, std::int64_t) { count += c.sums() ? 0 : 1; });
    return count;
  };
  CHECK(gathers(lower<Passes>()) == 8);
  CHECK(gathers(lower<Stops>()) == 5);
  const Machine machine{0.25, 0, 0};  // the wire alone: three messages a unit, of which one is reduced
  CHECK(simulate(lower<Passes>(), machine).step.value == doctest::Approx(3 * 0.25 * (8 + 1)));
  CHECK(simulate(lower<Stops>(), machine).step.value == doctest::Approx(3 * 0.25 * (5 + 1)));
}

TEST_CASE("one device is never idle and takes its flops") {
  using Alone = Plan<Bare, MeanSquaredError, SGD, Batch<64>, Single>;
  const Estimate estimate = simulate(lower<Alone>(), Machine{0, 0, 1e-9});
  CHECK(estimate.bubble() == 0);
  CHECK(estimate.step.value == doctest::Approx(64 * bare_flops * 1e-9));
}

TEST_CASE("latency is paid once per boundary, micro-batch and direction where nothing hides it") {
  using Two = Plan<Bare, MeanSquaredError, SGD, Batch<64>, Pipeline<Balanced<2>>>;  // sequential: one value there, one back
  const double free = simulate(lower<Two>(), Machine{0, 0, 1e-9}).step.value;
  CHECK(simulate(lower<Two>(), Machine{0.5, 0, 1e-9}).step.value == doctest::Approx(free + 2 * 0.5));
  CHECK(simulate(lower<Two>(), Machine{0, 1e-3, 1e-9}).step.value == doctest::Approx(free + 2 * 64 * 64 * 4 * 1e-3));
}

TEST_CASE("an all-reduce costs a ring and starts after the backward that completes its bucket") {
  using Spread = Plan<Bare, MeanSquaredError, SGD, Batch<64>, DataParallel<4>>;
  const double work = 16 * bare_flops * 1e-9;
  const double bytes = 4.0 * 4 * 64 * 64;
  CHECK(simulate(lower<Spread>(), Machine{0.25, 1e-6, 1e-9}).step.value == doctest::Approx(work + 2 * 3 * 0.25 + 2 * bytes * 3 / 4 * 1e-6));
}

namespace {

/// With one second a byte, and everything else free, each role sends as long as its ranks send bytes.
template <class P> void sends_what_the_ledger_says() {
  const Traffic moved = traffic<P>();
  const Estimate estimate = simulate(P::training, Machine{0, 1, 0});
  std::vector<double> wanted(static_cast<std::size_t>(P::training.roles));
  for (int r = 0; r < devices<P>; ++r) {
    const Bytes sent = moved.sent_in_collectives(Rank{r}) + moved.sent_in_values(Rank{r}) + moved.sent_to_peers(Rank{r}) +
                       moved.sent_in_norm(Rank{r}) + moved.sent_in_phases(Rank{r});
    wanted[static_cast<std::size_t>(P::training.mesh.coordinate(Rank{r}, axis::stage))] += static_cast<double>(sent.value);
  }
  const int copies = devices<P> / P::training.roles;
  for (std::size_t role = 0; role < wanted.size(); ++role) {
    CAPTURE(role);
    CHECK(estimate.sending[role].value * copies == doctest::Approx(wanted[role]).epsilon(1e-12));
  }
  if (wanted.size() == 1 && P::training.mesh.count == 1) CHECK(estimate.step.value == estimate.sending[0].value);  // nothing runs beside it
}

struct Odd : Sequential<Linear<6, 6>, Residual<Linear<6, 10>, ReLU, Gain, Linear<10, 6>>, Linear<6, 6>> {};
struct Language : Sequential<Input<4>, Named<"table", Embedding<12, 8>>, Linear<8, 8>, Tied<"head", Linear<8, 12, NoBias>, To<"table">>> {};
template <class... Parts> using OddOf = Plan<Odd, MeanSquaredError, SGD, Batch<24>, Parts...>;

}  // namespace

TEST_CASE("what is sent on an unhurried machine is what the ledger counts: batch and slices") {
  sends_what_the_ledger_says<OddOf<Single>>();
  sends_what_the_ledger_says<OddOf<DataParallel<4>, Bucket<64_B>, Clip<GlobalNorm>>>();
  sends_what_the_ledger_says<OddOf<WeightedDataParallel<1, 2>>>();
  sends_what_the_ledger_says<OddOf<Sharded<4, OptimizerState>, Clip<GlobalNorm>, LossScaling>>();
  sends_what_the_ledger_says<OddOf<Sharded<4>, Accumulate<2>, Recompute<ReLU>>>();
  sends_what_the_ledger_says<OddOf<Hybrid<Sharded<2, Keep::Step>, DataParallel<2>>, Accumulate<3>, Clip<GlobalNorm>>>();
}

TEST_CASE("what is sent on an unhurried machine is what the ledger counts: between phases") {
  struct Images : Sequential<Linear<6, 12>, Unflatten<3, 2, 2>, BatchNorm2d<3, Synchronised>, Flatten, Linear<12, 6>> {};
  using Spread = Plan<Images, MeanSquaredError, SGD, Batch<16>, Hybrid<Sharded<2>, DataParallel<2>>, Accumulate<2>, Grain<1>>;
  static_assert(traffic<Spread>().phases().messages > 0);
  sends_what_the_ledger_says<Spread>();
}

TEST_CASE("what is sent on an unhurried machine is what the ledger counts: parts of layers") {
  using Gained = OddOf<TensorParallel<2>, Accumulate<2>, Clip<GlobalNorm>>;
  static_assert(traffic<Gained>().value_collectives(0, BodyOp::reduce_parameter) > 0);
  sends_what_the_ledger_says<Gained>();
  sends_what_the_ledger_says<OddOf<Hybrid<TensorParallel<2>, Sharded<2, Gradients>>>>();
  sends_what_the_ledger_says<Plan<Language, CrossEntropy, Adam, Batch<8>, Hybrid<TensorParallel<2, SequenceParallel>, DataParallel<2>>>>();
}

TEST_CASE("what is sent on an unhurried machine is what the ledger counts: stages, and a norm over all of them") {
  sends_what_the_ledger_says<OddOf<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, LossScaling>>();
  sends_what_the_ledger_says<
      OddOf<Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, DataParallel<2>>, Clip<GlobalNorm>>>();
  sends_what_the_ledger_says<Plan<Language, CrossEntropy, Adam, Batch<8>, Hybrid<Pipeline<Balanced<2>, GPipe, Microbatches<2>>, Sharded<2>>>>();
  sends_what_the_ledger_says<Plan<Even<8>, MeanSquaredError, SGD, Batch<16>, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>>>();
}

namespace {

template <class... Parts> using BareOf = Plan<Bare, MeanSquaredError, SGD, Batch<64>, Parts...>;

}  // namespace

TEST_CASE("the bubble and the step of small plans are constants") {
  static_assert(bubble<Staged<OneFOneB, 8>>(Machine{}) < 0.28 && bubble<Staged<OneFOneB, 8>>(Machine{}) > 0.27);
  static_assert(bubble<Staged<ZeroBubbleH1, 8>>(Machine{}) < 0.12 && bubble<BareOf<Single>>(Machine{}) == 0);
  static_assert(step_seconds<BareOf<Single>>(Machine{0, 0, 1}) == 64 * bare_flops);
  static_assert(bubble<BareOf<DataParallel<4>>>(with_speed(Machine{}, 0, 0, 0.5)) > 0.3);
  CHECK(bubble<Staged<OneFOneB, 8>>(Machine{1, 0, 1e-3}) ==
        doctest::Approx(simulate(Staged<OneFOneB, 8>::training, Machine{1, 0, 1e-3}).bubble()).epsilon(1e-12));
  CHECK(std::isnan(bubble<BareOf<Single>>(Machine{-1})));
  CHECK(std::isnan(step_seconds<BareOf<Single>>(Machine{.devices = -1})));
}

TEST_CASE("a machine that cannot be gives no number, and says why") {
  const Estimate refused = simulate(BareOf<DataParallel<4>>::training, Machine{.devices = 2});
  CHECK(refused.fault.code == Code{'M', 17});
  CHECK(std::isnan(refused.step.value));
  CHECK(simulate(BareOf<Single>::training, Machine{.beta = -1}).fault.code == Code{'M', 16});
}

TEST_CASE("all wait for a straggler: four replicas of which one has half the speed take twice as long and idle 3/8 of the time") {
  const Machine even{0, 0, 1e-9};
  const Machine slow = with_speed(even, 2, 2, 0.5);
  const Estimate estimate = simulate(BareOf<DataParallel<4>>::training, slow);
  CHECK(estimate.by_rank);
  REQUIRE(estimate.busy.size() == 4);
  CHECK(estimate.step.value == doctest::Approx(2 * simulate(BareOf<DataParallel<4>>::training, even).step.value).epsilon(1e-12));
  CHECK(estimate.idle[2].value == 0);
  CHECK(estimate.idle[0].value == doctest::Approx(estimate.step.value / 2).epsilon(1e-12));
  CHECK(estimate.bubble() == doctest::Approx(3.0 / 8).epsilon(1e-12));
}

TEST_CASE("shares that fit the speeds recover what a straggler costs, and shares on equal devices cost what they are unequal") {
  const Machine slow = with_speed(Machine{0, 0, 1e-9}, 1, 1, 1.0 / 3);
  const double even = simulate(BareOf<DataParallel<2>>::training, slow).step.value;
  const double fitted = simulate(BareOf<WeightedDataParallel<3, 1>>::training, slow).step.value;
  CHECK(even == doctest::Approx(32 * 3 * bare_flops * 1e-9));
  CHECK(fitted == doctest::Approx(48 * bare_flops * 1e-9));  // both take 48 rows' time: 48 at full speed, 16 at a third
  CHECK(simulate(BareOf<WeightedDataParallel<3, 1>>::training, slow).bubble() == doctest::Approx(0).epsilon(1e-12));
  const Machine nearly = with_speed(Machine{0, 0, 1e-9}, 0, 0, 0.999999);
  CHECK(simulate(BareOf<WeightedDataParallel<3, 1>>::training, nearly).bubble() == doctest::Approx(1.0 / 3).epsilon(1e-5));
}

TEST_CASE("a straggler in a pipeline is a slow stage") {
  using P = Staged<OneFOneB, 8>;
  const Estimate estimate = simulate(P::training, with_speed(Machine{}, 1, 1, 0.5));
  CHECK(estimate.busy[1].value == 2 * estimate.busy[0].value);
  CHECK(estimate.step.value > 1.4 * simulate(P::training, Machine{}).step.value);
}

TEST_CASE("an axis inside a node is faster than one that crosses nodes: the tensor axis goes innermost") {
  constexpr Machine nodes{.alpha = 1e-4, .beta = 1e-8, .per_flop = 1e-12, .levels = {{2, 1e-6, 1e-10}}};
  using Inside = OddOf<Hybrid<TensorParallel<2>, DataParallel<2>>>;
  using Outside = OddOf<Hybrid<DataParallel<2>, TensorParallel<2>>>;
  const Estimate inside = simulate(Inside::training, nodes), outside = simulate(Outside::training, nodes);
  CHECK(3 * inside.step.value < 2 * outside.step.value);
  REQUIRE(inside.levels.size() == 2);
  const auto moved = [](const Traffic& of) { return of.values().total_with_padding; };
  CHECK(inside.levels[0] == moved(traffic<Inside>()));
  CHECK(outside.levels[1] == moved(traffic<Outside>()));
  const Machine flat{.alpha = 1e-4, .beta = 1e-8, .per_flop = 1e-12};
  CHECK(simulate(Inside::training, flat).step.value == doctest::Approx(simulate(Outside::training, flat).step.value).epsilon(1e-12));
}

TEST_CASE("messages between stages take the link of the level that both ranks share, and by role the slowest of all replicas") {
  using P = BareOf<Pipeline<Balanced<4>>>;
  constexpr Machine nodes{.alpha = 100, .per_flop = 0, .levels = {{2, 1, 0}}};
  // Ranks 0 1 | 2 3: two boundaries inside nodes, one between them.
  CHECK(simulate(P::training, nodes).step.value == 2 * (1 + 100 + 1));
  CHECK(simulate(P::training, with_speed(nodes, 0, 0, 0.5)).step.value == 2 * (1 + 100 + 1));
}

TEST_CASE("reductions of buckets run beside the backward; one bucket runs after it") {
  using Early = BareOf<DataParallel<2>, Bucket<16_KiB>>;
  using Late = BareOf<DataParallel<2>>;
  constexpr double bytes = 4 * 64 * 64;                                         // of a layer
  constexpr double layer = 32 * 2 * product;                                    // its backward: 32 rows, both gradients
  const Machine machine{.beta = 0.5 * layer * 1e-9 / bytes, .per_flop = 1e-9};  // a layer's reduction takes half of a layer's backward
  const double work = 32 * bare_flops * 1e-9;
  CHECK(simulate(Late::training, machine).step.value == doctest::Approx(work + 4 * 0.5 * layer * 1e-9).epsilon(1e-9));
  CHECK(simulate(Early::training, machine).step.value == doctest::Approx(work + 0.5 * layer * 1e-9).epsilon(1e-9));  // the last bucket alone
}

TEST_CASE("an update takes its memory, however few rows there are, and clipping reads the gradients once more") {
  constexpr Machine machine{.per_flop = 0, .per_memory_byte = 1};
  const auto update = [&](const Program& p) { return simulate(p, machine).step.value; };
  using Sgd = Plan<Bare, MeanSquaredError, SGD, Batch<1>, Single>;
  using Adams = Plan<Bare, MeanSquaredError, Adam, Batch<1>, Single>;
  using Clipped = Plan<Bare, MeanSquaredError, Adam, Batch<1>, Single, Clip<GlobalNorm>>;
  constexpr double elements = 4 * 64 * 64;
  CHECK(update(Adams::training) - update(Sgd::training) == 4 * 4 * elements);
  CHECK(update(Clipped::training) - update(Adams::training) == 4 * elements);
  CHECK(simulate(Sgd::training, Machine{}).step.value == bare_flops);  // free where memory is
}

TEST_CASE("the toy's sender waits for the acknowledgement, its receiver does not") {
  using Two = BareOf<Pipeline<Balanced<2>>>;
  Machine toy{.alpha = 0.05, .per_flop = 0, .acknowledgement = 0.05};
  CHECK(step_seconds<Two>(toy) == doctest::Approx(0.05 + 0.05 + 0.05));  // there, back, and the last sender hears of it
}

TEST_CASE("16,384 devices that are alike are as many devices as they have roles") {
  using Wide = Plan<Even<8>, MeanSquaredError, SGD, Batch<2048 * 8>,
                    Hybrid<TensorParallel<2>, Pipeline<Balanced<4>, OneFOneB, Microbatches<8>>, DataParallel<2048>>>;
  static_assert(devices<Wide> == 16'384);
  const Estimate estimate = simulate(Wide::training, h100_nodes());
  CHECK(estimate.busy.size() == 4);
  CHECK(estimate.step.value > 0);
}
