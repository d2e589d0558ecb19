// SPDX-License-Identifier: MIT
#include "heddle/run/runner.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "heddle/backend/cpu_threads.hpp"
#include "heddle/io/safetensors.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

template <class Policy> using Applied = Inference<Skips, Batch<16, KeepLast>, Grain<2>, Policy>;
template <class Policy> using Training = Plan<Skips, CrossEntropy, Adam, Batch<16, KeepLast>, Grain<2>, Policy>;

constexpr int rows = 37;  // two whole batches and five rows
const std::vector<float> inputs = [] {
  std::vector<float> all;
  for (int i = 0; i < rows * 8; ++i) all.push_back(static_cast<float>((37 * i + i * i) % 127) / 128.0F);
  return all;
}();

template <class Policy> void gives_the_bits_of_one_device() {
  Runner<Applied<Single>, CpuThreads> alone{Seed{3}};
  Runner<Applied<Policy>, CpuThreads> spread{Seed{3}};
  const std::vector<float> outputs = spread.predict(inputs);
  CHECK(outputs.size() == rows * 3);
  CHECK(outputs == alone.predict(inputs));
  const std::vector<float> one = alone.predict({0.5F, 0.25F, 0, 0, 1, 0, 0, 0.125F});  // a row in braces
  CHECK(one == alone.predict(std::vector<float>{0.5F, 0.25F, 0, 0, 1, 0, 0, 0.125F}));
  for (int r = 0; r < devices<Applied<Policy>>; ++r)
    CHECK(spread.executor(Rank{r}).arena().high_water() ==
          Bytes{Applied<Policy>::evaluation.arenas[Applied<Policy>::evaluation.mesh.coordinate(Rank{r}, Axis::stage)].total});
}

}  // namespace

TEST_CASE("outputs are in the order of the rows, with the bits of one device, and the arena is used to its end, under every policy") {
  gives_the_bits_of_one_device<DataParallel<2>>();
  gives_the_bits_of_one_device<DataParallel<8>>();
  gives_the_bits_of_one_device<Sharded<4>>();
  gives_the_bits_of_one_device<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2, Keep::Step>>>();
  gives_the_bits_of_one_device<Sharded<2, OptimizerState>>();
  gives_the_bits_of_one_device<Hybrid<Pipeline<Balanced<2>>, Sharded<2>, DataParallel<2>>>();
  gives_the_bits_of_one_device<Pipeline<Balanced<3>>>();
  gives_the_bits_of_one_device<Pipeline<Balanced<3>, GPipe, Microbatches<4>>>();
  gives_the_bits_of_one_device<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>>();
}

namespace {

/// Split by columns and rows in turn: a layer that is split by rows adds a bias on one rank of axis tensor and zeros on the others.
struct Wide : Sequential<Linear<8, 20>, ReLU, Linear<20, 12>, Tanh, Linear<12, 12>, Sigmoid, Linear<12, 4>, Residual<Tanh>, Linear<4, 3>> {};
/// A layer whose output is gathered part by part, each part of a few floats and on a line of its own.
struct Narrow : Sequential<Column<Linear<8, 12>>, Tanh, Linear<12, 3>> {};

/// The outputs of one device, twice from the same arenas, each of which is used to its end and no further.
template <class Model, class Rows, class Policy> void applies_in_its_arena() {
  using I = Inference<Model, Rows, Policy>;
  CAPTURE(devices<I>);
  Runner<Inference<Model, Rows, Single>, CpuThreads> alone;
  Runner<I, CpuThreads> split;
  for (const std::string& name : alone.parameter_names()) {
    std::vector<float> values = alone.parameter(name);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>((i * 3 + i / 7) % 5) / 4.0F - 0.375F;
    alone.set_parameter(name, values);
  }
  split.load(alone);
  const std::vector<float> wanted = alone.predict(inputs);
  for (int time = 0; time < 2; ++time) {
    const std::vector<float> got = split.predict(inputs);
    REQUIRE(got.size() == wanted.size());
    // Five products of at most 20 terms below 1 in size, each in another order: an element moves by at most 5 x 20 x 20 x 2^-24.
    for (std::size_t i = 0; i < got.size(); ++i) CHECK(std::fabs(got[i] - wanted[i]) <= 2000 * 0x1p-24F);
  }
  for (int r = 0; r < devices<I>; ++r) CHECK(split.executor(Rank{r}).arena().high_water() <= split.executor(Rank{r}).arena().size());
}

}  // namespace

TEST_CASE("split layers are applied within the arena: with biases that one rank adds, and parts that are gathered") {
  applies_in_its_arena<Wide, Batch<1>, TensorParallel<4>>();
  applies_in_its_arena<Wide, Batch<16, KeepLast>, TensorParallel<2>>();
  applies_in_its_arena<Wide, Batch<64, KeepLast>, TensorParallel<2>>();
  applies_in_its_arena<Wide, Batch<16, KeepLast>, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>>();
  applies_in_its_arena<Narrow, Batch<1>, TensorParallel<4>>();
  applies_in_its_arena<Narrow, Batch<3, KeepLast>, TensorParallel<2>>();
}

namespace {

template <class Slices> void sends_what_it_states() {
  using I = Applied<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Slices, DataParallel<2>>>;
  Runner<I, CpuThreads> runner{Seed{3}};
  runner.session().transport().clear_traffic();
  (void)runner.predict(std::span{inputs}.first(16 * 8));  // one batch
  const auto sent = [&](int rank, Movement kind) { return runner.session().transport().sent(Rank{rank}, kind).bytes; };
  for (int r = 0; r < devices<I>; ++r) {
    CHECK(sent(r, Movement::point_to_point) == traffic<I>().sent_to_peers(Rank{r}));
    CHECK(sent(r, Movement::all_gather) == traffic<I>().sent_in_gathers(Rank{r}));
    CHECK(sent(r, Movement::all_gather) > Bytes{0});
    CHECK(sent(r, Movement::all_reduce) + sent(r, Movement::reduce_scatter) == Bytes{0});
  }
}

}  // namespace

TEST_CASE("each rank sends what the constants say: values forward, gathers where parameters are sliced, and nothing else") {
  sends_what_it_states<Sharded<2>>();
  sends_what_it_states<Sharded<2, Keep::Step>>();
}

TEST_CASE("a model without parameters is applied: there is nothing to train, and nothing to ask for") {
  struct Squash : Sequential<Input<2, 4>, Flatten, Tanh> {};
  using Alone = Inference<Squash, Batch<16, KeepLast>, Single>;
  using Spread = Inference<Squash, Batch<16, KeepLast>, DataParallel<2>>;
  using Staged = Inference<Squash, Batch<16, KeepLast>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>;
  static_assert(check<Alone>().ok() && check<Plan<Squash, MeanSquaredError, SGD, Batch<16>, Single>>().code == Code{'G', 9});
  const std::vector<float> outputs = Runner<Alone, CpuThreads>{}.predict(inputs);
  CHECK(outputs[5] == doctest::Approx(std::tanh(inputs[5])));
  CHECK(Runner<Spread, CpuThreads>{}.predict(inputs) == outputs);
  CHECK(Runner<Staged, CpuThreads>{}.predict(inputs) == outputs);
}

TEST_CASE("row i of the outputs belongs to row i of the inputs") {
  Runner<Applied<DataParallel<4>>, CpuThreads> runner{Seed{3}};
  const std::vector<float> all = runner.predict(inputs);
  for (int i = 0; i < rows; ++i) {
    const std::vector<float> one = runner.predict(std::span{inputs}.subspan(8 * i, 8));
    CHECK(std::equal(one.begin(), one.end(), all.begin() + 3 * i));
  }
}

TEST_CASE("parameters are handed over from a trainer under another policy, from a runner and from a file") {
  Trainer<Training<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>, CpuThreads> trainer{{.learning_rate = 1e-2}, Seed{1}};
  const std::vector<std::int32_t> labels(16, 2);
  trainer.step(examples(std::span{inputs}.first(16 * 8), std::span<const std::int32_t>{labels}, 8));
  const std::vector<float> expected = trainer.predict(inputs);

  Runner<Applied<DataParallel<2>>, CpuThreads> from_trainer;
  CHECK(from_trainer.predict(inputs) != expected);
  from_trainer.load(trainer);
  CHECK(from_trainer.predict(inputs) == expected);

  Runner<Applied<Single>, CpuThreads> from_runner;
  from_runner.load(from_trainer);
  CHECK(from_runner.predict(inputs) == expected);

  TensorFile file;
  for (const std::string& name : trainer.parameter_names()) {
    const std::vector<float> values = trainer.parameter(name);
    const Shape& shape = trainer.parameter_shape(name);
    file.put<float>(name, {shape.sizes, shape.sizes + shape.dimensions}, values);
  }
  Runner<Applied<Hybrid<Pipeline<Balanced<3>>, Sharded<2>>>, CpuThreads> from_file;
  from_file.load(file);
  CHECK(from_file.predict(inputs) == expected);
}

TEST_CASE("a file of another model is refused whole: every other shape, missing and surplus tensor stands in one sentence, and nothing is changed") {
  Runner<Inference<Narrow, Batch<3, KeepLast>, Single>, CpuThreads> runner{Seed{1}};
  const std::vector<float> before = runner.predict(inputs);
  const auto refusal = [&](const TensorFile& file) -> std::string {
    try {
      runner.load(file);
    } catch (const Error& error) {
      CHECK(runner.predict(inputs) == before);
      return error.what();
    }
    return "loaded";
  };
  TensorFile file;
  for (const std::string& name : runner.parameter_names()) {
    const Shape& shape = runner.parameter_shape(name);
    file.put<float>(name, {shape.sizes, shape.sizes + shape.dimensions}, std::vector<float>(static_cast<std::size_t>(shape.elements()), 0.5F));
  }
  TensorFile more = file;
  more.put<float>("9.bias", {1}, std::vector<float>{1});
  CHECK(refusal(more) ==
        "[heddle.D16] the tensors are not those of Narrow: '9.bias' is not in the model; nearest: '0.bias', '2.bias'. Fix: load a file "
        "of the same model, or set single tensors with set_parameter.");
  more.put<float>("0.weight", {8, 12}, std::vector<float>(96));  // transposed
  more.put<std::int32_t>("2.bias", {3}, std::vector<std::int32_t>(3));
  CHECK(refusal(more) ==
        "[heddle.D16] the tensors are not those of Narrow: '0.weight' has shape [8, 12], not [12, 8]; '2.bias' is of I32, not F32; "
        "'9.bias' is not in the model; nearest: '0.bias', '2.bias'. Fix: load a file of the same model, or set single tensors with set_parameter.");
  CHECK(refusal(TensorFile{}) ==
        "[heddle.D16] the tensors are not those of Narrow: '0.weight' is missing; '0.bias' is missing; '2.weight' is missing; "
        "'2.bias' is missing. Fix: load a file of the same model, or set single tensors with set_parameter.");
  Runner<Applied<Single>, CpuThreads> other;
  CHECK_THROWS_WITH(runner.load(other), doctest::Contains("[heddle.D16] the tensors are not those of Narrow: "));
  CHECK(refusal(file) == "loaded");
  CHECK(runner.predict(inputs) != before);
}

TEST_CASE("parameters of another model and inputs that are no rows are refused") {
  Runner<Applied<Single>, CpuThreads> runner;
  const std::vector<float> two{1, 2};
  CHECK_THROWS_AS(runner.set_parameter(runner.parameter_names().front(), two), Error);
  CHECK_THROWS_AS(runner.set_parameter("none", two), Error);
  CHECK_THROWS_AS((void)runner.predict(std::span{inputs}.first(7)), Error);
  TensorFile empty;
  CHECK_THROWS_AS(runner.load(empty), Error);
  CHECK(runner.predict({}).empty());
}
