// SPDX-License-Identifier: MIT
#include "equivalence/equal.hpp"
#include "heddle/run/runner.hpp"

using namespace equivalence;

namespace {

struct Outcome {
  std::vector<std::vector<float>> gradients, parameters;
  std::vector<float> outputs;
  double loss = 0;       // of an evaluation
  double step_loss = 0;  // of the step
};

/// One step on integers: ids of all tokens, parameters in {-1, 0, 1}.
template <class Target, class AnyTrainer> Outcome integer_step(AnyTrainer& trainer, const Graph& graph, std::int64_t rows, std::int64_t targets) {
  const std::int64_t positions = graph.input.elements();
  const std::int64_t tokens = vocabulary_of(graph);
  std::vector<std::int32_t> ids;
  std::vector<Target> wanted;
  for (std::int64_t i = 0; i < rows * positions; ++i) ids.push_back(static_cast<std::int32_t>((i * 5 + i / 4) % tokens));
  for (std::int64_t i = 0; i < rows * targets; ++i)
    wanted.push_back(std::is_same_v<Target, float> ? static_cast<Target>((i * 7 + i / 8) % 15 - 7) : static_cast<Target>((i * 7 + i / 5) % tokens));
  Examples<Target, std::int32_t> batch{ids.data(), wanted.data(), rows, positions, targets, nullptr};
  std::size_t p = 0;
  for (const std::string& name : trainer.parameter_names()) {
    std::vector<float> values(trainer.parameter(name).size());
    ++p;
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(static_cast<int>((i * 3 + i / 7 + p) % 3) - 1);
    trainer.set_parameter(name, values);
    REQUIRE(equal_bits(trainer.parameter(name), values));  // handed out in parts and put together again
  }
  Outcome out;
  const Evaluation before = trainer.evaluate(batch);
  out.outputs = before.outputs;
  out.loss = before.loss;
  CHECK(equal_bits(trainer.predict(ids), out.outputs));
  trainer.on_step([&](const StepResult& r) { out.step_loss = static_cast<double>(r.loss.value()); });
  trainer.step(batch);
  for (const std::string& name : trainer.parameter_names()) {
    out.gradients.push_back(trainer.gradient(name));
    out.parameters.push_back(trainer.parameter(name));
  }
  return out;
}

template <class ThePlan> Outcome integer_outcome(double rate) {
  using Request = typename ThePlan::Request;
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = rate}, Seed{1}};
  return integer_step<typename Request::Loss::Target>(trainer, Request::graph, Request::batch.batch, Request::target_features);
}
/// The same of a plan that is data.
template <class OfPlan> Outcome integer_outcome_of_data(const PlanAsData& plan, double rate) {
  DataTrainer<OfPlan> trainer{plan, {.learning_rate = rate}, Seed{1}};
  return integer_step<typename OfPlan::Loss::Target>(trainer, plan.graph(), plan.training().batch.batch, plan.request().target_features);
}

// ---- the table alone, on exact data. 4 rows of 4 ids; a row of the table and all weights are in {-1, 0, 1}, targets have 4 bits. Values are at most
// 1, 8, 128; the gradient of the mean is (output - target) 2 / (4 x 32): 9 bits above 2^-6. A last weight's gradient sums 16 terms of 9 + 4 bits; the
// gradient of a hidden value sums 8 terms: 12 bits; that of a looked up value 16 terms: 16 bits; that of a row of the table at most 16 of these: 20
// bits. Every sum fits into the 24 bits of a float, in every order; the rate is 2^-4.
template <class Table> struct Chain : Sequential<Input<4>, Table, Linear<8, 16, NoBias>, ReLU, Linear<16, 8, NoBias>> {};
template <class Table> struct Skips : Sequential<Input<4>, Table, Residual<Linear<8, 16, NoBias>, ReLU, Linear<16, 8, NoBias>>> {};  // one more term
using Tokens = Embedding<12, 8>;
template <class Model, class... Parts> using Exact = Plan<Model, MeanSquaredError, SGD, Batch<4>, Grain<1>, Parts...>;

template <class Alone> const Outcome& outcome_alone(double rate) {
  static const Outcome made = integer_outcome<Alone>(rate);
  return made;
}
void check_same_outcome(const Outcome& got, const Outcome& wanted, int ranks) {
  CAPTURE(ranks);
  CHECK(equal_bits(got.outputs, wanted.outputs));
  CHECK(got.step_loss == wanted.step_loss);
  for (std::size_t k = 0; k < wanted.gradients.size(); ++k) {
    CAPTURE(k);
    CHECK(equal_bits(got.gradients[k], wanted.gradients[k]));
    CHECK(equal_bits(got.parameters[k], wanted.parameters[k]));
  }
}
template <class ThePlan, class Alone> void check_bits() {
  check_same_outcome(integer_outcome<ThePlan>(0.0625), outcome_alone<Alone>(0.0625), devices<ThePlan>);
}
template <class OfPlan> void check_bits_of_data(const PlanAsData& plan, const Outcome& wanted) {
  check_same_outcome(integer_outcome_of_data<OfPlan>(plan, 0.0625), wanted, plan.training().mesh.ranks());
}
/// The same of a plan that the test lowers while it runs.
template <class ThePlan, class Alone> void check_bits_as_data() {
  check_bits_of_data<TypesOf<ThePlan>>(as_data<ThePlan>(), outcome_alone<Alone>(0.0625));
}
template <class Table, class... Parts> void check_table_as_data() {
  check_bits_as_data<Exact<Chain<Table>, Parts...>, Exact<Chain<Tokens>, Single>>();
}
template <class Table, class... Parts> void check_skips_as_data() {
  check_bits_as_data<Exact<Skips<Table>, Parts...>, Exact<Skips<Tokens>, Single>>();
}
template <class Table, class... Parts> void check_table() { check_bits<Exact<Chain<Table>, Parts...>, Exact<Chain<Tokens>, Single>>(); }
template <class Table, class... Parts> void check_skips() { check_bits<Exact<Skips<Table>, Parts...>, Exact<Skips<Tokens>, Single>>(); }
template <class ThePlan> constexpr int table_split() { return ThePlan::training.parameters[0].split.dimension(); }

// ---- the loss. On the same integers logits are exact under every plan, at most 8 x 1 in size, so plans differ by the loss alone.
template <std::int64_t Count, class Table = Embedding<Count, 8>> struct Writer : Sequential<Input<4>, Table, Linear<8, Count, NoBias>> {};
template <class... Parts> using Wrote = Plan<Writer<48, Row<Embedding<48, 8>>>, CrossEntropy, SGD, Batch<16>, Grain<2>, Parts...>;

/// u = 2^-24. Differences of logits are exact, a power is off by 2 u, its relative error. Whole: the sum of powers is off by 2 u, so is its
/// logarithm. In parts the sum of each is rounded once more: 3 u. The loss of a grain and of its sums is rounded to float at most 6 times, in both
/// plans. A gradient of a logit is a power over the sum, off by (2 + 2) u whole, (2 + 3) u in parts, the factor and the product u each, the
/// difference with 1 / T and 1 / T itself u each: at most (8 + 9) u / T for one of T = 64 positions, and over all classes of a position twice that,
/// since powers add up to the sum. What follows is linear: sums of n terms in any order differ by 2 (n + 2) u of the sum of magnitudes, with n at
/// most 64.
constexpr double u = 0x1p-24;
constexpr double most_weight = 1;
constexpr double logit_slope = 17 * u / 64;
constexpr double any_order(int terms, double magnitudes) { return 2 * (terms + 2) * u * magnitudes; }
constexpr double head_bound = 64 * logit_slope * most_weight + any_order(64, 64 * 2.0 / 64 * most_weight);
constexpr double value_bound = 2 * logit_slope * most_weight + any_order(48, 2.0 / 64 * most_weight);
constexpr double table_bound = 64 * value_bound + any_order(64, 64 * 2.0 / 64 * most_weight);

double worst(const std::vector<float>& a, const std::vector<float>& b) {
  REQUIRE(a.size() == b.size());
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return most;
}

void check_same_loss(const Program& p, const Outcome& got) {
  const Outcome& wanted = outcome_alone<Wrote<Single>>(0.5);
  CHECK(p.graph->laid_between(3) == laid::shard(1));  // parts of the vocabulary at both ends
  CHECK(p.parameters[0].split == laid::shard(0));
  REQUIRE(wanted.loss > 1);
  CAPTURE(p.mesh.ranks());
  CHECK(equal_bits(got.outputs, wanted.outputs));  // put together from the parts
  CHECK(std::abs(got.loss - wanted.loss) <= 5 * u + 2 * 6 * u * wanted.loss);
  CHECK(std::abs(got.step_loss - wanted.step_loss) <= 5 * u + 2 * 6 * u * wanted.loss);
  CHECK(worst(got.gradients[1], wanted.gradients[1]) <= head_bound);
  CHECK(worst(got.gradients[0], wanted.gradients[0]) <= table_bound);
  for (int k = 0; k < 2; ++k) CHECK(worst(got.parameters[k], wanted.parameters[k]) <= 0.5 * (k == 0 ? table_bound : head_bound) + 4 * u);
}

template <class... Parts> void check_loss() { check_same_loss(Wrote<Parts...>::training, integer_outcome<Wrote<Parts...>>(0.5)); }
/// The same of a plan that the test lowers while it runs.
template <class... Parts> void check_loss_as_data() {
  const PlanAsData plan = as_data<Wrote<Parts...>>();
  check_same_loss(plan.training(), integer_outcome_of_data<TypesOf<Wrote<Parts...>>>(plan, 0.5));
}

// ---- any data
struct Block : Residual<Linear<16, 24>, GELU, Linear<24, 16, NoBias>> {};
struct Language : Sequential<Input<6>, Embedding<24, 16>, Repeat<2, Block>, Linear<16, 24, NoBias>> {};
template <class... Parts> using Any = Plan<Language, CrossEntropy, Adam, Batch<12, KeepLast>, Parts...>;

struct Sentences {
  std::vector<std::int32_t> ids;
  std::vector<std::int32_t> next;
  Sentences() {
    for (std::int64_t i = 0; i < 12 * 6; ++i) {
      ids.push_back(static_cast<std::int32_t>((i * 5 + i / 6) % 24));
      next.push_back(static_cast<std::int32_t>((i * 7 + i / 5) % 24));
    }
  }
  [[nodiscard]] Examples<std::int32_t, std::int32_t> batch(std::int64_t rows) const { return examples(ids, next, 6, 6).slice(0, rows); }
};
const Sentences sentences;

/// Losses and all parameters after some steps.
template <class... Parts> std::vector<std::vector<float>> steps_of() {
  using ThePlan = Any<Parts...>;
  static_assert(ThePlan::training.graph->laid_between(ThePlan::training.graph->node_count) == laid::shard(1));
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 0.01}, Seed{3}};
  std::vector<std::vector<float>> out(1);
  trainer.on_step([&](const StepResult& r) { out[0].push_back(r.loss.value()); });
  for (int step = 0; step < 5; ++step) trainer.step(sentences.batch(step == 3 ? 7 : 12));
  for (const std::string& name : trainer.parameter_names()) out.push_back(trainer.parameter(name));
  return out;
}
template <class Option, class... Parts> void check_option() {
  const auto wanted = steps_of<Parts...>();
  const auto got = steps_of<Parts..., Option>();
  REQUIRE(got.size() == wanted.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) CHECK(equal_bits(got[i], wanted[i]));
}

template <class ThePlan> void check_any(std::int64_t rows = 12) {
  // Terms of one product or sum: at most 72. Each of the few sums between two tensors moves by at most 72 x 2^-24 = 5e-6 of its largest term.
  const Verification found = verify<ThePlan, CpuThreads>(sentences.batch(rows), Seed{3}, 2e-5);
  CHECK(found.text == "");
  CHECK(found.tensors > 20);
}

}  // namespace

TEST_CASE("on integers a table split by rows of the vocabulary, or by features, has the bits of one device") {
  static_assert(table_split<Exact<Chain<Row<Tokens>>, TensorParallel<2>>>() == 0);
  static_assert(table_split<Exact<Chain<Column<Tokens>>, TensorParallel<2>>>() == 1);
  check_table<Row<Tokens>, TensorParallel<2>>();
  check_table_as_data<Row<Tokens>, TensorParallel<4>>();
  check_table_as_data<Column<Tokens>, TensorParallel<2>>();
  check_table_as_data<Column<Tokens>, TensorParallel<4>>();
  check_table_as_data<Tokens, TensorParallel<2>>();
  check_table_as_data<Tokens, TensorParallel<8>>();  // 12 tokens do not divide by 8, 8 features do
}

TEST_CASE("on integers a split table in every product has the bits of one device") {
  check_table<Row<Tokens>, Hybrid<TensorParallel<2>, DataParallel<2>>>();
  check_table_as_data<Row<Tokens>, Hybrid<Sharded<2>, TensorParallel<2>>>();
  check_table_as_data<Row<Tokens>, Hybrid<TensorParallel<2>, Sharded<2, Gradients>>>();
  check_table_as_data<Row<Tokens>, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>>();
  check_table_as_data<Row<Tokens>, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>>>();
  check_table_as_data<Column<Tokens>, Hybrid<Pipeline<Balanced<2>, GPipe, Microbatches<2>>, TensorParallel<2>, DataParallel<2>>>();
  check_table_as_data<Tokens, TensorParallel<2>, Accumulate<2>>();
}

TEST_CASE("on integers sequences are split after the table: its terms are summed and scattered") {
  using Split = Exact<Skips<Row<Tokens>>, TensorParallel<2, SequenceParallel>>;
  static_assert(traffic<Split>().value_collectives(0, BodyOp::scatter_value) > 0);
  check_skips<Row<Tokens>, TensorParallel<2, SequenceParallel>>();
  check_skips_as_data<Tokens, TensorParallel<4, SequenceParallel>>();
  check_skips_as_data<Row<Tokens>, Hybrid<TensorParallel<2, SequenceParallel>, DataParallel<2>>>();
}

TEST_CASE("a loss over parts of the vocabulary is that of one device within its bound, and so are its gradients") {
  check_loss<TensorParallel<2>>();
  check_loss_as_data<TensorParallel<4>>();
  check_loss_as_data<TensorParallel<3>>();
  check_loss_as_data<TensorParallel<2>, Accumulate<2>>();
  check_loss_as_data<Hybrid<TensorParallel<2>, DataParallel<2>>>();
  check_loss_as_data<Hybrid<DataParallel<2>, TensorParallel<4>>>();
  check_loss_as_data<Hybrid<TensorParallel<2>, Sharded<2>>>();
  check_loss_as_data<Hybrid<Sharded<2, OptimizerState>, TensorParallel<2>>>();
  check_loss_as_data<Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>();
  check_loss_as_data<Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, TensorParallel<2>, DataParallel<2>>>();
}

TEST_CASE("a model that is only applied has whole outputs, those of one device") {
  using Alone = Plan<Writer<48>, CrossEntropy, SGD, Batch<16>, Single>;
  using Applied = Inference<Writer<48, Row<Embedding<48, 8>>>, Batch<16>, TensorParallel<4>>;
  static_assert(Applied::evaluation.graph->laid_between(3).replicated());  // no loss takes parts
  Trainer<Alone, CpuThreads> trainer{{}, Seed{1}};
  for (const std::string& name : trainer.parameter_names()) {  // integers: every order of sums has the same bits
    std::vector<float> values = trainer.parameter(name);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(static_cast<int>((i * 3 + i / 7) % 3) - 1);
    trainer.set_parameter(name, values);
  }
  Runner<Applied, CpuThreads> runner;
  runner.load(trainer);
  std::vector<std::int32_t> ids;
  for (int i = 0; i < 19 * 4; ++i) ids.push_back((i * 5 + i / 4) % 48);
  CHECK(equal_bits(runner.predict(ids), trainer.predict(ids)));
}

TEST_CASE("on any data every tensor of a language model is that of one device but for the order of sums") {
  check_any<Any<TensorParallel<2>>>();
  check_any<Any<TensorParallel<4, SequenceParallel>>>();
  check_any<Any<TensorParallel<2, SequenceParallel>>>(7);
  check_any<Any<Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>>();
  check_any<Any<Hybrid<DataParallel<3>, TensorParallel<2>>, Accumulate<2>>>(11);
}

TEST_CASE("what runs again, and a loss that is scaled by a power of two, change no bit of a loss in parts") {
  check_option<Recompute<EveryBlock>, TensorParallel<2>>();
  check_option<Recompute<EveryBlock>, Hybrid<TensorParallel<2, SequenceParallel>, DataParallel<2>>>();
  check_option<LossScaling, TensorParallel<4>>();
  check_option<LossScaling, Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>();
}

TEST_CASE("what the loss moves does not depend on the vocabulary: 12 (N-1) bytes a position and rank") {
  using Small = Plan<Writer<512>, CrossEntropy, SGD, Batch<16>, TensorParallel<4>>;
  using Large = Plan<Writer<1 << 16>, CrossEntropy, SGD, Batch<16>, TensorParallel<4>>;
  using Stages =
      Plan<Writer<512>, CrossEntropy, SGD, Batch<16>, Hybrid<TensorParallel<4>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, DataParallel<2>>>;
  // Features of the table are gathered (a quarter of 8 each), the gradient of the head's input is summed; the rest is the loss.
  constexpr Bytes loss = 12 * 3 * Bytes{16 * 4};
  constexpr Bytes values = 3 * Bytes{4 * 2 * 64};
  constexpr Bytes gradients = 2 * 3 * Bytes{4 * 8 * 64} / 4;
  static_assert(traffic<Small>().values().moved_per_rank() == loss + values + gradients);
  static_assert(traffic<Large>().values().moved_per_rank() == loss + values + gradients);
  static_assert(traffic<Small>().value_collectives(0, BodyOp::gather_value) == 2);  // the features of the table, the terms of the loss
  static_assert(traffic<Small>().value_collectives(0, BodyOp::reduce_value) == 1);
  static_assert(traffic<Stages>().value_collectives(1, BodyOp::gather_value) == 4);  // of 4 micro-batches
  CHECK(traffic<Small>().values().messages == 4 * (2 + 2) * 3);
}

TEST_CASE("each rank has its part of the logits and of their gradient, no more") {
  // 16 rows of 4 positions and 4096 classes in floats: 1 MiB. Logits and their gradient, and in evaluation logits.
  using Whole = Plan<Writer<4096>, CrossEntropy, SGD, Batch<16>, Single>;
  using Parts = Plan<Writer<4096>, CrossEntropy, SGD, Batch<16>, TensorParallel<4>>;
  constexpr std::int64_t logits = 4 * 16 * 4 * 4096;
  static_assert(logits == (1_MiB).value);
  constexpr ArenaMap whole = Whole::training.arenas[0];
  constexpr ArenaMap parts = Parts::training.arenas[0];
  static_assert(whole.value_bytes() > 2 * logits && whole.value_bytes() < 2 * logits + 32 * 1024);
  static_assert(parts.value_bytes() > 2 * logits / 4 && parts.value_bytes() < 2 * logits / 4 + 32 * 1024);
  CHECK(4 * parts.value_bytes() < whole.value_bytes() + 4 * 32 * 1024);
}
