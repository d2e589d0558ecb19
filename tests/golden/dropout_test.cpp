// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

/// PyTorch draws other masks, so the numbers are those of a model that drops nothing.
template <class Drop> struct Inner : Residual<Named<"inner", Linear<16, 16>>, Tanh, Drop> {};
template <class Drop>
struct Dropped
    : Sequential<Named<"linear1", Linear<20, 16>>, GELU, Drop, Named<"block", Inner<Drop>>, Sigmoid, Drop, Named<"linear2", Linear<16, 10>>> {};
template <class Drop, class... Parts> using Of = Plan<Dropped<Drop>, MeanSquaredError, AdamW, Batch<8>, Parts...>;

template <class ThePlan> void check() {
  const TensorFile file = golden_file("residual_20_16_10_adamw");
  follow<ThePlan>(file, {.learning_rate = 1e-2}, examples(file.get<float>("input", {8, 20}), file.get<float>("targets", {8, 10}), 20), 20);
}

}  // namespace

TEST_CASE("20 steps of a model whose dropout has a probability of 0 are PyTorch's") {
  check<Of<Dropout<0>, Single>>();
  check<Of<Dropout<0, 10>, DataParallel<2>>>();
}

TEST_CASE("outputs of an evaluation are PyTorch's whatever the probability, those of a step are not") {
  using Half = Of<Dropout<1, 2>, Single>;
  const TensorFile file = golden_file("residual_20_16_10_adamw");
  Trainer<Half, CpuThreads> trainer{{.learning_rate = 1e-2}, Seed{1}};
  start(trainer, file);
  const auto batch = examples(file.get<float>("input"), file.get<float>("targets"), 20);
  const double there = static_cast<double>(file.get<float>("loss")[0]);
  CHECK(std::abs(trainer.evaluate(batch).loss - there) <= tolerance);
  trainer.step(batch);
  CHECK(largest_difference(trainer.parameter("linear1.weight"), file.get<float>("after1.linear1.weight")) > 10 * tolerance);
}
