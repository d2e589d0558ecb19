// SPDX-License-Identifier: MIT
// Models of several inputs: every policy has the bits of one device, each chunk loads the rows that it reads, and the numbers are those of a loop.
#include <doctest/doctest.h>

#include <cmath>

#include "equivalence/every_policy.hpp"
#include "heddle/backend/field_threads.hpp"
#include "heddle/run/runner.hpp"
#include "heddle/run/verify.hpp"

using namespace heddle;

namespace {

/// Token ids, positions, bytes and a mask: the first two are looked up in front, the mask is read in every block, the bytes at the end.
struct Masked : Residual<Branches<Concat, Linear<16, 12>, Sequential<FromInput<3>, Linear<3, 4>>>, GELU, Linear<16, 16, NoBias>> {};
struct Deep : Sequential<Inputs<Input<5>, Input<5>, Input<2, 3>, Input<3>>, Branches<Add, Embedding<8, 4>, Sequential<FromInput<1>, Embedding<7, 4>>>,
                         Flatten, Linear<20, 16>, Repeat<3, Masked>,
                         Branches<Concat, Sequential<FromInput<2>, Flatten, Rescaling<>, Linear<6, 7>>, Sequential<>, Tanh>, Linear<39, 16>,
                         Branches<Concat, Sequential<>, FromInput<3>>, Linear<19, 10>> {};
/// Two towers: a stage has one of them, another stage the other.
struct Towers
    : Sequential<
          Inputs<Input<23>, Input<2, 8>>,
          Branches<Add, Sequential<Linear<23, 16>, Tanh, Linear<16, 16>>, Sequential<FromInput<1>, Flatten, Linear<16, 16>, ReLU, Linear<16, 16>>>,
          ReLU, Linear<16, 10>> {};
template <class Model, class... Parts> using Of = Plan<Model, CrossEntropy, AdamW, Batch<32, KeepLast>, Grain<2>, Parts...>;
template <class Order> using Two = equivalence::TwoStages<Order>;

/// Inputs that one chunk loads in a forward, as bits.
[[nodiscard]] int loaded(const Program& p, int chunk) {
  int inputs = 0;
  for (int e = p.forward_bodies[chunk].begin; e < p.forward_bodies[chunk].end; ++e)
    if (p.entries[e].what == BodyOp::load_input) inputs |= 1 << p.entries[e].operand;
  return inputs;
}

}  // namespace

TEST_CASE("several inputs, taken in front, in every block and in the last stage, have the bits of one device under every policy") {
  using Alone = Of<Deep, Single>;
  equivalence::check_every_policy<Of, Deep>();
  equivalence::check_same_bits_as_data<Of<Deep, Single, Recompute<EveryBlock>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Deep, Single, Recompute<FromInput<3>, Concat>>, Alone>();
  equivalence::check_same_bits_as_data<Of<Deep, Two<ZeroBubbleH1>, Recompute<EveryBlock>>, Alone>();
}

TEST_CASE("two towers of their own inputs do, also where each is a stage") { equivalence::check_every_policy<Of, Towers>(); }

TEST_CASE("each chunk loads the inputs that it reads, and no input goes from one stage to another") {
  using Staged = Of<Deep, Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>;
  const Program& p = Staged::training;
  CHECK(loaded(p, 0) == 0b1011);
  CHECK((loaded(p, 1) & 0b0011) == 0);
  CHECK((loaded(p, 2) & 0b0111) == 0b0100);
  for (int t = 0; t < p.transfer_count; ++t) CHECK(p.graph->input_number(p.transfers[t].value) < 0);
  using Halves = Of<Towers, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;
  CHECK(loaded(Halves::training, 0) == 0b01);
  CHECK(loaded(Halves::training, 1) == 0b10);
  CHECK(Halves::training.transfer_count == 2);  // what the first tower gives, and its gradient
}

TEST_CASE("the memory of several inputs is what was counted") {
  using Staged = Of<Deep, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;
  Trainer<Staged, CpuThreads> trainer{{}, Seed{5}};
  trainer.step(equivalence::rows_of<Staged>(32).batch(0, 32));
  for (int r = 0; r < 2; ++r) {
    CHECK(trainer.executor(Rank{r}).arena().high_water() <= trainer.executor(Rank{r}).arena().size());
    CHECK(trainer.executor(Rank{r}).arena().size() == peak_memory<Staged>(Rank{r}));
  }
}

TEST_CASE("layers and sequences are split, and every tensor of a step is that of one device") {
  struct Words : Sequential<Inputs<Input<8>, Input<8>, Input<8, 6>>, Branches<Add, Embedding<8, 12>, Sequential<FromInput<1>, Embedding<8, 12>>>,
                            Residual<LayerNorm<12>, Linear<12, 16>, GELU, Linear<16, 12>>,
                            Branches<Add, Sequential<>, Sequential<FromInput<2>, Linear<6, 12>>>, Linear<12, 10>> {};
  using Split = Plan<Words, MeanSquaredError, SGD, Batch<8>, TensorParallel<2>>;
  using Sequences = Plan<Words, MeanSquaredError, SGD, Batch<8>, TensorParallel<2, SequenceParallel>>;
  using Both = Plan<Words, MeanSquaredError, SGD, Batch<8>, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>>;
  const auto rows = equivalence::rows_of<Split>(8);
  CHECK(verify<Split, CpuThreads>(rows.batch(0, 8)).text == "");
  CHECK(verify<Sequences, CpuThreads>(rows.batch(0, 8)).text == "");
  CHECK(verify<Both, CpuThreads>(rows.batch(0, 8)).text == "");
  CHECK(prove<Split>().ok());
  CHECK(prove<Sequences>().ok());
}

TEST_CASE("plans of several inputs are proved in exact arithmetic, and an input that is taken for another is told") {
  CHECK(prove<Of<Deep, Hybrid<DataParallel<2>, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>>().ok());
  CHECK(prove<Of<Towers, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Sharded<2>>>>().ok());
}

TEST_CASE("a prediction and a Runner are given one array for each input, and say what an evaluation says") {
  const auto rows = equivalence::rows_of<Of<Deep, Single>>(7);
  Trainer<Of<Deep, Two<OneFOneB>>, CpuThreads> trainer{{}, Seed{4}};
  Runner<Inference<Deep, Batch<4>, DataParallel<2>>, CpuThreads> runner{Seed{4}};
  const auto wanted = trainer.evaluate(rows.batch(0, 7)).outputs;
  CHECK(trainer.predict(rows.inputs, rows.more[0].ids, rows.more[1].bytes, rows.more[2].floats) == wanted);
  CHECK(runner.predict(rows.inputs, rows.more[0].ids, rows.more[1].bytes, rows.more[2].floats) == wanted);
  CHECK(trainer.accuracy(rows.batch(0, 7)) <= 1);
}

TEST_CASE("a step is that of a loop over the rows in double") {
  struct Small
      : Sequential<Inputs<Input<1>, Input<3>>,
                   Branches<Add, Sequential<Named<"words", Embedding<4, 2>>, Flatten>, Sequential<FromInput<1>, Named<"mask", Linear<3, 2>>>>> {};
  const std::vector<std::int32_t> ids{3, 0, 3, 1};
  const std::vector<float> mask{0.5F, -1, 2, 1, 0, 3, -2, 1, 1, 0.25F, 4, -1};
  const std::vector<float> targets{1, 0, -1, 2, 0.5F, 0.5F, 3, -2};
  using Alone = Plan<Small, MeanSquaredError, SGD, Batch<4>, DataParallel<2>>;
  Trainer<Alone, CpuThreads> trainer{{.learning_rate = 0.1}, Seed{3}};
  const auto names = trainer.parameter_names();
  REQUIRE(names.size() == 3);
  const auto table = trainer.parameter(names[0]), weight = trainer.parameter(names[1]), bias = trainer.parameter(names[2]);
  std::vector<double> of_table(table.size()), of_weight(weight.size()), of_bias(bias.size());
  for (std::size_t row = 0; row < 4; ++row)
    for (std::size_t k = 0; k < 2; ++k) {
      double y = static_cast<double>(table[2 * static_cast<std::size_t>(ids[row]) + k]) + static_cast<double>(bias[k]);
      for (std::size_t j = 0; j < 3; ++j) y += static_cast<double>(weight[3 * k + j]) * static_cast<double>(mask[3 * row + j]);
      const double back = 2 * (y - static_cast<double>(targets[2 * row + k])) / 8;
      of_table[2 * static_cast<std::size_t>(ids[row]) + k] += back;
      of_bias[k] += back;
      for (std::size_t j = 0; j < 3; ++j) of_weight[3 * k + j] += back * static_cast<double>(mask[3 * row + j]);
    }
  trainer.step(examples(ids, targets, 1).with_input(mask, 3));
  const auto close = [](const std::vector<float>& after, const std::vector<float>& before, const std::vector<double>& gradient) {
    for (std::size_t i = 0; i < after.size(); ++i)
      CHECK(std::fabs(static_cast<double>(after[i]) - (static_cast<double>(before[i]) - 0.1 * gradient[i])) < 1e-6);
  };
  close(trainer.parameter(names[0]), table, of_table);
  close(trainer.parameter(names[1]), weight, of_weight);
  close(trainer.parameter(names[2]), bias, of_bias);
}
