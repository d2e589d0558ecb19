// SPDX-License-Identifier: MIT
// Several losses of one model: the bits of one device, one hash, losses and accuracies of each, and one sentence for what does not fit.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "equivalence/equal.hpp"
#include "heddle/backend/field_threads.hpp"
#include "heddle/proof/prove.hpp"
#include "says.hpp"

using namespace equivalence;
using heddle::tests::sentence;

namespace {

/// A classifier and a regression behind more layers than an auxiliary classifier.
struct Behind : Sequential<Linear<16, 16>, Tanh, Linear<16, 16>, ReLU, Branches<Concat, Linear<16, 10>, Linear<16, 4>>> {};
struct Model : Sequential<Linear<24, 16>, GELU, Branches<Concat, Behind, Linear<16, 10>>> {};
using Digit = LossOf<"digit", Outputs<10>, CrossEntropyWith<Ignored<-100>>>;
using Loss = Losses<Digit, LossOf<"angle", Outputs<4>, MeanSquaredError, LossWeight<1, 2>>,
                    LossOf<"early", Outputs<10>, CrossEntropyWith<Ignored<-100>>, TargetsOf<"digit">, LossWeight<3, 10>>>;
template <class... Parts> using Of = Plan<Model, Loss, Adam, Batch<16, KeepLast>, Grain<2>, Parts...>;
using Alone = Of<Single>;
template <class... Parts> using Small = Plan<Model, Loss, AdamW, Batch<8>, Parts...>;

}  // namespace

TEST_CASE("several losses have the bits of one device under every policy") {
  check_same_bits_as_data<Of<DataParallel<4>>, Alone>();
  check_same_bits_as_data<Of<Sharded<2>, Accumulate<2>>, Alone>();
  check_same_bits_as_data<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>, Alone>();
  check_same_bits_as_data<Of<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>, Alone>();
  check_same_bits_as_data<Of<Hybrid<Pipeline<Balanced<2>, GPipe, Microbatches<2>>, DataParallel<2>>>, Alone>();
}

TEST_CASE("they have one hash") {
  const auto one = prove<Small<Single>>();
  CHECK(bool{one});
  CHECK(prove<Small<Hybrid<TensorParallel<2>, DataParallel<2>>>>().hash == one.hash);
  CHECK(prove<Small<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>>>().hash == one.hash);
}

TEST_CASE("tensor parallel ranks agree with one device") {
  const auto data = rows_of<Alone>(8);
  CHECK(verify<Small<TensorParallel<2>>, CpuThreads>(data.batch(0, 8), Seed{3}, 2e-5).text == "");
  CHECK(verify<Small<Hybrid<TensorParallel<2>, DataParallel<2>>>, CpuThreads>(data.batch(0, 8), Seed{3}, 2e-5).text == "");
}

TEST_CASE("an evaluation has the mean of each loss over all of its rows, however many are taken together") {
  const auto data = rows_of<Alone>(41);
  Trainer<Of<DataParallel<2>>, CpuThreads> trainer{settings<Adam>(), Seed{5}};
  for (int step = 0; step < 4; ++step) trainer.step(data.batch(step, 16));
  const Evaluation all = trainer.evaluate(data.batch(0, 41));
  REQUIRE(all.losses.size() == 3);
  double digit = 0, angle = 0, early = 0;
  int counted = 0;
  for (int row = 0; row < 41; ++row) {
    const float* const out = all.outputs.data() + row * 24;
    const TargetValue* const wanted = data.targets.data() + row * 5;
    for (int j = 0; j < 4; ++j) angle += std::pow(static_cast<double>(out[10 + j] - wanted[1 + j].value()), 2) / (4 * 41);
    if (wanted[0].label() < 0) continue;
    ++counted;
    const auto entropy = [&](const float* logits) {
      double sum = 0;
      for (int j = 0; j < 10; ++j) sum += std::exp(static_cast<double>(logits[j]));
      return std::log(sum) - static_cast<double>(logits[wanted[0].label()]);
    };
    digit += entropy(out);
    early += entropy(out + 14);
  }
  REQUIRE(counted == 31);
  CHECK(std::abs(all.losses[0] - digit / counted) < 1e-6);
  CHECK(std::abs(all.losses[1] - angle) < 1e-6);
  CHECK(std::abs(all.losses[2] - early / counted) < 1e-6);
  CHECK(std::abs(all.loss - (all.losses[0] + 0.5 * all.losses[1] + 0.3 * all.losses[2])) < 1e-6);
  CHECK(all.counted == 41);
  CHECK(all.counted_of_losses == std::vector<double>{31, 41, 31});
  const Evaluation front = trainer.evaluate(data.batch(0, 6)), rest = trainer.evaluate(data.batch(6, 35));
  for (std::size_t k = 0; k < 3; ++k) {
    const double joined = (front.losses[k] * front.counted_of_losses[k] + rest.losses[k] * rest.counted_of_losses[k]) /
                          (front.counted_of_losses[k] + rest.counted_of_losses[k]);
    CHECK(std::abs(joined - all.losses[k]) < 1e-9);
  }
  CHECK_THROWS_WITH_AS(
      static_cast<void>(trainer.evaluate(data.batch(0, 0))),
      "[heddle.D10] a batch of 0 rows has no target that the loss counts, so there is no mean of losses. Fix: leave such batches out.", Error);
}

TEST_CASE("an accuracy of rows whose first ones are ignored is that of the others, as their evaluation is") {
  auto data = rows_of<Alone>(41);
  for (std::size_t row = 0; row < 16; ++row) data.targets[5 * row] = -100;
  Trainer<Alone, CpuThreads> trainer{settings<Adam>(), Seed{5}};
  const auto behind = data.batch(16, 25);
  CHECK(trainer.accuracy<"digit">(data.batch(0, 41)) == trainer.accuracy<"digit">(behind));
  using One = Plan<Linear<24, 10>, CrossEntropyWith<Ignored<-100>>, SGD, Batch<2>, Single>;
  Trainer<One, CpuThreads> single{{}, Seed{1}};
  const std::vector<float> inputs(4 * 24, 0.5F);
  CHECK(single.accuracy(examples(inputs, std::vector<std::int32_t>{-100, -100, 1, 1}, 24)) ==
        single.accuracy(examples(inputs, std::vector<std::int32_t>{1, 1, 1, 1}, 24)));
}

TEST_CASE("floats where a loss reads class numbers, or the other way round, are told by their place: both have four bytes") {
  using Two =
      Losses<LossOf<"kind", Outputs<3>, CrossEntropy>, LossOf<"size", Outputs<1>, MeanSquaredError>, LossOf<"first", Outputs<1>, BinaryCrossEntropy>>;
  struct Net : Sequential<Linear<4, 5>> {};
  Trainer<Plan<Net, Two, SGD, Batch<8>, DataParallel<2>>, CpuThreads> trainer{{.learning_rate = 0.1}, Seed{1}};
  const std::vector<float> x(32, 0.5F), values(8, 0.0F);
  const std::vector<std::int32_t> labels(8, 1);
  trainer.step(examples(x, labels, 4).with_targets(values, 1).with_targets(values, 1));
  const std::string remedy = " there. Fix: give the targets in the order of Losses, std::int32_t for class numbers and float for real ones.";
  CHECK(sentence([&] { trainer.step(examples(x, labels, 4).with_targets(values, 1).with_targets(labels, 1)); }) ==
        "[heddle.D12] target 2 of each row is a class number, but loss 'first' reads floats" + remedy);
  CHECK(sentence([&] { trainer.step(examples(x, values, 4).with_targets(labels, 1).with_targets(values, 1)); }) ==
        "[heddle.D12] target 0 of each row is a float, but loss 'kind' reads class numbers" + remedy);
  CHECK(trainer.steps() == 1);
}

TEST_CASE("a proof draws ignored targets only where all that read them leave them out, and knows what counts for each loss") {
  using Apart =
      Losses<LossOf<"a", Outputs<3>, CrossEntropyWith<Ignored<-100>>>, LossOf<"b", Outputs<3>, CrossEntropyWith<Ignored<-1>>, TargetsOf<"a">>>;
  struct Net : Sequential<Linear<2, 6>> {};
  CHECK(bool{prove<Plan<Net, Apart, SGD, Batch<4>, DataParallel<2>>>()});
  const float output[] = {1, 2, 3, 4, 5, 6};
  const std::int32_t target[] = {0};
  float gradient[6]{}, other[6]{};
  CountedTargets counted[2]{};
  LossCall call{1, 6, 4, output, target, gradient};
  call.target_features = 1;
  call.each = counted;
  static_cast<void>(FieldLoss<Apart>::sum(call));
  counted[1].left_out = 1;
  call.gradient = other;
  static_cast<void>(FieldLoss<Apart>::sum(call));
  CHECK_FALSE(std::equal(gradient, gradient + 6, other, [](float a, float b) { return std::memcmp(&a, &b, sizeof a) == 0; }));
}

TEST_CASE("the accuracy is that of the loss which is named") {
  const auto data = rows_of<Alone>(41);
  Trainer<Alone, CpuThreads> trainer{settings<Adam>(), Seed{5}};
  for (int step = 0; step < 30; ++step) trainer.step(data.batch(step % 20, 16));
  const Evaluation all = trainer.evaluate(data.batch(0, 41));
  int digit = 0, early = 0, counted = 0;
  for (int row = 0; row < 41; ++row) {
    const float* const out = all.outputs.data() + row * 24;
    const std::int32_t label = data.targets[static_cast<std::size_t>(5 * row)].label();
    if (label < 0) continue;
    ++counted;
    digit += std::max_element(out, out + 10) - out == label ? 1 : 0;
    early += std::max_element(out + 14, out + 24) - out - 14 == label ? 1 : 0;
  }
  REQUIRE(digit != early);
  CHECK(trainer.accuracy<"digit">(data.batch(0, 41)) == static_cast<double>(digit) / counted);
  CHECK(trainer.accuracy<"early">(data.batch(0, 41).batches<16>()) == static_cast<double>(early) / counted);
  extending::Accuracy together;
  CHECK(sentence([&] { together.add(all, data.batch(0, 41)); }).find("[heddle.D30] an accuracy was asked for of several losses together.") == 0);
}

TEST_CASE("a wrong label is named with its loss, and a batch in which nothing counts for one is refused, and nothing changes") {
  auto data = rows_of<Alone>(16);
  Trainer<Of<DataParallel<4>>, CpuThreads> trainer{settings<Adam>(), Seed{5}};
  const std::uint64_t before = trainer.parameter_hash();
  data.targets[5 * 9] = 10;
  CHECK(sentence([&] {
          trainer.step(data.batch(0, 16));
        }).find("[heddle.D08] row 9 of the batch has label 10 for 'digit', which has 10 classes. Fix: use labels from 0 to 9.") == 0);
  for (std::size_t row = 0; row < 16; ++row) data.targets[5 * row] = -100;
  CHECK(sentence([&] { trainer.step(data.batch(0, 16)); }) ==
        "[heddle.D10] a batch of 16 rows has no target that loss 'digit' counts, so there is no mean of losses. Fix: leave such batches out.");
  CHECK(trainer.parameter_hash() == before);
  CHECK(sentence([&] { static_cast<void>(trainer.evaluate(data.batch(0, 16))); }) ==
        "[heddle.D10] a batch of 16 rows has no target that loss 'digit' counts, so there is no mean of losses. Fix: leave such batches out.");
}

TEST_CASE("values in bfloat16 give a loss close to that of floats, and a pipeline the bits of one device") {
  using Rounded = Of<Single, Mixed<BFloat16>>;
  check_same_bits<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Mixed<BFloat16>>, Rounded>();
  const auto data = rows_of<Alone>(32);
  Trainer<Rounded, CpuThreads> rounded{settings<Adam>(), Seed{5}};
  Trainer<Alone, CpuThreads> exact{settings<Adam>(), Seed{5}};
  double first = 0;
  for (int step = 0; step < 80; ++step) {
    const double loss = static_cast<double>(*exact.step(data.batch(0, 16)).loss);
    if (step == 0) first = loss;
    rounded.step(data.batch(0, 16));
  }
  const double a = rounded.evaluate(data.batch(0, 16)).loss, b = exact.evaluate(data.batch(0, 16)).loss;
  CHECK(a < first / 2);
  CHECK(std::abs(a - b) < 0.1 * first);
}
