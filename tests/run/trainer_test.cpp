// SPDX-License-Identifier: MIT
#include "heddle/run/trainer.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/backend/cpu_threads.hpp"
#include "heddle/io/synthetic.hpp"

using namespace heddle;

namespace {

struct Model : Sequential<Named<"first", Linear<6, 9>>, Tanh, Named<"last", Linear<9, 4>>> {};

template <class Rows, class... Parts> using Of = Plan<Model, CrossEntropy, SGD, Rows, Parts...>;
using Exact = Of<Batch<16>, DataParallel<2>>;
using Kept = Of<Batch<16, KeepLast>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Grain<2>>;
using Dropped = Of<Batch<16, DropLast>, DataParallel<2>>;
using Filled = Of<Batch<16, PadLast>, DataParallel<2>>;

struct Rows {
  std::vector<float> inputs;
  std::vector<std::int32_t> labels;
  explicit Rows(int rows = 64) {
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < 6; ++j) inputs.push_back(static_cast<float>((37 * i + 101 * j + i * j) % 127) / 128.0F);
      labels.push_back((7 * i + 3) % 4);
    }
  }
  [[nodiscard]] Examples<std::int32_t> all() const { return examples(std::span<const float>{inputs}, std::span<const std::int32_t>{labels}, 6); }
  [[nodiscard]] Examples<std::int32_t> batch(std::int64_t first = 0, std::int64_t count = 16) const { return all().slice(first, count); }
};
const Rows rows;

/// The sentence of the error that an action throws; it must have the code and a remedy.
template <class Action> std::string refused(Code code, Action action) {
  try {
    action();
  } catch (const Error& error) {
    CHECK((error.code() == code));
    CHECK(std::string{error.what()}.find(". Fix: ") != std::string::npos);
    return error.what();
  }
  FAIL("nothing was thrown");
  return "";
}
bool contains(const std::string& sentence, const std::string& words) { return sentence.find(words) != std::string::npos; }

}  // namespace

TEST_CASE("a batch that is not the plan's is refused with the numbers, and nothing is changed") {
  Trainer<Exact, CpuThreads> exact{{}, Seed{1}};
  const std::uint64_t before = exact.parameter_hash();
  CHECK(contains(refused(Code{'B', 5}, [&] { exact.step(rows.batch(0, 15)); }), "a batch of 15 rows was given to a plan with Batch<16>"));
  CHECK(contains(refused(Code{'B', 5}, [&] { exact.step(rows.batch(0, 0)); }), "a batch of 0 rows"));
  auto fewer_than_none = rows.batch();
  fewer_than_none.rows = -3;
  CHECK(contains(refused(Code{'B', 5}, [&] { exact.step(fewer_than_none); }), "a batch of -3 rows was given. Fix: give at least one row."));
  CHECK(contains(refused(Code{'B', 5}, [&] { (void)exact.evaluate(fewer_than_none); }), "a batch of -3 rows was given"));
  CHECK(contains(refused(Code{'B', 6}, [&] { exact.step(rows.batch(0, 17)); }), "a batch of 17 rows was given to a plan with Batch<16>"));
  Trainer<Kept, CpuThreads> kept{{}, Seed{1}};
  refused(Code{'B', 6}, [&] { kept.step(rows.batch(0, 17)); });
  refused(Code{'B', 5}, [&] { kept.step(rows.batch(0, 0)); });
  CHECK(contains(refused(Code{'D', 10}, [&] { (void)kept.evaluate(rows.batch(0, 0)); }), "a batch of 0 rows has no target that the loss counts"));
  CHECK(exact.parameter_hash() == before);
  CHECK(exact.steps() == 0);
  CHECK(exact.step(rows.batch()).step == 1);
}

TEST_CASE("rows of another shape are refused with both shapes") {
  Trainer<Exact, CpuThreads> trainer{{}, Seed{1}};
  const auto wide = examples(std::span<const float>{rows.inputs}.first(16 * 12), std::span<const std::int32_t>{rows.labels}.first(16), 12);
  CHECK(contains(refused(Code{'D', 7}, [&] { trainer.step(wide); }), "the batch has 12 features and 1 target values a row, but Model takes 6 and 1"));
  refused(Code{'D', 7}, [&] { (void)trainer.evaluate(wide); });
  using Regression = Plan<Model, MeanSquaredError, SGD, Batch<16>, Single>;
  Trainer<Regression, CpuThreads> regression{{}, Seed{1}};
  const std::vector<float> targets(16 * 3, 0.0F);
  const auto narrow = examples(std::span<const float>{rows.inputs}.first(16 * 6), std::span<const float>{targets}, 6);
  CHECK(contains(refused(Code{'D', 7}, [&] { regression.step(narrow); }), "6 features and 3 target values a row, but Model takes 6 and 4"));
  const RegressionDataset data = synthetic_regression(Seed{2}, 48, 6, 4);
  regression.optimizer().learning_rate = 0.1;
  const double before = regression.evaluate(data.all()).loss;
  for (int epoch = 0; epoch < 40; ++epoch)
    for (const auto& batch : data.shuffled(Seed{1}, epoch).batches<Regression>()) regression.step(batch);
  CHECK(regression.evaluate(data.all()).loss < 0.5 * before);
}

TEST_CASE("a label that is no class names its row, on whatever rank, and nothing is changed") {
  Rows wrong;
  Trainer<Exact, CpuThreads> trainer{{}, Seed{1}};
  const std::uint64_t before = trainer.parameter_hash();
  for (const std::int32_t label : {-1, 4, 1000}) {
    wrong.labels[13] = label;
    CHECK(contains(refused(Code{'D', 8}, [&] { trainer.step(wrong.batch()); }),
                   "row 13 of the batch has label " + std::to_string(label) + ", but the model gives 4 classes"));
    refused(Code{'D', 8}, [&] { (void)trainer.evaluate(wrong.batch()); });
  }
  CHECK(trainer.parameter_hash() == before);
  Trainer<Exact, CpuThreads> never_saw_it{{}, Seed{1}};
  trainer.step(rows.batch());
  never_saw_it.step(rows.batch());
  CHECK(trainer.parameter_hash() == never_saw_it.parameter_hash());
}

TEST_CASE("an option out of range is refused at construction and at the step that would use it") {
  const auto make = [](SGD::Options options) { const Trainer<Exact, CpuThreads> trainer{options, Seed{1}}; };
  CHECK(contains(refused(Code{'O', 1}, [&] { make({.learning_rate = -1}); }), "learning_rate = -1"));
  refused(Code{'O', 1}, [&] { make({.learning_rate = 0.1, .weight_decay = std::numeric_limits<double>::quiet_NaN()}); });
  Trainer<Exact, CpuThreads> trainer{{}, Seed{1}};
  const std::uint64_t before = trainer.parameter_hash();
  trainer.optimizer().learning_rate = std::numeric_limits<double>::infinity();
  refused(Code{'O', 1}, [&] { trainer.step(rows.batch()); });
  CHECK(trainer.parameter_hash() == before);
  trainer.optimizer().learning_rate = 0.1;
  CHECK_NOTHROW(trainer.step(rows.batch()));
}

TEST_CASE("parameters have names, are read and set by them, and a wrong name, size or replica is refused") {
  Trainer<Exact, CpuThreads> trainer{{}, Seed{1}};
  CHECK(trainer.parameter_names() == std::vector<std::string>{"first.weight", "first.bias", "last.weight", "last.bias"});
  std::vector<float> weight(9 * 6);
  std::iota(weight.begin(), weight.end(), 1.0F);
  trainer.set_parameter("first.weight", weight);
  for (int replica = 0; replica < trainer.replicas(); ++replica) CHECK(trainer.parameter("first.weight", replica) == weight);
  trainer.set_parameter("first.bias", {1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(trainer.parameter("first.bias", 1) == std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8, 9});
  CHECK(trainer.replicas() == 2);
  CHECK(contains(refused(Code{'R', 5}, [&] { trainer.set_parameter("first.wieght", weight); }),
                 "Model has no parameter 'first.wieght'; nearest: 'first.weight'. Fix: "));
  CHECK(contains(refused(Code{'R', 5}, [&] { trainer.set_parameter("first.bias", weight); }), "'first.bias' has 9 elements but is given 54"));
  CHECK(contains(refused(Code{'R', 5}, [&] { (void)trainer.parameter("last.bias", 2); }), "replica 2 of 2 does not exist"));
  refused(Code{'R', 5}, [&] { (void)trainer.gradient("bias"); });
  CHECK(trainer.parameter("first.weight") == weight);
}

TEST_CASE("the hash is the same for the same bits and another for one changed bit, wherever the stage is") {
  Trainer<Kept, CpuThreads> trainer{{}, Seed{1}};
  Trainer<Kept, CpuThreads> twin{{}, Seed{1}};
  Trainer<Kept, CpuThreads> other{{}, Seed{2}};
  CHECK(trainer.parameter_hash() == twin.parameter_hash());
  CHECK(trainer.parameter_hash() != other.parameter_hash());
  for (const std::string& name : trainer.parameter_names()) {
    std::vector<float> values = twin.parameter(name);
    values.back() = std::nextafter(values.back(), 10.0F);
    twin.set_parameter(name, values);
    CHECK(trainer.parameter_hash() != twin.parameter_hash());
    twin.set_parameter(name, trainer.parameter(name));
    CHECK(trainer.parameter_hash() == twin.parameter_hash());
  }
}

TEST_CASE("the callback comes with every so many steps, and only these have a loss") {
  Trainer<Exact, CpuThreads> trainer{{}, Seed{1}};
  std::vector<StepResult> told;
  trainer.on_step([&](const StepResult& result) { told.push_back(result); }, Every{3});
  for (int step = 1; step <= 7; ++step) {
    const StepResult result = trainer.step(rows.batch());
    CHECK(result.step == step);
    CHECK(result.rows == 16);
    CHECK(result.loss.has_value() == (step % 3 == 0));
    if (step % 3 != 0) CHECK(contains(refused(Code{'R', 12}, [&] { (void)*result.loss; }), "the loss of step " + std::to_string(step)));
  }
  REQUIRE(told.size() == 2);
  CHECK(told[0].step == 3);
  CHECK(told[1].step == 6);
  CHECK(told[0].loss.value() > told[1].loss.value());
  CHECK(trainer.steps() == 7);
}

TEST_CASE("a callback every 0 steps is refused") {
  Trainer<Exact, CpuThreads> trainer{{}, Seed{1}};
  for (const std::int64_t steps : {0, -3}) refused(Code{'O', 1}, [&] { trainer.on_step([](const StepResult&) {}, Every{steps}); });
  CHECK_NOTHROW(trainer.step(rows.batch()));
}

TEST_CASE("every step has its loss without a callback, the same that a callback is told") {
  Trainer<Exact, CpuThreads> silent{{.learning_rate = 0.1}, Seed{1}};
  Trainer<Exact, CpuThreads> asked{{.learning_rate = 0.1}, Seed{1}};
  float told = 0;
  asked.on_step([&](const StepResult& result) { told = *result.loss; });
  for (int step = 0; step < 4; ++step) {
    asked.step(rows.batch(16 * step));
    CHECK(*silent.step(rows.batch(16 * step)).loss == told);
    CHECK(told > 0);
  }
}

TEST_CASE("a callback that replaces or removes itself runs to its end") {
  Trainer<Exact, CpuThreads> trainer{{}, Seed{1}};
  std::string said;
  const std::string words(100, 'x');  // longer than a std::function keeps in itself
  trainer.on_step([&, words](const StepResult& result) {
    if (result.step == 2) trainer.on_step({}, Every{2});
    said += words.substr(0, 1) + std::to_string(result.step);
  });
  for (int step = 1; step <= 4; ++step) CHECK(trainer.step(rows.batch()).loss.has_value() == (step != 3));
  CHECK(said == "x1x2");
}

TEST_CASE("a callback reads parameters and calls nothing that runs or writes, and the trainer goes on") {
  Trainer<Exact, CpuThreads> trainer{{.learning_rate = 0.1}, Seed{1}};
  Trainer<Exact, CpuThreads> alone{{.learning_rate = 0.1}, Seed{1}};
  const std::vector<float> bias(9);
  trainer.on_step([&](const StepResult& result) {
    CHECK(trainer.parameter_hash() == trainer.parameter_hash(1));
    CHECK(trainer.gradient("last.bias").size() == trainer.parameter("last.bias").size());
    CHECK(contains(refused(Code{'R', 11}, [&] { trainer.step(rows.batch()); }), "step() was called while another call"));
    refused(Code{'R', 11}, [&] { (void)trainer.evaluate(rows.batch()); });
    refused(Code{'R', 11}, [&] { (void)trainer.predict(rows.inputs); });
    refused(Code{'R', 11}, [&] { trainer.set_parameter("first.bias", bias); });
    CHECK(trainer.steps() == result.step);
    if (result.step == 2) throw std::runtime_error{"enough"};
  });
  trainer.step(rows.batch());
  CHECK_THROWS_WITH(trainer.step(rows.batch()), "enough");
  trainer.on_step({});
  for (int step = 0; step < 3; ++step) alone.step(rows.batch());
  CHECK(trainer.step(rows.batch()).step == 3);
  CHECK(trainer.parameter_hash() == alone.parameter_hash());
}

TEST_CASE("an observer that calls the trainer is refused on whatever rank, and the trainer goes on") {
  struct Caller : Observer {
    std::function<void(const Observation&)> call;
    void started(const Observation& seen) override { call(seen); }
  };
  Trainer<Kept, CpuThreads> trainer{{.learning_rate = 0.1}, Seed{1}};
  Trainer<Kept, CpuThreads> alone{{.learning_rate = 0.1}, Seed{1}};
  const std::vector<float> bias(9);
  const std::vector<std::function<void()>> calls{[&] { trainer.step(rows.batch()); },
                                                 [&] { (void)trainer.evaluate(rows.batch()); },
                                                 [&] { (void)trainer.predict(rows.inputs); },
                                                 [&] { trainer.set_parameter("first.bias", bias); },
                                                 [&] { (void)trainer.parameter("first.bias"); },
                                                 [&] { (void)trainer.gradient("first.bias"); },
                                                 [&] { (void)trainer.parameter_hash(); },
                                                 [&] { trainer.on_step({}); }};
  for (const int rank : {0, 1})
    for (const auto& call : calls) {
      Caller caller;
      caller.call = [&](const Observation& seen) {
        if (seen.rank.value == rank) call();
      };
      trainer.observe(&caller);
      CHECK(contains(refused(Code{'R', 11}, [&] { trainer.step(rows.batch()); }), "while another call of the same trainer is under way"));
      trainer.observe(nullptr);
    }
  CHECK(trainer.steps() == 0);
  trainer.step(rows.batch());
  alone.step(rows.batch());
  CHECK(trainer.parameter_hash() == alone.parameter_hash());
}

TEST_CASE("an observer that takes itself away is kept until the step ends and told nothing after it") {
  struct Once : Observer {
    std::function<void()> leave;
    std::atomic<int> told{0};
    void finished(const Observation&) override {
      leave();
      ++told;
    }
  };
  Trainer<Exact, CpuThreads> trainer{{}, Seed{1}};
  Once once;
  once.leave = [&] { trainer.observe(nullptr); };
  trainer.observe(&once);
  trainer.step(rows.batch());
  const int told = once.told;
  CHECK(told > 2);
  trainer.step(rows.batch());
  CHECK(once.told == told);
}

TEST_CASE("a deadline of 0 or below is refused, and nothing is left running") {
  for (const int length : {0, -1}) {
    const RunOptions late{.deadline = std::chrono::seconds{length}};
    refused(Code{'R', 13}, [&] { const Trainer<Exact, CpuThreads> trainer({}, Seed{1}, late); });
  }
}

TEST_CASE("a loss that nobody asks for changes no parameter") {
  Trainer<Exact, CpuThreads> asked{{.learning_rate = 0.1}, Seed{1}};
  Trainer<Exact, CpuThreads> silent{{.learning_rate = 0.1}, Seed{1}};
  silent.on_step({}, Every::never());
  for (int step = 0; step < 4; ++step) {
    asked.step(rows.batch(16 * step));
    CHECK_FALSE(silent.step(rows.batch(16 * step)).loss.has_value());
  }
  CHECK(asked.parameter_hash() == silent.parameter_hash());
}

TEST_CASE("the learning rate is changed in one place and holds from the next step on") {
  Trainer<Exact, CpuThreads> trainer{{.learning_rate = 0.5}, Seed{1}};
  Trainer<Exact, CpuThreads> slow{{.learning_rate = 0.125}, Seed{1}};
  const std::vector<float> before = trainer.parameter("last.bias");
  trainer.optimizer().learning_rate = 0;
  trainer.step(rows.batch());
  CHECK(trainer.parameter("last.bias") == before);
  trainer.optimizer().learning_rate = 0.125;
  trainer.step(rows.batch());
  slow.step(rows.batch());
  CHECK(trainer.parameter_hash() == slow.parameter_hash());
  CHECK(trainer.optimizer().weight_decay == 0);  // what was not named was not touched
  // p - rate x gradient, for powers of two without a rounding of its own in the product
  const std::vector<float> gradient = trainer.gradient("last.bias");
  for (std::size_t i = 0; i < before.size(); ++i) CHECK(trainer.parameter("last.bias")[i] == before[i] - 0.125F * gradient[i]);
}

TEST_CASE("a smaller batch is kept, filled up or left out as the plan says") {
  Trainer<Kept, CpuThreads> kept{{}, Seed{1}};
  CHECK(kept.step(rows.batch(0, 5)).rows == 5);
  Trainer<Filled, CpuThreads> filled{{}, Seed{1}};
  CHECK(filled.step(rows.batch(0, 5)).rows == 16);
  Trainer<Dropped, CpuThreads> dropped{{}, Seed{1}};
  int told = 0;
  dropped.on_step([&](const StepResult&) { ++told; });
  CHECK_THROWS_WITH_AS(dropped.step(rows.batch(0, 5)),
                       doctest::Contains("[heddle.B05] a batch of 5 rows was given to a plan with Batch<16, DropLast>"),
                       Error);  // the first: no batch of such a loop would train
  CHECK(dropped.step(rows.batch()).step == 1);
  CHECK(told == 1);
  const std::uint64_t before = dropped.parameter_hash();
  const StepResult result = dropped.step(rows.batch(0, 5));
  CHECK(result.rows == 0);
  CHECK(result.step == 1);
  CHECK_FALSE(result.loss.has_value());
  CHECK(told == 1);
  CHECK(dropped.parameter_hash() == before);
  CHECK(dropped.step(rows.batch()).step == 2);
}

TEST_CASE("a batch that is filled up repeats its rows from the front") {
  Trainer<Filled, CpuThreads> filled{{.learning_rate = 0.1}, Seed{1}};
  Trainer<Exact, CpuThreads> whole{{.learning_rate = 0.1}, Seed{1}};
  std::vector<std::uint32_t> repeated(16);
  for (std::uint32_t i = 0; i < 16; ++i) repeated[i] = i % 5;
  Examples<std::int32_t> batch = rows.all();
  batch.order = repeated.data();
  batch.rows = 16;
  whole.step(batch);
  filled.step(rows.batch(0, 5));
  CHECK(filled.parameter_hash() == whole.parameter_hash());
}

TEST_CASE("the mean of a kept batch is over the rows that are there") {
  using Small = Of<Batch<4>, Single>;
  Trainer<Kept, CpuThreads> kept{{}, Seed{1}};
  Trainer<Small, CpuThreads> small{{}, Seed{1}};
  float kept_loss = 0;
  float small_loss = 0;
  kept.on_step([&](const StepResult& r) { kept_loss = r.loss.value(); });
  small.on_step([&](const StepResult& r) { small_loss = r.loss.value(); });
  kept.step(rows.batch(0, 4));
  small.step(rows.batch(0, 4));
  // Four rows of a loss near ln 4 = 1.4: another order of three additions differs by at most 3 x 2^-24 x 1.4 x 2 < 1e-6.
  CHECK(std::abs(kept_loss - small_loss) < 1e-6F);
}

TEST_CASE("rows are taken in the order that the batch gives") {
  std::vector<std::uint32_t> backwards(16);
  for (std::uint32_t i = 0; i < 16; ++i) backwards[i] = 15 - i;
  Rows reversed{16};
  for (std::size_t i = 0; i < 16; ++i) {
    reversed.labels[i] = rows.labels[15 - i];
    std::copy_n(rows.inputs.begin() + static_cast<std::ptrdiff_t>(6 * (15 - i)), 6, reversed.inputs.begin() + static_cast<std::ptrdiff_t>(6 * i));
  }
  Examples<std::int32_t> batch = rows.batch();
  batch.order = backwards.data();
  Trainer<Exact, CpuThreads> by_order{{.learning_rate = 0.1}, Seed{1}};
  Trainer<Exact, CpuThreads> by_rows{{.learning_rate = 0.1}, Seed{1}};
  by_order.step(batch);
  by_rows.step(reversed.batch());
  CHECK(by_order.parameter_hash() == by_rows.parameter_hash());
}

TEST_CASE("an evaluation takes any number of rows, keeps their order and changes nothing") {
  Trainer<Kept, CpuThreads> trainer{{}, Seed{1}};
  const std::uint64_t before = trainer.parameter_hash();
  const Evaluation all = trainer.evaluate(rows.all().slice(0, 53));
  CHECK(all.rows == 53);
  REQUIRE(all.outputs.size() == 53 * 4);
  double loss = 0;
  for (std::int64_t row = 0; row < 53; ++row) {
    const Evaluation one = trainer.evaluate(rows.all().slice(row, 1));
    loss += one.loss;
    CHECK(std::equal(one.outputs.begin(), one.outputs.end(), all.outputs.begin() + 4 * row));
  }
  // 53 losses of about 1.4, each rounded to a float once or twice, and sums of up to 16 of them in a float.
  CHECK(std::abs(loss / 53 - all.loss) < 20 * 1.4 / (1 << 24) * 2);
  CHECK(trainer.parameter_hash() == before);
  CHECK(trainer.steps() == 0);
}

TEST_CASE("accuracy is that of the outputs, for a batch of any number of rows and for batches, and changes nothing") {
  Trainer<Kept, CpuThreads> trainer{{.learning_rate = 0.5}, Seed{1}};
  for (int step = 0; step < 4; ++step) trainer.step(rows.batch(16 * step));
  const std::uint64_t before = trainer.parameter_hash();
  const auto some = rows.all().slice(0, 53);
  const Evaluation evaluation = trainer.evaluate(some);
  int right = 0;
  for (std::size_t i = 0; i < 53; ++i) {
    const float* const row = evaluation.outputs.data() + 4 * i;
    right += std::max_element(row, row + 4) - row == rows.labels[i] ? 1 : 0;
  }
  REQUIRE(right > 0);
  CHECK(trainer.accuracy(some) == right / 53.0);
  CHECK(trainer.accuracy(some.batches<10>()) == right / 53.0);
  CHECK(accuracy(evaluation, some) == right / 53.0);
  CHECK(trainer.parameter_hash() == before);
  CHECK(trainer.steps() == 4);
  refused(Code{'D', 10}, [&] { (void)trainer.accuracy(rows.batch(0, 0)); });
}

namespace {
Trainer<Kept, CpuThreads> made(std::uint64_t seed) {
  Trainer<Kept, CpuThreads> trainer{{.learning_rate = 0.1}, Seed{seed}};
  trainer.step(rows.batch());
  return trainer;
}
}  // namespace

TEST_CASE("a trainer is moved with all that it is: parameters, options, callbacks, observers, threads") {
  struct Count : Observer {
    std::atomic<int> seen{0};
    void finished(const Observation&) override { ++seen; }
  };
  static_assert(std::is_nothrow_move_constructible_v<Trainer<Kept, CpuThreads>> && std::is_nothrow_move_assignable_v<Trainer<Kept, CpuThreads>>);
  static_assert(!std::is_copy_constructible_v<Trainer<Kept, CpuThreads>> && !std::is_copy_assignable_v<Trainer<Kept, CpuThreads>>);
  std::vector<Trainer<Kept, CpuThreads>> all;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) all.push_back(made(seed));  // the vector grows and moves them
  Trainer<Kept, CpuThreads> twin = made(2);
  CHECK(all[1].parameter_hash() == twin.parameter_hash());
  int told = 0;
  Count count;
  auto& options = all[1].optimizer();
  all[1].on_step([&](const StepResult& r) { told = static_cast<int>(r.step); });
  all[1].observe(&count);
  Trainer<Kept, CpuThreads> moved = std::move(all[1]);
  options.learning_rate = 0.2;  // the options lie where they lay
  twin.optimizer().learning_rate = 0.2;
  CHECK(moved.step(rows.batch(16)).step == 2);
  twin.step(rows.batch(16));
  CHECK(told == 2);
  CHECK(count.seen > 0);
  CHECK(moved.parameter_hash() == twin.parameter_hash());
  const std::string said = refused(Code{'R', 27}, [&] { all[1].step(rows.batch()); });
  CHECK(contains(said, "this Trainer of Model was moved into another one"));
  refused(Code{'R', 27}, [&] { (void)all[1].evaluate(rows.batch()); });
  refused(Code{'R', 27}, [&] { (void)all[1].parameter_hash(); });
  refused(Code{'R', 27}, [&] { (void)all[1].steps(); });
  refused(Code{'R', 27}, [&] { all[1].optimizer().learning_rate = 1; });
  refused(Code{'R', 27}, [&] { all[1].observe(nullptr); });
  refused(Code{'R', 27}, [&] { all[1].save("x"); });
  refused(Code{'R', 27}, [&] { moved.load(all[1]); });
  all[1] = std::move(moved);
  CHECK(all[1].parameter_hash() == twin.parameter_hash());
}

TEST_CASE("a callback may move its trainer and give it another state: the step that is under way ends as it began") {
  Trainer<Kept, CpuThreads> trainer = made(1);
  trainer.on_step([&](const StepResult&) { trainer = made(3); });
  CHECK(trainer.step(rows.batch(16)).step == 2);
  CHECK(trainer.steps() == 1);
  CHECK(trainer.parameter_hash() == made(3).parameter_hash());
}

TEST_CASE("an observer may move or end its trainer in the middle of an accuracy, which counts all batches of the one that it began with") {
  struct Once : Observer {
    std::function<void()> act;
    std::atomic<bool> done{false};
    void finished(const Observation&) override {
      if (!done.exchange(true)) act();
    }
  };
  const double wanted = made(1).accuracy(rows.all());
  std::optional<Trainer<Kept, CpuThreads>> trainer{made(1)};
  std::optional<Trainer<Kept, CpuThreads>> moved;
  Once move;
  move.act = [&] { moved.emplace(std::move(*trainer)); };
  trainer->observe(&move);
  CHECK(trainer->accuracy(rows.all().batches<10>()) == wanted);
  CHECK(move.done);
  Once end;
  end.act = [&] { moved.reset(); };
  moved->observe(&end);
  CHECK(moved->accuracy(rows.all()) == wanted);
  CHECK_FALSE(moved.has_value());
}

TEST_CASE("the groups of a transport are the ranks that differ along one axis only") {
  using Product = Of<Batch<16>, Hybrid<Pipeline<Balanced<2>>, DataParallel<4>>>;
  const TransportNeeds needs = transport_needs(Product::training, Product::evaluation);
  CHECK(needs.ranks == 8);
  CHECK(needs.groups == std::vector<std::vector<int>>{{0, 2, 4, 6}, {1, 3, 5, 7}});
  for (int rank = 0; rank < 8; ++rank) {
    const auto& group = needs.groups[static_cast<std::size_t>(RankGroups{Product::training, Product::evaluation, Rank{rank}}[Axis::data])];
    CHECK(std::find(group.begin(), group.end(), rank) != group.end());
  }
  CHECK(transport_needs(Kept::training, Kept::evaluation).groups.empty());
  CHECK(transport_needs(Kept::training, Kept::evaluation).transfers == 2);  // two micro-batches each way
}

TEST_CASE("what is thrown without being a std::exception loses its rank like everything else, and a half step is not gone on from") {
  struct Thrower : Observer {
    ListOp at = ListOp::forward;
    void finished(const Observation& seen) override {
      if (seen.rank.value == 0 && seen.entry < 0 && seen.program->instructions[seen.instruction].op == at) throw 42;
    }
  };
  for (const ListOp at : {ListOp::forward, ListOp::step}) {
    Trainer<Kept, CpuThreads> trainer{{}, Seed{1}};
    Thrower thrower;
    thrower.at = at;
    trainer.observe(&thrower);
    const std::string said = refused(Code{'R', 1}, [&] { trainer.step(rows.batch()); });
    CHECK(contains(said, "rank 0 was lost at instruction"));
    CHECK(contains(said, "an exception that is no std::exception"));
    trainer.observe(nullptr);
    if (at == ListOp::forward) {
      CHECK(trainer.step(rows.batch()).step == 1);
    } else {
      refused(Code{'R', 4}, [&] { trainer.step(rows.batch()); });
      refused(Code{'R', 4}, [&] { (void)trainer.evaluate(rows.batch()); });
      refused(Code{'R', 4}, [&] { (void)trainer.predict(rows.inputs); });
    }
  }
}

namespace {

/// A layer of a user that throws at what it was not written for, and an optimizer that does.
struct Fragile {
  static constexpr Leaf describe(Spec in) { return elementwise("Fragile", in, 1); }
  static float forward(float x) {
    if (x > 100) throw std::range_error("the table ends at 100");
    return x;
  }
  static float backward(float, float gradient) { return gradient; }
};
struct Guarded : Sequential<Input<6>, Fragile, Named<"last", Linear<6, 4>>> {};
using OfGuarded = Plan<Guarded, CrossEntropy, SGD, Batch<16>, DataParallel<2>>;

}  // namespace

TEST_CASE("a rank without memory is told as that, and no layer is blamed for it") {
  struct Greedy : Observer {
    void started(const Observation& seen) override {
      if (seen.rank.value == 1) throw std::bad_alloc();
    }
  } greedy;
  Trainer<OfGuarded, CpuThreads> trainer{{}, Seed{1}};
  trainer.observe(&greedy);
  const std::string said = refused(Code{'R', 1}, [&] { trainer.step(rows.batch()); });
  CHECK(contains(said,
                 "rank 1 was lost at instruction 0 (forward of chunk 0, micro-batch 0), sequence 1: "
                 "the system gave no memory to the observer. Fix: free memory, or raise the limit (ulimit -v)."));
  CHECK_FALSE(contains(said, "look there"));
  trainer.observe(nullptr);
  CHECK(trainer.step(rows.batch()).step == 1);
}

TEST_CASE("what a kernel of a user throws is told with its rank, its layer and a remedy that fits, and the trainer goes on") {
  Trainer<OfGuarded, CpuThreads> trainer{{}, Seed{1}};
  Rows with_a_spike{16};
  with_a_spike.inputs[9 * 6] = 101;  // a row of rank 1
  std::string said;
  try {
    trainer.step(with_a_spike.all());
  } catch (const RankLost& lost) {
    CHECK(lost.rank() == Rank{1});
    said = lost.what();
  }
  CHECK(said ==
        "[heddle.R01] rank 1 was lost at instruction 0 (forward of chunk 0, micro-batch 0), sequence 1: the forward of layer 1 '1' Fragile threw: "
        "the table ends at 100. Fix: look there for what it says; Heddle throws nothing of this kind.");
  REQUIRE(trainer.failures().size() == 2);
  CHECK(trainer.failures()[1] == "the table ends at 100");
  CHECK(said.find("deadline") == std::string::npos);
  CHECK(trainer.failures()[0].find("deadline") == std::string::npos);  // what the other rank says of it
  CHECK_FALSE(trainer.interrupted());
  CHECK(trainer.step(rows.batch()).step == 1);
}
