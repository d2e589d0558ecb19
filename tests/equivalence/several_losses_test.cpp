// SPDX-License-Identifier: MIT
// Several losses of one model: the bits of one device, one hash, losses and accuracies of each, and one sentence for what does not fit.
#include <doctest/doctest.h>

#include <cmath>
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

/// A classifier and a regression behind more layers than an auxiliary classifier.
struct Behind : Sequential<Linear<16, 16>, Tanh, Linear<16, 16>, ReLU, Branches<Concat, Linear<16, 10>, Linear<16, 4>>> {};
struct Model : Sequential<Linear<24, 16>, GELU, Branches<Concat, Behind, Linear<16, 10>>> {};
using Digit = LossOf<"digit", Outputs<10>, CrossEntropyWith<Ignored<-100>>>;
using Loss = Losses<Digit, LossOf<"angle", Outputs<4>, MeanSquaredError, LossWeight<1, 2>>,
                    LossOf<"early", Outputs<10>, CrossEntropyWith<Ignored<-100>>, TargetsOf<"digit">, LossWeight<3, 10>>>;
template <class... Parts> using Of = Plan<Model, Loss, Adam, Batch<16, KeepLast>, Grain<2>, Parts...>;
using Alone = Of<Single>;
template <class... Parts> using Small = Plan<Model, Loss, AdamW, Batch<8>, Parts...>;

/// Labels of every fourth row are ignored.
RowsOf<Alone> some_ignored(std::int64_t rows) {
  RowsOf<Alone> all = rows_of<Alone>(rows);
  for (std::int64_t row = 3; row < rows; row += 4) all.targets[static_cast<std::size_t>(row * all.labels)] = -100;
  return all;
}

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
  const auto data = some_ignored(8);
  CHECK(verify<Small<TensorParallel<2>>, CpuThreads>(data.batch(0, 8), Seed{3}, 2e-5).text == "");
  CHECK(verify<Small<Hybrid<TensorParallel<2>, DataParallel<2>>>, CpuThreads>(data.batch(0, 8), Seed{3}, 2e-5).text == "");
}

TEST_CASE("an evaluation has the mean of each loss over all of its rows, however many are taken together") {
  const auto data = some_ignored(41);
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
}

TEST_CASE("the accuracy is that of the loss which is named") {
  const auto data = some_ignored(41);
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
  auto data = some_ignored(16);
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
  CHECK(trainer.evaluate(data.batch(0, 16)).losses[0] == 0);  // nothing is divided by 0
}

TEST_CASE("values in bfloat16 give a loss close to that of floats, and a pipeline the bits of one device") {
  using Rounded = Of<Single, Mixed<BFloat16>>;
  check_same_bits<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Mixed<BFloat16>>, Rounded>();
  const auto data = some_ignored(32);
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
