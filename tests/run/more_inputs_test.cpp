// SPDX-License-Identifier: MIT
#include "heddle/run/more_inputs.hpp"

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "heddle/backend/cpu_threads.hpp"
#include "says.hpp"

using namespace heddle;
using heddle::tests::sentence;

namespace {

struct Net
    : Sequential<Inputs<Input<3>, Input<2>, Input<4>>, Branches<Add, Sequential<Embedding<5, 1>, Flatten>, Sequential<FromInput<1>, Linear<2, 3>>,
                                                                Sequential<FromInput<2>, Rescaling<>, Linear<4, 3>>>> {};
using Small = Plan<Net, CrossEntropy, SGD, Batch<4, KeepLast>, DataParallel<2>>;
using Trains = Trainer<Small, CpuThreads>;

const std::vector<std::int32_t> ids{0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1};
const std::vector<std::int32_t> labels{0, 1, 2, 0};
const std::vector<float> numbers{1, 2, 3, 4, 5, 6, 7, 8};
const std::vector<std::uint8_t> bytes(16, 100);

}  // namespace

TEST_CASE("a batch has its inputs in their order, and a slice has the same rows of each") {
  const auto batch = examples(ids, labels, 3).with_input(numbers, 2).with_input(bytes, 4);
  CHECK(batch.more.count == 2);
  CHECK((batch.more.all[0].data == numbers.data() && batch.more.all[0].type == ElementType::float32 && batch.more.all[0].elements == 8));
  const auto part = batch.slice(1, 2);
  CHECK(part.more.all[0].data == numbers.data() + 2);
  CHECK(part.more.all[1].data == bytes.data() + 4);
  CHECK(part.more.all[1].elements == 12);
  for (const auto& each : batch.batches<3>()) CHECK(each.more.count == 2);
}

TEST_CASE("a temporary is kept with the batch, also with one that keeps others") {
  const auto make = [] {
    return examples(std::vector<std::int32_t>(6, 1), std::vector<std::int32_t>{0, 1}, 3).with_input(std::vector<float>{7, 8, 9, 10}, 2);
  };
  const auto copy = make().slice(1, 1);
  CHECK(static_cast<const float*>(copy.more.all[0].data)[0] == 9);
  CHECK(copy.input(0)[2] == 1);
}

TEST_CASE("rows in an order take the rows of each input in that order, and their array has the source rows") {
  const std::vector<std::uint32_t> order{3, 1};
  auto batch = examples(ids, labels, 3);
  batch.order = order.data();
  batch.rows = 2;
  const auto ordered = batch.with_input(numbers, 2).with_input(bytes, 4);
  Trains a{{}, Seed{1}}, b{{}, Seed{1}};
  const std::vector<std::int32_t> ids_there{4, 0, 1, 3, 4, 0}, labels_there{0, 1};
  const std::vector<float> numbers_there{7, 8, 3, 4};
  CHECK(a.evaluate(ordered).outputs ==
        b.evaluate(examples(ids_there, labels_there, 3).with_input(numbers_there, 2).with_input(std::vector<std::uint8_t>(8, 100), 4)).outputs);
  CHECK(sentence([&] { (void)batch.with_input(std::vector<float>(6), 2); }) ==
        "[heddle.D07] input 1 has 6 elements for 4 rows of 2. Fix: give rows x features elements, and the number of features of one row.");
}

TEST_CASE("a batch of other inputs than the model takes is refused in one sentence, and the trainer goes on") {
  Trains trainer{{}, Seed{1}};
  const auto first = examples(ids, labels, 3);
  const auto said = [&](const auto& batch) { return sentence([&] { trainer.step(batch); }); };
  CHECK(said(first) ==
        "[heddle.D34] the batch has 1 input, but Net takes 3. Fix: give the others in their order, by batch.with_input(array, "
        "features_of_a_row).");
  CHECK(said(first.with_input(bytes, 4).with_input(numbers, 2))
            .find("[heddle.D33] input 1 of Net takes float inputs but the rows have std::uint8_t inputs.") == 0);
  CHECK(said(first.with_input(std::vector<float>(12), 3).with_input(bytes, 4)) ==
        "[heddle.D07] input 1 of the batch has 3 features a row, but Net takes 2. Fix: give rows of the model's shape.");
  CHECK(said(first.with_input(numbers, 2).with_input(bytes, 4).with_input(bytes, 4)) ==
        "[heddle.D34] the batch has 4 inputs, but Net takes 3. Fix: leave out what the model does not take, or state it in Inputs<...>.");
  CHECK(sentence([&] { (void)first.with_input(numbers, 3); }) ==
        "[heddle.D07] input 1 has 8 elements for 4 rows of 3. Fix: give rows x features elements, and the number of features of one row.");
  CHECK(sentence([&] { (void)first.with_input(bytes, 4).with_input(bytes, 4).with_input(bytes, 4).with_input(bytes, 4); }) ==
        "[heddle.D34] a batch is given input 4, but a model has at most 4 inputs. Fix: put some of them into one array, one behind the other in each "
        "row.");
  CHECK(trainer.steps() == 0);
  CHECK(trainer.step(first.with_input(numbers, 2).with_input(bytes, 4)).rows == 4);
}

TEST_CASE("a prediction is given one array for each input") {
  Trains trainer{{}, Seed{1}};
  CHECK(trainer.predict(ids, numbers, bytes) == trainer.evaluate(examples(ids, labels, 3).with_input(numbers, 2).with_input(bytes, 4)).outputs);
  CHECK(sentence([&] { (void)trainer.predict(ids); }).find("[heddle.D34] the batch has 1 input, but Net takes 3.") == 0);
  CHECK(sentence([&] { (void)trainer.predict(ids, bytes, bytes); }).find("[heddle.D33] input 1 of Net takes float inputs") == 0);
  CHECK(sentence([&] {
          (void)trainer.predict(ids, numbers, std::vector<std::uint8_t>(15));
        }).find("[heddle.D07] input 2 has 15 elements for 4 rows of 4.") == 0);
}

TEST_CASE("a loss that is not finite is found where it begins, and an id that no table has is told with its input") {
  Trains trainer{{}, Seed{1}};
  std::vector<float> damaged = numbers;
  damaged[5] = std::numeric_limits<float>::quiet_NaN();
  CHECK(sentence([&] {
          trainer.step(examples(ids, labels, 3).with_input(damaged, 2).with_input(bytes, 4));
        }).find("it begins in layer 2 '1.1.0' FromInput<1>, row 2, feature 1.") != std::string::npos);
  struct Two
      : Sequential<Inputs<Input<3>, Input<3>>, Branches<Add, Embedding<5, 2>, Sequential<FromInput<1>, Embedding<4, 2>>>, Flatten, Linear<6, 3>> {};
  Trainer<Plan<Two, CrossEntropy, SGD, Batch<4>, Single>, CpuThreads> words{{}, Seed{1}};
  CHECK(sentence([&] { words.step(examples(ids, labels, 3).with_input(ids, 3)); }) ==
        "[heddle.R09] row 1 of the batch has token id 4 at position 1 of input 1, but the vocabulary has 4 tokens. Fix: use ids from 0 to 3.");
}
