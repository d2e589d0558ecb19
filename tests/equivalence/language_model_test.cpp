// SPDX-License-Identifier: MIT
#include "equivalence/equal.hpp"
#include "equivalence/sentences.hpp"
#include "heddle/io/sequences.hpp"
#include "heddle/io/synthetic.hpp"

using namespace equivalence;

// A table of tokens, blocks, and a head over the vocabulary with a loss at every position, under every product that promises the bits of one device.
namespace {

struct Attention : Residual<Linear<9, 14>, GELU, Linear<14, 9, NoBias>> {};
struct Language
    : Sequential<Input<5>, Named<"embedding", Embedding<17, 9>>, Named<"blocks", Repeat<2, Attention>>, Named<"head", Linear<9, 17, NoBias>>> {};
template <class... Parts> using Of = Plan<Language, CrossEntropy, Adam, Batch<16, KeepLast>, Grain<2>, Parts...>;

struct Outcome {
  std::vector<std::vector<float>> tensors;  // parameters, then gradients of the last step
  std::vector<float> losses;
  Evaluation evaluation;
};

Outcome train_text(CallsOnThreads<Adam, std::int32_t, std::int32_t>& trainer) {
  const Sentences text{40, 17};
  Outcome out;
  trainer.on_step([&](const StepResult& r) { out.losses.push_back(r.loss.value()); });
  for (int step = 0; step < steps; ++step) trainer.step(text.batch(step, step % 4 == 3 ? 13 : 16));  // a short batch now and then
  for (int replica = 0; replica < trainer.replicas(); ++replica)
    for (const std::string& name : trainer.parameter_names())
      if (replica == 0)
        out.tensors.push_back(trainer.parameter(name));
      else
        CHECK(equal_bits(trainer.parameter(name, replica), trainer.parameter(name)));
  for (const std::string& name : trainer.parameter_names()) out.tensors.push_back(trainer.gradient(name));
  out.evaluation = trainer.evaluate(text.batch(0, 40));
  return out;
}
constexpr Adam::Options options{.learning_rate = 0.05};
template <class ThePlan> Outcome train_text() {
  Trainer<ThePlan, CpuThreads> trainer{options, Seed{5}};
  return train_text(trainer);
}
const Outcome& on_one_device() {
  static const Outcome made = train_text<Of<Single>>();
  REQUIRE(made.losses.back() < 0.6F * made.losses.front());  // it learns
  return made;
}
void check_outcome(const Outcome& got, int ranks) {
  const Outcome& wanted = on_one_device();
  CAPTURE(ranks);
  CHECK(equal_bits(got.losses, wanted.losses));
  for (std::size_t t = 0; t < wanted.tensors.size(); ++t) {
    CAPTURE(t);
    CHECK(equal_bits(got.tensors[t], wanted.tensors[t]));
  }
  CHECK(equal_bits(got.evaluation.outputs, wanted.evaluation.outputs));
  CHECK(got.evaluation.loss == wanted.evaluation.loss);
}
template <class... Parts> void check_same() {
  using ThePlan = Of<Parts...>;
  static_assert(is_reproducible<ThePlan>);
  check_outcome(train_text<ThePlan>(), devices<ThePlan>);
}
/// The same of a plan that the test lowers while it runs.
template <class... Parts> void check_same_as_data() {
  const PlanAsData plan = as_data<Of<Parts...>>();
  CHECK(plan.reproducible());
  DataTrainer<TypesOf<Of<Parts...>>> trainer{plan, options, Seed{5}};
  check_outcome(train_text(trainer), plan.training().mesh.ranks());
}

}  // namespace

TEST_CASE("a stream of tokens that is cut into rows teaches a language model, whose logits then name the followers") {
  using ThePlan = Of<Single>;
  const std::vector<std::int32_t> tokens = synthetic_tokens(Seed{4}, 16 * 5 * 4 + 1, 17);
  const TokenDataset data = next_token_rows(tokens, 17, {.length = 5});
  REQUIRE(data.size() == 64);
  Trainer<ThePlan, CpuThreads> trainer{{.learning_rate = 0.05}, Seed{5}};
  for (int epoch = 0; epoch < 15; ++epoch)
    for (const auto& batch : data.shuffled(Seed{1}, epoch).batches<ThePlan>()) trainer.step(batch);
  const Evaluation evaluation = trainer.evaluate(data.all());
  int right = 0;
  for (std::size_t i = 0; i < data.labels().size(); ++i) {
    const float* const logits = evaluation.outputs.data() + 17 * i;
    right += std::max_element(logits, logits + 17) - logits == data.labels()[i] ? 1 : 0;
  }
  CHECK(right > 320 / 2);  // three of four tokens have the follower that was drawn for them
}

TEST_CASE("a language model under every product of data, shard, stage and accumulation axes has the bits of one device") {
  check_same_as_data<Accumulate<2>, Single>();
  check_same<DataParallel<2>>();
  check_same_as_data<DataParallel<8>>();
  check_same_as_data<Sharded<2, OptimizerState>>();
  check_same_as_data<Sharded<4>>();
  check_same_as_data<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>();
  check_same_as_data<Pipeline<Balanced<3>, ZeroBubbleH1, Microbatches<8>>>();
  check_same_as_data<Hybrid<Pipeline<Balanced<2>, GPipe, Microbatches<2>>, Sharded<2>>>();
  check_same_as_data<Hybrid<Sharded<2>, DataParallel<2>>, Accumulate<2>>();
  check_same<Hybrid<Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, Sharded<2>>>();  // the table is not gathered for its own gradient
}

TEST_CASE("a cut between the input and the table passes ids on, and no gradient comes back") {
  using Ids = Input<5>;
  using Rest = Sequential<Named<"embedding", Embedding<17, 9>>, Named<"blocks", Repeat<2, Attention>>, Named<"head", Linear<9, 17, NoBias>>>;
  struct Cut : Sequential<Ids, Rest> {};
  using Stages = Plan<Cut, CrossEntropy, Adam, Batch<16, KeepLast>, Grain<2>, Pipeline<Stage<Ids>, Stage<Rest>, OneFOneB, Microbatches<2>>>;
  using Alone = Plan<Cut, CrossEntropy, Adam, Batch<16, KeepLast>, Grain<2>, Single>;
  static_assert(Stages::training.transfer_count == 1 && Stages::training.type_of(Stages::training.transfers[0]) == ElementType::int32);
  const Outcome wanted = train_text<Alone>();
  const Outcome got = train_text<Stages>();
  CHECK(equal_bits(got.losses, wanted.losses));
  for (std::size_t t = 0; t < wanted.tensors.size(); ++t) CHECK(equal_bits(got.tensors[t], wanted.tensors[t]));
}
