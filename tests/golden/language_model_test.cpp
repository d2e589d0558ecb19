// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

struct Inner : Residual<Named<"inner", Linear<8, 8>>, Tanh> {};
struct Language : Sequential<Input<6>, Named<"embedding", Embedding<13, 8>>, Named<"block", Inner>, Named<"head", Linear<8, 13, NoBias>>> {};
template <class... Parts> using Of = Plan<Language, CrossEntropy, MomentumSGD, Batch<8>, Parts...>;

template <class ThePlan> void check_plan() {
  const TensorFile file = golden_file("language_model_13_8");
  const Sentences sentences{file};
  follow<ThePlan>(file, {.learning_rate = 0.5, .momentum = 0.9}, sentences.batch(), 20);
}

}  // namespace

TEST_CASE("20 steps of a language model with a loss at every position are PyTorch's, on one device, replicas, slices, parts and stages") {
  check_plan<Of<Single>>();
  check_plan<Of<DataParallel<2>>>();
  check_plan<Of<Sharded<4>>>();
  check_plan<Of<TensorParallel<2>>>();
  check_plan<Of<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>>();
}

TEST_CASE("the comparison can fail: another id is another loss") {
  const TensorFile file = golden_file("language_model_13_8");
  const Sentences given{file};
  Sentences changed = given;
  changed.ids[17] = given.ids[17] == 0 ? 1 : 0;
  Trainer<Of<Single>, CpuThreads> trainer{{.learning_rate = 0.5}, Seed{1}};
  start(trainer, file);
  const double there = static_cast<double>(file.get<float>("loss")[0]);
  CHECK(std::abs(trainer.evaluate(given.batch()).loss - there) <= tolerance);
  CHECK(std::abs(trainer.evaluate(changed.batch()).loss - there) > 10 * tolerance);
}
