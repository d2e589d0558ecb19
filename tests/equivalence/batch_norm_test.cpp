// SPDX-License-Identifier: MIT
// Models that normalise the rows of a grain together and track what they had: every policy has the bits of one device that has the same grains.
#include <doctest/doctest.h>

#include <cmath>
#include <cstdio>

#include "equivalence/every_policy.hpp"
#include "equivalence/own_channels.hpp"
#include "heddle/run/runner.hpp"

using namespace heddle;

namespace {

struct Inner : Residual<BatchNorm2d<3, Momentum<1, 3>>, GELU, BatchNorm2d<3, Epsilon<3>>> {};
struct Imaged : Sequential<Linear<23, 48>, Unflatten<3, 4, 4>, BatchNorm2d<3>, Repeat<3, Inner>, Flatten, Linear<48, 10>, Unflatten<10, 1, 1>,
                           Named<"last", BatchNorm2d<10>>, Flatten> {};
struct Still : Sequential<Linear<23, 48>, Unflatten<3, 4, 4>, BatchNorm2d<3>, Frozen<BatchNorm2d<3>>, GELU, Flatten, Linear<48, 10>> {};

template <class Model, class... Parts> using Of = Plan<Model, CrossEntropy, AdamW, Batch<32, KeepLast>, Grain<2>, Parts...>;

/// Channels that ranks split.
template <class Norm> struct Maps : Sequential<Input<6, 2, 4>, Linear<4, 8>, own::ByChannels, Norm, GELU, Linear<8, 4>> {};
template <class Model, class... Parts> using OfMaps = Plan<Model, MeanSquaredError, AdamW, Batch<8>, Parts...>;
template <class P> void check_numbers() {
  const auto data = equivalence::rows_of<P>(8);
  const Verification found = verify<P, CpuThreads>(data.batch(0, 8), Seed{3}, 2e-5);
  CHECK(found.text == "");
  CHECK(found.tensors > 8);
}

struct Net : Sequential<Linear<4, 12>, Unflatten<3, 2, 2>, Named<"norm", BatchNorm2d<3>>, Flatten, Linear<12, 2>> {};
template <class... Parts> using OfNet = Plan<Net, CrossEntropy, MomentumSGD, Batch<8>, Parts...>;
const std::vector<float> numbers = [] {
  std::vector<float> all(32);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<float>(i * 37 % 19) / 8;
  return all;
}();
const std::vector<std::int32_t> classes{0, 1, 1, 0, 1, 0, 0, 1};
Examples<std::int32_t> batch() { return examples(numbers, classes, 4); }

}  // namespace

TEST_CASE("norms over grains anywhere in a model have the bits of one device under every policy, and what they track has them") {
  equivalence::check_every_policy<Of, Imaged>();
  using Alone = Of<Imaged, Single>;
  equivalence::check_same_bits_as_data<Of<Imaged, Single, Recompute<BatchNorm2d<3, Epsilon<3>>, GELU>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Imaged, equivalence::TwoStages<OneFOneB>, Recompute<EveryBlock>>, Alone>();
}

TEST_CASE("so they do where batches end early: in the middle of a grain, and with ranks that have no rows") {
  const equivalence::RowCount early = [](int step) { return std::int64_t{step % 2 == 0 ? 32 : 13}; };
  using Alone = Of<Imaged, Single, Bucket<1_MiB>>;
  equivalence::check_same_bits_as_data<Of<Imaged, DataParallel<4>>, Alone>(early);
  equivalence::check_same_bits_as_data<Of<Imaged, Sharded<4>>, Alone>(early);
  equivalence::check_same_bits_as_data<Of<Imaged, equivalence::TwoStages<ZeroBubbleH1>>, Alone>(early);
}

TEST_CASE("so do groups, clipping, a scaled loss and frozen ones") {
  using Clipped = Of<Imaged, Single, Clip<GlobalNorm>, LossScaling, NoDecay<>>;
  equivalence::check_same_bits_as_data<Of<Imaged, DataParallel<4>, Clip<GlobalNorm>, LossScaling, NoDecay<>>, Clipped>();
  equivalence::check_same_bits_as_data<Of<Imaged, Sharded<4>, Clip<GlobalNorm>, LossScaling, NoDecay<>>, Clipped>();
  equivalence::check_same_bits_as_data<Of<Imaged, equivalence::TwoStages<ZeroBubbleH1>, Clip<GlobalNorm>, LossScaling, NoDecay<>>, Clipped>();
  using Alone = Of<Still, Single>;
  equivalence::check_same_bits_as_data<Of<Still, DataParallel<4>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Still, Sharded<2>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Still, equivalence::TwoStages<ZeroBubbleH1>>, Alone>();
}

TEST_CASE("split channels have the numbers of one device, without a collective of their own") {
  using Split = OfMaps<Maps<BatchNorm2d<6>>, TensorParallel<2>>;
  using Without = OfMaps<Maps<LayerNorm<8>>, TensorParallel<2>>;
  static_assert(Split::training.parameters[2].split == laid::shard(0) && Split::training.parameters[5].elements == 3);
  for (const BodyOp moves : {BodyOp::gather_value, BodyOp::reduce_value, BodyOp::scatter_value})
    CHECK(traffic<Split>().value_collectives(0, moves) == traffic<Without>().value_collectives(0, moves));
  check_numbers<Split>();
  check_numbers<OfMaps<Maps<BatchNorm2d<6>>, TensorParallel<3>, Recompute<BatchNorm2d<6>>, Clip<GlobalNorm>>>();
  check_numbers<OfMaps<Maps<BatchNorm2d<6>>, Hybrid<TensorParallel<2>, Sharded<2>>>>();
  const Verification whole = verify<OfNet<TensorParallel<3>>, CpuThreads>(batch(), Seed{3}, 2e-5);
  CHECK(whole.text == "");
  const Verification replicas = verify<OfNet<Hybrid<TensorParallel<3>, DataParallel<2>>>, CpuThreads>(batch(), Seed{3}, 2e-5);
  CHECK(replicas.text == "");
  const Verification clipped = verify<OfNet<DataParallel<4>, Clip<GlobalNorm>>, CpuThreads>(batch(), Seed{3}, 2e-5);
  CHECK(clipped.text == "");
}

TEST_CASE("split sequences split no channels: images lie as they do without") {
  struct Seen : Sequential<Input<6, 8, 8>, BatchNorm2d<6>, Residual<BatchNorm2d<6>, Linear<8, 16>, GELU, Linear<16, 8>>, Tanh, Linear<8, 2>> {};
  using Images = OfMaps<Seen, TensorParallel<2, SequenceParallel>>;
  using Plain = OfMaps<Seen, TensorParallel<2>>;
  static_assert(traffic<Images>().total() == traffic<Plain>().total() && peak_memory<Images>() == peak_memory<Plain>());
  for (int p = 0; p < graph_of<Seen>.parameter_count; ++p) CHECK(Images::training.parameters[p].split == Plain::training.parameters[p].split);
  CHECK(Images::training.parameters[0].split.replicated());
  check_numbers<Images>();
}

TEST_CASE("no optimizer steps what is tracked, and neither norm nor loss scale knows it") {
  using Plain = OfNet<Single, Clip<GlobalNorm>>;
  using Scaled = OfNet<Single, Clip<GlobalNorm>, LossScaling>;
  Trainer<Plain, CpuThreads> still{{.learning_rate = 0, .momentum = 0.9, .weight_decay = 0.5}, Seed{1}};
  Trainer<Scaled, CpuThreads> scaled{{.learning_rate = 0, .momentum = 0.9, .weight_decay = 0.5}, Seed{1}};
  const StepResult result = still.step(batch());
  StepResult other = scaled.step(batch());
  while (other.skipped) other = scaled.step(batch());
  Trainer<OfNet<Single>, CpuThreads> unclipped{{.learning_rate = 0}, Seed{1}};
  unclipped.step(batch());
  double squares = 0;
  for (const std::string& name : unclipped.parameter_names())
    if (name.find("running") == std::string::npos)
      for (const float g : unclipped.gradient(name)) squares += static_cast<double>(g) * static_cast<double>(g);
  CHECK(result.norm.value() == doctest::Approx(std::sqrt(squares)).epsilon(1e-5));
  CHECK(other.norm.value() == doctest::Approx(std::sqrt(squares)).epsilon(1e-4));
  const std::vector<float> sums = unclipped.gradient("norm.running_mean");
  CHECK(still.gradient("norm.running_mean") == sums);
  const std::vector<float> mean = still.parameter("norm.running_mean");
  for (std::size_t c = 0; c < 3; ++c) CHECK(mean[c] == doctest::Approx(0.1 * static_cast<double>(sums[c]) / 32).epsilon(1e-5));
  CHECK(scaled.gradient("norm.running_mean") == sums);
  CHECK(scaled.parameter("norm.running_mean") == mean);
}

TEST_CASE("a step that is skipped folds nothing in, and the one after it counts once") {
  using Scaled = OfNet<DataParallel<2>, LossScaling>;
  Trainer<Scaled, CpuThreads> trainer{{.learning_rate = 1e-2}, Seed{1}};
  const auto start = trainer.parameter("norm.running_mean");
  trainer.set_parameter("norm.weight", std::vector<float>(3, 1e4F));  // what the last layer multiplies its gradient with: it overflows
  trainer.loss_scale().init_scale = 8e37;
  const StepResult first = trainer.step(batch());
  REQUIRE(first.skipped);
  CHECK(trainer.parameter("norm.running_mean") == start);
  CHECK(trainer.parameter("norm.running_var") == std::vector<float>(3, 1.0F));
  StepResult next = first;
  while (next.skipped) next = trainer.step(batch());
  Trainer<OfNet<DataParallel<2>>, CpuThreads> plain{{.learning_rate = 1e-2}, Seed{1}};
  plain.step(batch());
  CHECK(trainer.parameter("norm.running_mean") == plain.parameter("norm.running_mean"));
  CHECK(trainer.parameter("norm.running_var") == plain.parameter("norm.running_var"));
}

TEST_CASE("what was tracked is saved under its name and is what a run that goes on, and a prediction, begin with") {
  using Spread = OfNet<Sharded<2>, Grain<2>>;
  Trainer<Spread, CpuThreads> trainer{{.learning_rate = 1e-2}, Seed{1}};
  for (int step = 0; step < 3; ++step) trainer.step(batch());
  const std::string file = "batch_norm_test.safetensors";
  trainer.save(file);
  Trainer<OfNet<Single, Grain<2>>, CpuThreads> loaded{{.learning_rate = 1e-2}, Seed{2}};
  loaded.load(file);
  CHECK(loaded.parameter("norm.running_var") == trainer.parameter("norm.running_var"));
  CHECK(loaded.evaluate(batch()).outputs == trainer.evaluate(batch()).outputs);
  Runner<Inference<Net, Batch<1>, Single>, CpuThreads> runner;  // rows stand alone in a prediction
  runner.load(file);
  CHECK(runner.predict(numbers) == trainer.evaluate(batch()).outputs);
  std::remove(file.c_str());
}
