// SPDX-License-Identifier: MIT
#include "heddle/run/input_elements.hpp"

#include <doctest/doctest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "heddle/backend/cpu_threads.hpp"
#include "heddle/run/runner.hpp"
#include "says.hpp"

using namespace heddle;
using heddle::tests::sentence;

namespace {

struct Words : Sequential<Input<3>, Embedding<8, 4>, Linear<4, 8>> {};
struct Pixels : Sequential<Linear<3, 8>> {};
using OfWords = Plan<Words, CrossEntropy, SGD, Batch<4>, Single>;
using OfPixels = Plan<Pixels, CrossEntropy, SGD, Batch<4>, Single>;
using Applied = Inference<Words, Batch<4>, Single>;

static_assert(std::is_same_v<InputOf<OfWords::Request>, std::int32_t> && std::is_same_v<InputOf<OfPixels::Request>, float>);
static_assert(element_type<float> == ElementType::float32 && element_type<std::int32_t> == ElementType::int32 &&
              element_type<std::uint8_t> == ElementType::uint8);
static_assert(WrongRows<OfWords::Request, std::int32_t, std::int32_t>::found.ok() && WrongRows<OfPixels::Request, std::int32_t, float>::found.ok());
static_assert(WrongRows<Applied::Request, float, std::int32_t>::found.ok());  // it has no loss
static_assert(WrongRows<Applied::Request, float, float>::found.code == Code{'D', 33});
static_assert(WrongRows<OfWords::Request, float, std::int32_t>::found.code == Code{'D', 12});
static_assert(WrongRows<OfWords::Request, float, float>::found.code == Code{'D', 33});  // what the model takes comes first

}  // namespace

TEST_CASE("floats for a model that looks ids up, and ids for one that computes, are named with what to give") {
  constexpr auto floats = WrongInputs<OfWords::Request, float>::found;
  CHECK(floats.sentence().view() ==
        "[heddle.D33] Words takes token ids but the rows have float inputs. Fix: give std::int32_t inputs, as datasets::next_token_rows and "
        "datasets::TokenDataset have them.");
  constexpr auto ids = WrongInputs<OfPixels::Request, std::int32_t>::found;
  CHECK(
      ids.sentence().view() ==
      "[heddle.D33] Pixels takes float inputs but the rows have std::int32_t inputs. Fix: give float inputs, or begin the model with Input<length>, "
      "Embedding<tokens, features>.");
}

TEST_CASE("where the plan is data, rows of another type are refused before anything runs") {
  const std::vector<float> floats(12);
  const std::vector<std::int32_t> labels(12);
  using Ranks = LocalRanks<CpuThreads::Session>;
  Ranks ranks{OfWords::training,
              OfWords::evaluation,
              graph_of<Words>,
              3,
              kernel_table<Words, CrossEntropy, SGD, EigenCompute>(),
              transport_needs(OfWords::training, OfWords::evaluation),
              std::chrono::seconds{60}};
  CHECK(sentence([&] {
          static_cast<void>(ranks.input_of(examples(floats, labels, 3, 3), OfWords::training));
        }).starts_with("[heddle.D33] Words takes"));
  CHECK(sentence([&] { static_cast<void>(ranks.input_of(examples(labels, labels, 3, 3), OfWords::training)); }) == "nothing was thrown");
}

TEST_CASE("a model that is only applied takes ids, and has the outputs of its trainer") {
  const std::vector<std::int32_t> ids{0, 1, 2, 7, 6, 5, 3, 3, 3};
  Trainer<OfWords, CpuThreads> trainer{{}, Seed{4}};
  Runner<Applied, CpuThreads> runner{Seed{4}};
  CHECK(runner.predict(ids) == trainer.predict(ids));
}

TEST_CASE("ids of a row that the order takes twice, beyond the batch and of a smaller batch lie where floats would") {
  using Kept = Plan<Words, CrossEntropy, SGD, Batch<4, PadLast>, DataParallel<2>>;
  const std::vector<std::int32_t> ids{0, 1, 2, 7, 6, 5, 3, 3, 3}, next{1, 2, 3, 6, 5, 4, 3, 3, 3};
  const std::vector<std::int32_t> filled{0, 1, 2, 7, 6, 5, 3, 3, 3, 0, 1, 2}, filled_next{1, 2, 3, 6, 5, 4, 3, 3, 3, 1, 2, 3};
  Trainer<Kept, CpuThreads> one{{.learning_rate = 0.5}, Seed{4}}, other{{.learning_rate = 0.5}, Seed{4}};
  one.step(examples(ids, next, 3, 3));  // row 0 is repeated
  other.step(examples(filled, filled_next, 3, 3));
  CHECK(one.parameter_hash() == other.parameter_hash());
  const std::vector<std::uint32_t> order{3, 1, 2, 0};
  auto ordered = examples(filled, filled_next, 3, 3);
  ordered.order = order.data();
  const auto seen = other.evaluate(ordered).outputs;
  const auto straight = other.predict(filled);
  CHECK(std::vector<float>(seen.begin(), seen.begin() + 24) == std::vector<float>(straight.begin() + 72, straight.end()));
}

TEST_CASE("each pair of types that differ has one sentence with both, and what is alike none") {
  const auto said = [](ElementType taken, ElementType given) { return std::string{check_inputs("Model", taken, given).sentence().view()}; };
  CHECK(said(ElementType::uint8, ElementType::float32) ==
        "[heddle.D33] Model takes bytes but the rows have float inputs. Fix: give std::uint8_t inputs, as datasets::ByteDataset and "
        "datasets::IdxByteDataset have them.");
  CHECK(said(ElementType::uint8, ElementType::int32) ==
        "[heddle.D33] Model takes bytes but the rows have std::int32_t inputs. Fix: give std::uint8_t inputs, as datasets::ByteDataset and "
        "datasets::IdxByteDataset have them.");
  CHECK(
      said(ElementType::float32, ElementType::uint8) ==
      "[heddle.D33] Model takes float inputs but the rows have std::uint8_t inputs. Fix: give float inputs, or begin the model with Input<sizes...>, "
      "Rescaling<>.");
  CHECK(said(ElementType::int32, ElementType::uint8) ==
        "[heddle.D33] Model takes token ids but the rows have std::uint8_t inputs. Fix: give std::int32_t inputs, as datasets::next_token_rows and "
        "datasets::TokenDataset have them.");
  CHECK(check_inputs("Model", ElementType::uint8, ElementType::uint8).ok());
  static_assert(std::is_same_v<ElementsOf<ElementType::uint8>, std::uint8_t> && element_type<std::uint8_t> == ElementType::uint8);
}

TEST_CASE("targets of a type that no loss takes are told by its name") {
  CHECK(WrongTargets<CrossEntropy, double>::found.sentence().view() ==
        "[heddle.D12] CrossEntropy takes class number targets but the rows have double targets. Fix: give a datasets::Dataset or "
        "Examples<std::int32_t>.");
  CHECK(WrongTargets<CrossEntropy, float>::found.sentence().view() ==
        "[heddle.D12] CrossEntropy takes class number targets but the rows have float targets. Fix: give a datasets::Dataset or "
        "Examples<std::int32_t>, or "
        "name another loss.");
  CHECK(WrongTargets<MeanSquaredError, std::int32_t>::found.sentence().view() ==
        "[heddle.D12] MeanSquaredError takes float targets but the rows have class number targets. Fix: give a datasets::RegressionDataset or "
        "Examples<float>, "
        "or name another loss.");
  static_assert(WrongTargets<MeanSquaredError, float>::found.ok());
  using Several = Losses<LossOf<"digit", Outputs<10>, CrossEntropy>, LossOf<"angle", Outputs<1>, MeanSquaredError>>;
  CHECK(WrongTargets<Several, std::int32_t>::found.sentence().view() ==
        "[heddle.D12] Losses takes class numbers and floats but the rows have class number targets. Fix: give the others as well, as in "
        "examples(inputs, "
        "labels, 784).with_targets(values, 1).");
  static_assert(WrongTargets<Several, TargetValue>::found.ok());
}
