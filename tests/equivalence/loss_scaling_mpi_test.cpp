// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "equivalence/processes.hpp"

using namespace equivalence;

// Runs with four processes.
namespace {

template <class... Parts> using Of = Plan<Mlp, CrossEntropy, Adam, Batch<32, KeepLast>, Bucket<1_KiB>, Grain<4>, Parts...>;
using Scaled = Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, Sharded<2>>, LossScaling>;

}  // namespace

TEST_CASE("a scaled loss changes no bit between processes") { hold_as_one_device<Of<Single>, Scaled>(); }

TEST_CASE("an overflow that one process sees is skipped by all, and all have the same scale") {
  const FirstRanks ranks{4};
  auto rows = rows_of<Scaled>(32);
  for (std::size_t i = 0; i < 32; ++i) rows.inputs[i * 23 + 7] = i == 5 ? 1e37F : 0.0F;
  Trainer<Scaled, CpuMpi> trainer{settings<Adam>(), Seed{5}};
  std::vector<float> weight = trainer.parameter("linear1.weight");  // (17, 23): no output depends on feature 7, and one gradient overflows
  for (std::size_t i = 0; i < 17; ++i) weight[i * 23 + 7] = 0;
  trainer.set_parameter("linear1.weight", weight);
  const std::uint64_t before = trainer.parameter_hash();
  const StepResult result = trainer.step(rows.batch(0, 32));
  CHECK(sum_over_all(result.skipped ? 1 : 0) == 4);
  CHECK(sum_over_all(trainer.loss_scale().scale() == 32768 ? 1 : 0) == 4);
  CHECK(trainer.parameter_hash() == before);
  rows.inputs[5 * 23 + 7] = 0;
  CHECK_FALSE(trainer.step(rows.batch(0, 32)).skipped);
  CHECK(trainer.steps() == 1);
  CHECK(trainer.parameter_hash() != before);
}
