// SPDX-License-Identifier: MIT
// Targets that count nothing, and classes that have weights: the mean is that of all ranks, with the bits of one device, also where a rank has no
// target that counts.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "equivalence/equal.hpp"
#include "heddle/backend/field_threads.hpp"
#include "heddle/proof/prove.hpp"
#include "says.hpp"

using namespace equivalence;
using heddle::tests::sentence;

namespace {

using Loss = CrossEntropyWith<Ignored<-100>, ClassWeights>;
struct Words : Sequential<Input<4, 6>, Linear<6, 16>, Tanh, Linear<16, 16>, ReLU, Linear<16, 8>> {};
template <class Policy, class... Options> using Of = Plan<Words, Loss, Adam, Batch<16, KeepLast>, Policy, Grain<2>, Options...>;
using Alone = Of<Single>;

/// Sequences of 4 targets with a tail that is padding; rows 0 to 3 are all padding, so that replica 0 of 4 has no target that counts.
Rows<std::int32_t> padded(std::int64_t rows) {
  Rows<std::int32_t> all{rows, 24, 32};
  all.targets.clear();
  for (std::int64_t i = 0; i < rows; ++i)
    for (std::int64_t t = 0; t < 4; ++t) all.targets.push_back(i % 16 < 4 || t > i % 4 ? -100 : static_cast<std::int32_t>((7 * i + 3 * t) % 8));
  return all;
}
Examples<std::int32_t> batch_of(const Rows<std::int32_t>& all, std::int64_t first, std::int64_t count) {
  return examples(std::span<const float>{all.inputs}, std::span<const std::int32_t>{all.targets}, 24, 4).slice(first, count);
}

struct Seen {
  std::vector<float> losses;
  std::vector<std::vector<float>> parameters;
  Evaluation evaluation;
  double accuracy = 0;
};
template <class ThePlan> Seen trained(std::span<const float> weights) {
  const Rows<std::int32_t> all = padded(40);
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 0.01}, Seed{5}};
  if (!weights.empty()) trainer.class_weights(weights);
  Seen seen;
  trainer.on_step([&](const StepResult& result) { seen.losses.push_back(*result.loss); });
  for (int step = 0; step < 6; ++step) trainer.step(batch_of(all, 16 * (step % 2), step == 4 ? 11 : 16));
  seen.parameters = parameters_of(trainer, trainer.replicas() - 1);
  seen.evaluation = trainer.evaluate(batch_of(all, 0, 40));
  seen.accuracy = trainer.accuracy(batch_of(all, 0, 40));
  return seen;
}
constexpr float unequal[] = {1, 0.25F, 3, 0, 1.5F, 2, 0.125F, 7};
const Seen& alone(bool weighed) {
  static const Seen seen[] = {trained<Alone>({}), trained<Alone>(unequal)};
  return seen[weighed ? 1 : 0];
}
template <class Policy, class... Options> void check_same_as_one_device() {
  using ThePlan = Of<Policy, Options...>;
  CAPTURE(devices<ThePlan>);
  static_assert(same_bits<ThePlan, Alone>());
  for (const bool weighed : {false, true}) {
    CAPTURE(weighed);
    const Seen& wanted = alone(weighed);
    const Seen seen = weighed ? trained<ThePlan>(unequal) : trained<ThePlan>({});
    CHECK(equal_bits(seen.losses, wanted.losses));
    for (std::size_t p = 0; p < seen.parameters.size(); ++p) CHECK(equal_bits(seen.parameters[p], wanted.parameters[p]));
    CHECK(seen.evaluation.loss == wanted.evaluation.loss);
    CHECK(seen.accuracy == wanted.accuracy);
  }
}

}  // namespace

TEST_CASE("losses, parameters and an evaluation have the bits of one device, also where a replica has no target that counts") {
  check_same_as_one_device<DataParallel<4>>();
  check_same_as_one_device<Sharded<2>>();
  check_same_as_one_device<Single, Accumulate<2>>();
  check_same_as_one_device<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>();
  check_same_as_one_device<Hybrid<Pipeline<Balanced<2>, GPipe, Microbatches<2>>, DataParallel<2>>>();
}

TEST_CASE("weights change the loss, weights of 1 change no bit, and they are taken as a whole or not at all") {
  const float ones[] = {1, 1, 1, 1, 1, 1, 1, 1};
  const Seen same = trained<Alone>(ones);
  CHECK(equal_bits(same.losses, alone(false).losses));
  CHECK(equal_bits(same.parameters[0], alone(false).parameters[0]));
  CHECK_FALSE(equal_bits(alone(true).losses, alone(false).losses));
  Trainer<Alone, CpuThreads> trainer{{}, Seed{5}};
  CHECK(sentence([&] {
          trainer.class_weights({1, 2});
        }) == "[heddle.O01] 2 class weights were given, but the model gives 8 classes. Fix: give one for each.");
}

TEST_CASE("the loss is the mean over the targets that count: that of the same rows without the others") {
  const Rows<std::int32_t> all = padded(16);
  std::vector<float> inputs;
  std::vector<std::int32_t> targets;
  Trainer<Alone, CpuThreads> trainer{{}, Seed{5}};
  const Evaluation whole = trainer.evaluate(batch_of(all, 0, 16));
  double sum = 0;
  int counted = 0;
  for (std::size_t i = 0; i < all.targets.size(); ++i) {
    if (all.targets[i] < 0) continue;
    double powers = 0;
    for (std::size_t j = 0; j < 8; ++j) powers += std::exp(static_cast<double>(whole.outputs[8 * i + j]));
    sum += std::log(powers) - static_cast<double>(whole.outputs[8 * i + static_cast<std::size_t>(all.targets[i])]);
    ++counted;
  }
  CHECK(counted == 30);
  CHECK(std::abs(whole.loss - sum / counted) <= 1e-6);
  CHECK(whole.counted == 30.0 / 4);  // rows of four targets
  double of_parts = 0, rows = 0;
  for (const int first : {0, 6}) {
    const Evaluation part = trainer.evaluate(batch_of(all, first, first == 0 ? 6 : 10));
    of_parts += part.loss * part.counted;
    rows += part.counted;
  }
  CHECK(rows == whole.counted);
  CHECK(std::abs(of_parts / rows - whole.loss) <= 1e-6);
  extending::Accuracy of_evaluation;  // counts what the loss of the evaluation counts
  of_evaluation.add(whole, batch_of(all, 0, 16));
  CHECK(of_evaluation.positions() == 30);
}

TEST_CASE("a batch without a target that counts is refused before anything changes, and other labels are refused as before") {
  Rows<std::int32_t> all = padded(16);
  Trainer<Of<DataParallel<4>>, CpuThreads> trainer{{}, Seed{5}};
  const std::uint64_t before = trainer.parameter_hash();
  CHECK(sentence([&] { trainer.step(batch_of(all, 0, 4)); }) ==
        "[heddle.D10] a batch of 4 rows has no target that the loss counts, so there is no mean of losses. Fix: leave such batches out.");
  CHECK(trainer.parameter_hash() == before);
  CHECK(sentence([&] { (void)trainer.evaluate(batch_of(all, 0, 1)); }).find("[heddle.D10] a batch of 1 row has no target") == 0);
  all.targets[30] = -1;  // of row 7
  CHECK(sentence([&] { trainer.step(batch_of(all, 0, 16)); }).find("has label -1 at position 2, but the model gives 8 classes") != std::string::npos);
  using Plain = Plan<Words, CrossEntropy, Adam, Batch<16>, Single>;
  Trainer<Plain, CpuThreads> strict{{}, Seed{5}};
  CHECK(sentence([&] { strict.step(batch_of(all, 0, 16)); }).find("has label -100") != std::string::npos);
}

TEST_CASE("in exact arithmetic every plan computes what one device computes, where logits lie in parts too") {
  CHECK(prove<Of<DataParallel<2>>>().text == "");
  CHECK(prove<Of<TensorParallel<2>>>().text == "");
  CHECK(prove<Of<Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>>>().text == "");
  CHECK(prove<Of<Sharded<2, heddle::Gradients>, Accumulate<2>>>().text == "");
}
