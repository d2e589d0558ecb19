// SPDX-License-Identifier: MIT
// Models whose ranks tell each other of the rows of a micro-batch: every policy has the bits of the plans whose micro-batches have the same rows.
#include <doctest/doctest.h>

#include <cmath>
#include <string>
#include <vector>

#include "equivalence/every_policy.hpp"
#include "equivalence/own_channels.hpp"
#include "heddle/run/verify.hpp"

using namespace heddle;

namespace {

struct Inner : Residual<BatchNorm2d<3, Synchronised, Momentum<1, 3>>, GELU, BatchNorm2d<3, Epsilon<3>, Synchronised>> {};
struct Imaged : Sequential<Linear<23, 48>, Unflatten<3, 4, 4>, BatchNorm2d<3, Synchronised>, Repeat<2, Inner>, Flatten, Linear<48, 10>,
                           Unflatten<10, 1, 1>, Named<"last", BatchNorm2d<10, Synchronised>>, Flatten> {};
struct Still : Sequential<Linear<23, 48>, Unflatten<3, 4, 4>, BatchNorm2d<3, Synchronised>, Frozen<BatchNorm2d<3, Synchronised>>, GELU, Flatten,
                          Linear<48, 10>> {};
struct Blended : Sequential<Linear<23, 48>, Unflatten<3, 4, 4>, BatchNorm2d<3>, GELU, BatchNorm2d<3, Synchronised>, Flatten, Linear<48, 10>> {};

template <class Model, class... Parts> using Of = Plan<Model, CrossEntropy, AdamW, Batch<32, KeepLast>, Grain<2>, Parts...>;
template <class... Parts> using Synced = Of<Imaged, Parts...>;
using equivalence::check_same_bits, equivalence::check_same_bits_as_data, equivalence::check_same_run, equivalence::train, equivalence::TwoStages;

/// The same of a reference of several ranks.
template <class P, class Reference> void check_same_as(equivalence::RowCount count = &equivalence::whole_batch<Reference>) {
  static_assert(same_bits<P, Reference>());
  CAPTURE(devices<P>);
  check_same_run(train<P>(count), train<Reference>(count), P::training.batch.ranks);
}
constexpr equivalence::RowCount early = [](int step) { return std::int64_t{step % 2 == 0 ? 32 : 13}; };

/// Images of one pixel, so that rows alone are values.
struct Pixels : Sequential<Linear<4, 3>, Unflatten<3, 1, 1>, Named<"norm", BatchNorm2d<3, Synchronised>>, Flatten, Linear<3, 2>> {};
template <class... Parts> using OfPixels = Plan<Pixels, CrossEntropy, SGD, Batch<8, KeepLast>, Parts...>;
std::vector<float> numbers(std::size_t count) {
  std::vector<float> all(count);
  for (std::size_t i = 0; i < count; ++i) all[i] = static_cast<float>(i * 37 % 19) / 8;
  return all;
}

}  // namespace

TEST_CASE("with one micro-batch every policy has the bits of one device that has the same grains, whatever splits the batch") {
  using Alone = Synced<Single>;
  check_same_bits<Synced<DataParallel<2>>, Alone>();
  check_same_bits_as_data<Synced<DataParallel<4>, Bucket<64_B>>, Alone>();
  check_same_bits_as_data<Synced<DataParallel<16>>, Alone>();
  check_same_bits_as_data<Synced<Sharded<4, OptimizerState>>, Alone>();
  check_same_bits_as_data<Synced<Sharded<2, heddle::Gradients>>, Alone>();
  check_same_bits_as_data<Synced<Sharded<4>>, Alone>();
  check_same_bits_as_data<Synced<Sharded<2, Keep::Step>>, Alone>();
  check_same_bits_as_data<Synced<Hybrid<Sharded<2, heddle::Gradients>, DataParallel<2>>>, Alone>();
  check_same_bits_as_data<Synced<Hybrid<DataParallel<2>, Sharded<4>>>, Alone>();
  check_same_bits_as_data<Of<Blended, Sharded<4>>, Of<Blended, Single>>();
}

TEST_CASE("where nothing splits the batch, stages have the bits of one device that accumulates the same micro-batches") {
  using Alone = Synced<Single, Accumulate<4>>;
  check_same_bits_as_data<Synced<TwoStages<GPipe>>, Alone>();
  check_same_bits_as_data<Synced<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>, Alone>();
  check_same_bits_as_data<Synced<TwoStages<Interleaved<2>>>, Alone>();
  check_same_bits_as_data<Synced<TwoStages<ZeroBubbleH1>>, Alone>();
  check_same_bits_as_data<Synced<Single, Accumulate<4>, Recompute<BatchNorm2d<3, Epsilon<3>, Synchronised>, GELU>>, Alone>();
}

TEST_CASE("ranks that split the batch and make several micro-batches have those of others that do: slices, stages, what runs again") {
  using Two = Synced<DataParallel<2>, Accumulate<4>>;
  check_same_as<Synced<Hybrid<TwoStages<OneFOneB>, DataParallel<2>>>, Two>();
  check_same_as<Synced<Hybrid<TwoStages<ZeroBubbleH1>, Sharded<2>>, Recompute<EveryBlock>>, Two>();
  check_same_as<Synced<Sharded<2, heddle::Gradients>, Accumulate<2>>, Synced<DataParallel<2>, Accumulate<2>>>();
}

TEST_CASE("so they have where batches end early: in the middle of a grain, and with ranks that have no rows") {
  using Alone = Synced<Single, Bucket<1_MiB>>;
  check_same_bits_as_data<Synced<DataParallel<4>>, Alone>(early);
  check_same_bits_as_data<Synced<Sharded<4>>, Alone>(early);
  check_same_bits_as_data<Synced<Hybrid<Sharded<2>, DataParallel<2>>, Recompute<EveryBlock>>, Alone>(early);
  check_same_as<Synced<TwoStages<ZeroBubbleH1>>, Synced<Single, Accumulate<4>, Bucket<1_MiB>>>(early);
}

TEST_CASE("so do groups, clipping, a scaled loss and frozen ones, which take what was tracked") {
  using Clipped = Synced<Single, Clip<GlobalNorm>, LossScaling, NoDecay<>>;
  check_same_bits_as_data<Synced<DataParallel<4>, Clip<GlobalNorm>, LossScaling, NoDecay<>>, Clipped>();
  check_same_bits_as_data<Synced<Sharded<4>, Clip<GlobalNorm>, LossScaling, NoDecay<>>, Clipped>();
  using Alone = Of<Still, Single>;
  check_same_bits_as_data<Of<Still, DataParallel<4>>, Alone>();
  check_same_bits_as_data<Of<Still, Sharded<2>>, Alone>();
  check_same_as<Of<Still, TwoStages<ZeroBubbleH1>>, Of<Still, Single, Accumulate<4>>>();
}

TEST_CASE("split channels have the numbers of one device, beside replicas and slices too") {
  const auto check = []<class P>(const P*) {
    const auto data = equivalence::rows_of<P>(32);
    const Verification found = verify<P, CpuThreads>(data.batch(0, 32), Seed{3}, 2e-5);
    CHECK(found.text == "");
    CHECK(found.tensors > 8);
  };
  struct Maps : Sequential<Input<6, 2, 4>, Linear<4, 8>, own::ByChannels, BatchNorm2d<6, Synchronised>, GELU, Linear<8, 4>> {};
  check(static_cast<Plan<Maps, MeanSquaredError, AdamW, Batch<32>, Hybrid<TensorParallel<2>, Sharded<2>>>*>(nullptr));
  check(static_cast<
        Plan<Maps, MeanSquaredError, AdamW, Batch<32>, Hybrid<TensorParallel<3>, DataParallel<2>>, Recompute<BatchNorm2d<6, Synchronised>>>*>(
      nullptr));
  check(static_cast<Plan<Still, CrossEntropy, AdamW, Batch<32>, Hybrid<TensorParallel<2>, DataParallel<4>>>*>(nullptr));
  check(static_cast<Plan<Still, CrossEntropy, AdamW, Batch<32, KeepLast>, WeightedDataParallel<3, 1>>*>(nullptr));
  check(static_cast<Plan<Still, CrossEntropy, AdamW, Batch<32, KeepLast>, TwoStages<ZeroBubbleH1>>*>(nullptr));
}

TEST_CASE("a rank with half of the rows knows all of them: without Synchronised the same plan has other numbers") {
  const auto x = numbers(32);
  const std::vector<std::int32_t> y{0, 1, 1, 0, 1, 0, 0, 1};
  struct Apart : Sequential<Linear<4, 3>, Unflatten<3, 1, 1>, Named<"norm", BatchNorm2d<3>>, Flatten, Linear<3, 2>> {};
  Trainer<OfPixels<DataParallel<2>>, CpuThreads> joint{{}, Seed{1}};
  Trainer<OfPixels<Single>, CpuThreads> alone{{}, Seed{1}};
  Trainer<Plan<Apart, CrossEntropy, SGD, Batch<8, KeepLast>, DataParallel<2>>, CpuThreads> apart{{}, Seed{1}};
  joint.step(examples(x, y, 4));
  alone.step(examples(x, y, 4));
  apart.step(examples(x, y, 4));
  const std::vector<float> got = joint.parameter("norm.running_var"), wanted = alone.parameter("norm.running_var");
  for (std::size_t c = 0; c < 3; ++c) {
    CHECK(got[c] == doctest::Approx(wanted[c]).epsilon(1e-6));
    CHECK(std::fabs(apart.parameter("norm.running_var")[c] - wanted[c]) > 1e-3F);
  }
}

TEST_CASE("one row on one of two ranks is a mean but no variance, and two rows on two ranks are both") {
  const auto x = numbers(8);
  const std::vector<std::int32_t> y{0, 1};
  const std::vector<float> ones(3, 1.0F), zeros(3, 0.0F);
  Trainer<OfPixels<DataParallel<2>>, CpuThreads> one{{.learning_rate = 0}, Seed{1}};
  one.step(examples(std::vector<float>(x.begin(), x.begin() + 4), std::vector<std::int32_t>{0}, 4));
  CHECK(one.parameter("norm.running_mean") != zeros);
  CHECK(one.parameter("norm.running_var") == ones);
  Trainer<OfPixels<DataParallel<8>>, CpuThreads> two{{.learning_rate = 0}, Seed{1}};  // each of two ranks has one, six have none
  two.step(examples(x, y, 4));
  Trainer<OfPixels<Single>, CpuThreads> alone{{.learning_rate = 0}, Seed{1}};
  alone.step(examples(x, y, 4));
  CHECK(two.parameter("norm.running_mean") != zeros);
  CHECK(two.parameter("norm.running_var") != ones);
  for (std::size_t c = 0; c < 3; ++c) {
    CHECK(two.parameter("norm.running_mean")[c] == doctest::Approx(alone.parameter("norm.running_mean")[c]).epsilon(1e-6));
    CHECK(two.parameter("norm.running_var")[c] == doctest::Approx(alone.parameter("norm.running_var")[c]).epsilon(1e-6));
  }
}

TEST_CASE("where the rows of a micro-batch are others the bits are, and that is said with what would make them the same") {
  const auto why = []<class A, class B>(const A*, const B*) { return std::string{same_bits<A, B>().text.view()}; };
  const auto of = []<class P>(std::type_identity<P>) { return static_cast<const P*>(nullptr); };
  CHECK(why(of(std::type_identity<Synced<Single, Accumulate<2>>>{}), of(std::type_identity<Synced<Single>>{})) ==
        "[heddle.B12] the plans do not end with the same bits: layer 2 '2' BatchNorm2d<3, Synchronised> normalises the rows of a micro-batch of all "
        "ranks "
        "together, and they make 2 and 1 micro-batches of a batch. Fix: make as many in both.");
  CHECK(why(of(std::type_identity<Synced<DataParallel<2>, Accumulate<2>>>{}), of(std::type_identity<Synced<Single, Accumulate<2>>>{})) ==
        "[heddle.B12] the plans do not end with the same bits: layer 2 '2' BatchNorm2d<3, Synchronised> normalises the rows of a micro-batch of all "
        "ranks "
        "together, and a micro-batch of 2 ranks has other rows than one of 1. Fix: let as many ranks split the batch in both, or make one "
        "micro-batch in "
        "both.");
  static_assert(same_bits<Of<Still, Single, Accumulate<2>>, Of<Still, Single, Accumulate<2>, Bucket<64_B>>>());
}
