// SPDX-License-Identifier: MIT
#include <limits>

#include "equivalence/training_properties.hpp"

using namespace equivalence;

// An overflow under the scaled loss, on one rank only, is skipped by all (Megatron-Bridge PR #5591, pytorch PR #115710, Neuron_SP #2).
namespace {

template <class... Options> using Of = Plan<Mlp, CrossEntropy, Adam, Batch<32>, Grain<4>, LossScaling, Options...>;

/// Where the gradient of one row overflows, and nothing else. Feature 7 is 0 in all other rows.
enum class Where { first_layer, last_layer };

/// No output depends on feature 7, but for `last_layer` hidden unit 3 does, which no output reads.
template <class ThePlan> void prepare(Trainer<ThePlan, CpuThreads>& trainer, Where place) {
  std::vector<float> first = trainer.parameter("linear1.weight");  // (17, 23)
  std::vector<float> last = trainer.parameter("linear2.weight");   // (10, 17)
  for (std::size_t i = 0; i < 17; ++i) first[i * 23 + 7] = 0;
  if (place == Where::last_layer) {
    for (std::size_t j = 0; j < 23; ++j) first[3 * 23 + j] = j == 7 ? 1.0F : 0.0F;
    for (std::size_t k = 0; k < 10; ++k) last[k * 17 + 3] = 0;
  }
  trainer.set_parameter("linear1.weight", first);
  trainer.set_parameter("linear2.weight", last);
}

/// What a trainer says of six steps, the second of which has a row that overflows until the scale is small.
struct Story {
  std::vector<bool> skipped;
  std::vector<float> scales;
  std::vector<std::int64_t> steps;
  std::vector<float> losses;
  std::vector<std::uint64_t> hashes;  // after each
};

/// All rows, and those with the bad one in place of row 32 + `row`: gradients of it are about 1e37 / 1000 times the scale.
template <class ThePlan> Story story_of(Where place, std::int64_t row, bool with_bad_batch = true) {
  auto rows = rows_of<ThePlan>(96);
  for (std::int64_t i = 0; i < 96; ++i) rows.inputs[static_cast<std::size_t>(i * rows.features + 7)] = 0;
  Trainer<ThePlan, CpuThreads> trainer{settings<Adam>(), Seed{5}};
  prepare<ThePlan>(trainer, place);
  trainer.on_step([](const StepResult&) {});
  Story out;
  const auto step = [&](std::int64_t first) {
    const StepResult result = trainer.step(rows.batch(first, 32));
    out.skipped.push_back(result.skipped);
    out.scales.push_back(result.scale.value());
    out.steps.push_back(result.step);
    out.losses.push_back(result.loss.value());
    out.hashes.push_back(trainer.parameter_hash());
    for (int replica = 1; replica < trainer.replicas(); ++replica) CHECK(trainer.parameter_hash(replica) == out.hashes.back());
    CHECK(trainer.steps() == (result.skipped ? result.step - 1 : result.step));
  };
  step(0);
  if (with_bad_batch) {
    rows.inputs[static_cast<std::size_t>((32 + row) * rows.features + 7)] = 1e37F;
    step(32);
    step(32);
    rows.inputs[static_cast<std::size_t>((32 + row) * rows.features + 7)] = 0;
  }
  for (int k = 0; k < 3; ++k) step(32 + 8 * k);
  return out;
}

template <class Policy, class... Options> void check_skips(Where place) {
  static const Story wanted[] = {story_of<Of<Options..., Single>>(Where::first_layer, 13), story_of<Of<Options..., Single>>(Where::last_layer, 13)};
  for (const std::int64_t row : {0, 13, 31}) {
    CAPTURE(row);
    const Story got = story_of<Of<Options..., Policy>>(place, row);
    const Story& one_device = wanted[place == Where::first_layer ? 0 : 1];
    CHECK(got.skipped == one_device.skipped);
    CHECK(got.scales == one_device.scales);
    CHECK(got.steps == one_device.steps);
    CHECK(got.hashes == one_device.hashes);
  }
}

using Stages = Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>;

}  // namespace

TEST_CASE("a skipped step changes no bit of parameters and states, halves the scale, and training goes on as if it had never been") {
  const Story with = story_of<Of<Single>>(Where::first_layer, 13);
  CHECK((with.skipped == std::vector<bool>{false, true, true, false, false, false}));
  CHECK((with.scales == std::vector<float>{65536, 65536, 32768, 16384, 16384, 16384}));
  CHECK((with.steps == std::vector<std::int64_t>{1, 2, 2, 2, 3, 4}));  // as many as Adam has counted
  CHECK(with.hashes[1] == with.hashes[0]);
  CHECK(with.hashes[2] == with.hashes[0]);
  const Story without = story_of<Of<Single>>(Where::first_layer, 13, false);
  CHECK((without.skipped == std::vector<bool>(4, false)));
  CHECK(std::equal(with.hashes.begin() + 3, with.hashes.end(), without.hashes.begin() + 1, without.hashes.end()));
  CHECK(without.hashes[0] != without.hashes[1]);
}

TEST_CASE("an overflow on one rank is skipped by all: replicas, slices of three kinds, their product") {
  check_skips<DataParallel<4>>(Where::first_layer);
  check_skips<Sharded<4, OptimizerState>>(Where::first_layer);
  check_skips<Sharded<2, Gradients>>(Where::last_layer);
  check_skips<Sharded<4>>(Where::first_layer);
  check_skips<Hybrid<Sharded<2>, DataParallel<2>>>(Where::last_layer);
}

TEST_CASE("an overflow in one stage is skipped by all, the first or the last, with slices and replicas") {
  for (const Where place : {Where::first_layer, Where::last_layer}) {
    check_skips<Stages>(place);
    check_skips<Hybrid<Stages, Sharded<2>>>(place);
    check_skips<Hybrid<Stages, DataParallel<2>>, Clip<GlobalNorm>>(place);
  }
}

TEST_CASE("only one rank sees the overflow, so the flag of each alone would let the others step") {
  using ThePlan = Of<Stages>;
  auto rows = rows_of<ThePlan>(32);
  for (std::int64_t i = 0; i < 32; ++i) rows.inputs[static_cast<std::size_t>(i * rows.features + 7)] = i == 5 ? 1e37F : 0.0F;
  Trainer<ThePlan, CpuThreads> trainer{settings<Adam>(), Seed{5}};
  prepare<ThePlan>(trainer, Where::first_layer);
  CHECK(trainer.step(rows.batch(0, 32)).skipped);
  const auto finite = [&](const std::string& name) {
    const std::vector<float> gradient = trainer.gradient(name);
    return std::all_of(gradient.begin(), gradient.end(), [](float g) { return std::isfinite(g); });
  };
  CHECK_FALSE(finite("linear1.weight"));
  CHECK(finite("linear1.bias"));
  CHECK(finite("linear2.weight"));  // of the other stage
}

TEST_CASE("ranks that share layers skip together") {
  using ThePlan = Of<Hybrid<TensorParallel<2>, DataParallel<2>>>;
  const Story got = story_of<ThePlan>(Where::first_layer, 13);
  const Story one = story_of<Of<Single>>(Where::first_layer, 13);
  CHECK(got.skipped == one.skipped);
  CHECK(got.scales == one.scales);
  CHECK(got.hashes[1] == got.hashes[0]);
  CHECK(got.hashes[2] == got.hashes[0]);
  CHECK(got.hashes[3] != got.hashes[0]);
}

TEST_CASE("the scale backs off until the gradients of a batch fit, and then it is taken") {
  using ThePlan = Plan<Mlp, CrossEntropy, SGD, Batch<32>, Grain<4>, LossScaling, Hybrid<Stages, Sharded<2>>>;
  using Plain = Plan<Mlp, CrossEntropy, SGD, Batch<32>, Grain<4>, Single>;
  auto rows = rows_of<ThePlan>(32);
  for (float& v : rows.inputs) v *= 32;
  Trainer<ThePlan, CpuThreads> trainer{settings<SGD>(), Seed{5}};
  trainer.loss_scale().init_scale = 0x1p126;
  trainer.loss_scale().backoff_factor = 0.25;
  int skipped = 0;
  while (trainer.step(rows.batch(0, 32)).skipped) ++skipped;
  CHECK(skipped > 0);
  CHECK(trainer.loss_scale().scale() == std::ldexp(1.0F, 126 - 2 * skipped));
  Trainer<Plain, CpuThreads> plain{settings<SGD>(), Seed{5}};
  plain.step(rows.batch(0, 32));
  CHECK(trainer.parameter_hash(1) == plain.parameter_hash());
}

TEST_CASE("gradients that overflow at scale 1 are an error on every rank, and the parameters are those before the step") {
  using ThePlan = Of<Hybrid<Stages, DataParallel<2>>>;
  auto rows = rows_of<ThePlan>(32);
  rows.inputs[7] = 1e38F;
  Trainer<ThePlan, CpuThreads> trainer{settings<Adam>(), Seed{5}};
  prepare<ThePlan>(trainer, Where::first_layer);
  std::vector<float> last = trainer.parameter("linear2.weight");
  for (float& w : last) w *= 1e5F;
  trainer.set_parameter("linear2.weight", last);
  trainer.loss_scale().set_scale(2);
  const std::uint64_t before = trainer.parameter_hash();
  CHECK(trainer.step(rows.batch(0, 32)).skipped);
  CHECK_THROWS_WITH_AS(
      trainer.step(rows.batch(0, 32)),
      doctest::Contains("[heddle.R02] gradients of step 1 are not finite, and the loss scale is down to 1; all outputs of the model are "
                        "finite, so it begins in the loss or a backward."),
      NonFinite);
  for (const std::string& said : trainer.failures()) CHECK(said.find("gradients of step 1 are not finite") != std::string::npos);
  CHECK(trainer.failures().size() == 4);
  CHECK(trainer.parameter_hash(1) == before);
  rows.inputs[7] = 0;
  CHECK_FALSE(trainer.step(rows.batch(0, 32)).skipped);
}

TEST_CASE("a loss that is itself not finite is the same at every scale: an error at once, and the scale stays") {
  auto rows = rows_of<Of<DataParallel<2>>>(32);
  rows.inputs[20 * static_cast<std::size_t>(rows.features) + 7] = std::numeric_limits<float>::quiet_NaN();
  Trainer<Of<DataParallel<2>>, CpuThreads> trainer{settings<Adam>(), Seed{5}};
  CHECK_THROWS_WITH_AS(trainer.step(rows.batch(0, 32)), doctest::Contains("[heddle.R02] the loss of step 1 is NaN"), NonFinite);
  CHECK(trainer.loss_scale().scale() == 65536);
  CHECK(trainer.loss_scale().growth_tracker == 0);
}

TEST_CASE("values of the scale out of range are refused before a step") {
  Trainer<Of<Single>, CpuThreads> trainer{settings<Adam>(), Seed{5}};
  trainer.loss_scale().growth_factor = 1;
  CHECK_THROWS_WITH_AS(trainer.step(rows_of<Of<Single>>(32).batch(0, 32)), doctest::Contains("[heddle.O01] growth_factor is 1"), Error);
}
