// SPDX-License-Identifier: MIT
#include <limits>

#include "equivalence/equal.hpp"

using namespace equivalence;

// A loss that is no number stops the step: which step, where it begins, and parameters as they were before it, bit for bit.
namespace {

template <class Policy> using Of = Plan<Mlp, CrossEntropy, Adam, Batch<32>, Grain<4>, Bucket<1_KiB>, Policy>;
constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

template <class Plan> std::vector<std::vector<std::vector<float>>> all_replicas(Trainer<Plan, CpuThreads>& trainer) {
  std::vector<std::vector<std::vector<float>>> all;
  for (int replica = 0; replica < trainer.replicas(); ++replica) all.push_back(parameters_of(trainer, replica));
  return all;
}

template <class Plan> std::string refused_step(Trainer<Plan, CpuThreads>& trainer, const Examples<typename Plan::Request::Loss::Target>& batch) {
  const auto before = all_replicas<Plan>(trainer);
  const std::int64_t steps_before = trainer.steps();
  std::string sentence;
  try {
    trainer.step(batch);
  } catch (const NonFinite& error) {
    CHECK((error.code() == Code{'R', 2}));
    CHECK(error.step() == steps_before + 1);
    sentence = error.what();
  }
  CHECK(sentence.find("[heddle.R02] the loss of step " + std::to_string(steps_before + 1) + " is ") == 0);
  CHECK(sentence.find(". Fix: ") != std::string::npos);
  CHECK(trainer.steps() == steps_before);
  const auto after = all_replicas<Plan>(trainer);
  for (std::size_t replica = 0; replica < before.size(); ++replica)
    for (std::size_t p = 0; p < before[replica].size(); ++p) CHECK(equal_bits(before[replica][p], after[replica][p]));
  return sentence;
}

bool says(const std::string& sentence, const std::string& words) {
  CAPTURE(sentence);
  CAPTURE(words);
  const bool found = sentence.find(words) != std::string::npos;
  CHECK(found);
  return found;
}

/// A NaN in any row, on whatever rank and in whatever micro-batch that row falls.
template <class Policy> void check_bad_rows() {
  using Plan = Of<Policy>;
  auto rows = rows_of<Plan>(96);
  Trainer<Plan, CpuThreads> trainer{settings<Adam>(), Seed{5}};
  Trainer<Plan, CpuThreads> never_saw_it{settings<Adam>(), Seed{5}};
  trainer.step(rows.batch(0, 32));
  never_saw_it.step(rows.batch(0, 32));
  for (const std::int64_t row : {0, 13, 31}) {
    float& damaged = rows.inputs[static_cast<std::size_t>((32 + row) * rows.features + 7)];
    const float whole = damaged;
    damaged = not_a_number;
    const std::string sentence = refused_step<Plan>(trainer, rows.batch(32, 32));
    says(sentence, "the loss of step 2 is NaN");
    says(sentence, "the input has such a value in row " + std::to_string(row) + ", feature 7");
    damaged = whole;
  }
  for (int step = 1; step < 3; ++step) {
    CHECK(trainer.step(rows.batch(32 * step, 32)).step == step + 1);
    never_saw_it.step(rows.batch(32 * step, 32));
  }
  for (int replica = 0; replica < trainer.replicas(); ++replica) CHECK(trainer.parameter_hash(replica) == never_saw_it.parameter_hash(replica));
}

using Piped = Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;

}  // namespace

TEST_CASE("a NaN in the input names step, row and feature, changes no parameter, and leaves a trainer that goes on with the right bits") {
  check_bad_rows<Single>();
  check_bad_rows<DataParallel<4>>();
  check_bad_rows<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>();
  check_bad_rows<Hybrid<Pipeline<Balanced<2>, GPipe, Microbatches<2>>, DataParallel<2>>>();
}

TEST_CASE("weights that overflow name the layer where the first infinite value begins") {
  const auto rows = rows_of<Piped>(32);
  Trainer<Piped, CpuThreads> trainer{settings<Adam>(), Seed{5}};
  trainer.set_parameter("linear1.weight", std::vector<float>(17 * 23, 3e38F));
  says(refused_step<Piped>(trainer, rows.batch(0, 32)), "it begins in layer 0 'linear1' Linear<23, 17>");
  trainer.set_parameter("linear1.weight", std::vector<float>(17 * 23, 1.0F));
  trainer.set_parameter("linear2.weight", std::vector<float>(10 * 17, 3e38F));
  says(refused_step<Piped>(trainer, rows.batch(0, 32)), "'linear2' Linear<17, 10>");
}

TEST_CASE("a parameter that is no number is named") {
  const auto rows = rows_of<Piped>(32);
  Trainer<Piped, CpuThreads> trainer{settings<Adam>(), Seed{5}};
  std::vector<float> bias(10, 0.0F);
  bias[4] = not_a_number;
  trainer.set_parameter("linear2.bias", bias);
  says(refused_step<Piped>(trainer, rows.batch(0, 32)), "parameter 'linear2.bias' was not finite before it");
}

TEST_CASE("a learning rate that is far too large ends in a refused step, and training goes on from better parameters") {
  using Spread = Plan<Mlp, MeanSquaredError, SGD, Batch<32>, Grain<4>, DataParallel<2>>;
  const auto rows = rows_of<Spread>(32);
  Trainer<Spread, CpuThreads> trainer{{.learning_rate = 1e30}, Seed{5}};
  Trainer<Spread, CpuThreads> sound{{.learning_rate = 0.1}, Seed{5}};
  trainer.step(rows.batch(0, 32));
  says(refused_step<Spread>(trainer, rows.batch(0, 32)), "it begins in ");
  for (const std::string& name : trainer.parameter_names()) trainer.set_parameter(name, sound.parameter(name));
  trainer.optimizer().learning_rate = 0.1;
  trainer.step(rows.batch(0, 32));
  sound.step(rows.batch(0, 32));
  CHECK(trainer.parameter_hash() == sound.parameter_hash());
}

TEST_CASE("a target that is not finite is found") {
  using Spread = Plan<Mlp, MeanSquaredError, SGD, Batch<32>, DataParallel<2>>;
  auto rows = rows_of<Spread>(32);
  rows.targets[20 * 10 + 3] = std::numeric_limits<float>::infinity();
  Trainer<Spread, CpuThreads> trainer{{}, Seed{5}};
  const std::string sentence = refused_step<Spread>(trainer, rows.batch(0, 32));
  says(sentence, "the loss of step 1 is infinite in rows 16 to 31");
  says(sentence, "target 3 of row 20 is not finite.");
}

TEST_CASE("losses that are finite grain by grain, but not together, are refused before anything is stepped") {
  const auto check = []<class Spread>(const Spread*) {
    auto rows = rows_of<Spread>(32);
    for (std::size_t row = 0; row < 32; ++row) rows.targets[10 * row] = 1.5e19F;  // 4 rows make 9e37, 16 rows 3.6e38
    Trainer<Spread, CpuThreads> trainer{{}, Seed{5}};
    says(refused_step<Spread>(trainer, rows.batch(0, 32)), "the loss of step 1 is infinite in all rows of a rank together; all outputs");
    CHECK_THROWS_AS((void)trainer.evaluate(rows.batch(0, 32)), NonFinite);
  };
  check(static_cast<const Plan<Mlp, MeanSquaredError, SGD, Batch<32>, Grain<4>, DataParallel<2>>*>(nullptr));
  check(static_cast<const Plan<Mlp, MeanSquaredError, SGD, Batch<32>, Grain<4>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>*>(nullptr));
}

TEST_CASE("an evaluation of a bad row says so and changes nothing") {
  auto rows = rows_of<Piped>(32);
  Trainer<Piped, CpuThreads> trainer{settings<Adam>(), Seed{5}};
  const std::uint64_t before = trainer.parameter_hash();
  rows.inputs[0] = not_a_number;
  CHECK_THROWS_AS((void)trainer.evaluate(rows.batch(0, 32)), NonFinite);
  CHECK(trainer.parameter_hash() == before);
  rows.inputs[0] = 0;
  CHECK(std::isfinite(trainer.evaluate(rows.batch(0, 32)).loss));
}
