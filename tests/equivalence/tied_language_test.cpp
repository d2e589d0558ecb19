// SPDX-License-Identifier: MIT
// A language model whose head is its table of words, with a loss at every position.
#include "equivalence/equal.hpp"
#include "equivalence/sentences.hpp"

using namespace equivalence;

namespace {

struct Mixer : Residual<Linear<9, 14>, GELU, Linear<14, 9, NoBias>> {};
struct Language
    : Sequential<Input<5>, Named<"wte", Embedding<18, 9>>, Named<"blocks", Repeat<3, Mixer>>, Tied<"head", Linear<9, 18, NoBias>, To<"wte">>> {};
template <class... Parts> using Of = Plan<Language, CrossEntropy, Adam, Batch<16, KeepLast>, Grain<2>, Clip<GlobalNorm>, Parts...>;

struct Outcome {
  std::vector<std::vector<float>> tensors;  // parameters, then gradients of the last step
  std::vector<float> losses;
  std::vector<float> norms;
  Evaluation evaluation;
};

template <class AnyTrainer> Outcome text_trained(AnyTrainer& trainer) {
  const Sentences text{40, 18};
  Outcome out;
  trainer.on_step([&](const StepResult& r) { out.losses.push_back(r.loss.value()); });
  for (int step = 0; step < steps; ++step) out.norms.push_back(trainer.step(text.batch(step, step % 4 == 3 ? 13 : 16)).norm.value());
  for (const std::string& name : trainer.parameter_names()) out.tensors.push_back(trainer.parameter(name, trainer.replicas() - 1));
  for (const std::string& name : trainer.parameter_names()) out.tensors.push_back(trainer.gradient(name));
  out.evaluation = trainer.evaluate(text.batch(0, 40));
  return out;
}

template <class ThePlan> Outcome train_text() {
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 0.02}, Seed{5}};
  return text_trained(trainer);
}
void check_same_outcome(const Outcome& got, int ranks) {
  static const Outcome wanted = train_text<Of<Single>>();
  REQUIRE(wanted.losses.back() < wanted.losses.front());  // it learns
  CAPTURE(ranks);
  CHECK(equal_bits(got.losses, wanted.losses));
  CHECK(equal_bits(got.norms, wanted.norms));
  REQUIRE(got.tensors.size() == wanted.tensors.size());
  for (std::size_t t = 0; t < wanted.tensors.size(); ++t) {
    CAPTURE(t);
    CHECK(equal_bits(got.tensors[t], wanted.tensors[t]));
  }
  CHECK(equal_bits(got.evaluation.outputs, wanted.evaluation.outputs));
}

template <class... Parts> void check_same() {
  using ThePlan = Of<Parts...>;
  static_assert(is_reproducible<ThePlan>);
  check_same_outcome(train_text<ThePlan>(), devices<ThePlan>);
}
/// The same of a plan that the test lowers while it runs.
template <class... Parts> void check_same_as_data() {
  const PlanAsData plan = as_data<Of<Parts...>>();
  CHECK(plan.reproducible());
  DataTrainer<TypesOf<Of<Parts...>>> trainer{plan, {.learning_rate = 0.02}, Seed{5}};
  check_same_outcome(text_trained(trainer), plan.training().mesh.ranks());
}

template <class... Parts> void check_verified() {
  using ThePlan = Plan<Language, CrossEntropy, Adam, Batch<16, KeepLast>, Parts...>;
  const Sentences text{16, 18};
  // Terms of one product, of a row of the table or of both uses: at most 16 x 5 + 18. Each of the few sums between two tensors moves by at most
  // 98 x 2^-24 = 6e-6 of its largest term.
  const Verification found = verify<ThePlan, CpuThreads>(text.batch(0, 16), Seed{3}, 5e-5);
  CHECK(found.text == "");
  CHECK(found.tensors > 20);
}

}  // namespace

TEST_CASE("the head of a language model is its table on two, three and four stages, in every order, to the bits of one device") {
  check_same<Pipeline<Balanced<2>, GPipe, Microbatches<4>>>();
  check_same_as_data<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>();
  check_same_as_data<Pipeline<Balanced<4>, ZeroBubbleH1, Microbatches<8>>>();
  check_same_as_data<Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>>();
  check_same_as_data<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>, Recompute<EveryBlock>>();
}

TEST_CASE("and under replicas, slices of every kind and rounds") {
  check_same<DataParallel<4>>();
  check_same_as_data<Sharded<4>>();
  check_same_as_data<Sharded<2, Keep::Step>, Recompute<EveryBlock>>();
  check_same_as_data<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2, OptimizerState>, DataParallel<2>>>();
  check_same_as_data<Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<2>>, Sharded<2>>, Accumulate<2>>();
}

TEST_CASE("split over a vocabulary, table and head hold the same rows") {
  using Split = Plan<Language, CrossEntropy, Adam, Batch<16>, TensorParallel<2>>;
  static_assert(Split::training.parameters[0].split == laid::shard(0));
  static_assert(Split::training.parameters[Split::training.graph->parameter_count - 1].split == laid::shard(0));
  check_verified<TensorParallel<2>>();
  check_verified<Hybrid<TensorParallel<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>>();
}
