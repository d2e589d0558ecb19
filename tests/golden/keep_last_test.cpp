// SPDX-License-Identifier: MIT
#include "golden/golden.hpp"

using namespace golden;

namespace {

struct Mlp : Sequential<Named<"linear1", Linear<20, 16>>, ReLU, Named<"linear2", Linear<16, 10>>> {};
template <class... Parts> using Of = Plan<Mlp, CrossEntropy, Adam, Batch<64, KeepLast>, Parts...>;

/// One batch of 64 rows, then the 23 that are left: PyTorch's mean is over the rows that are there.
template <class Plan> void check_plan() {
  const TensorFile file = golden_file("keep_last_20_16_10");
  const std::vector<std::int32_t> labels = labels_of(file);
  const auto all = examples(file.get<float>("input", {87, 20}), std::span<const std::int32_t>{labels}, 20);
  Trainer<Plan, CpuThreads> trainer{{.learning_rate = 1e-3}, Seed{77}};
  start(trainer, file);
  check_close(trainer.evaluate(all.slice(0, 64)).outputs, file.get<float>("output"), "output");
  std::vector<float> losses;
  trainer.on_step([&](const StepResult& result) { losses.push_back(result.loss.value()); });
  trainer.step(all.slice(0, 64));
  check_gradients(trainer, file);
  check_parameters(trainer, file, "after1");
  CHECK(trainer.step(all.slice(64, 23)).rows == 23);
  check_parameters(trainer, file, "after2");
  check_close(losses, file.get<float>("losses"), "losses");
}

}  // namespace

TEST_CASE("a kept last batch of 23 of 64 rows gives PyTorch's step on one device") { check_plan<Of<Single>>(); }

TEST_CASE("it does on replicas, of which some have fewer rows or none, on slices, parts and stages") {
  check_plan<Of<DataParallel<4>>>();
  check_plan<Of<Sharded<2>>>();
  check_plan<Of<TensorParallel<2>>>();
  check_plan<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>();
  check_plan<Of<Hybrid<DataParallel<2>, Pipeline<Balanced<2>>>, Accumulate<2>>>();
}
