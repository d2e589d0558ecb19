// SPDX-License-Identifier: MIT
#include "heddle/cost/search/plan_choice.hpp"

#include <doctest/doctest.h>

#include <string>

#include "cost/search/models.hpp"
#include "heddle/plan/lowered.hpp"
#include "heddle/plan/read/program_hash.hpp"

using namespace heddle;
using namespace heddle::extending;
using tests::Searched;
using tests::small_model;

namespace {

/// A choice says what the type of its text is: both are lowered to one Program.
template <class ThePlan> void check_alike(const PlanChoice& choice, int rows, const std::string& text) {
  CHECK(plan_text(small_model(), choice, rows, Bytes{0}) == text);
  const LoweredPlan lowered = lower(request_for(small_model(), choice, rows, Bytes{0}));
  REQUIRE(lowered.fault().sentence().view() == "");
  CHECK(program_hash(lowered.training()) == program_hash(ThePlan::training));
  CHECK(program_hash(lowered.evaluation()) == program_hash(ThePlan::evaluation));
  CHECK(choice.devices() == devices<ThePlan>);
}

}  // namespace

TEST_CASE("a choice and the type of its text are one Program") {
  check_alike<Plan<Searched, CrossEntropy, Adam, Batch<32>, Single>>({}, 32, "Plan<Searched, CrossEntropy, Adam, Batch<32>, Single>");
  check_alike<
      Plan<Searched, CrossEntropy, Adam, Batch<32>, Hybrid<TensorParallel<2>, Pipeline<Balanced<4>, OneFOneB, Microbatches<8>>, DataParallel<2>>>>(
      {.tensor = 2, .stages = 4, .micro_batches = 8, .data = 2}, 32,
      "Plan<Searched, CrossEntropy, Adam, Batch<32>, Hybrid<TensorParallel<2>, Pipeline<Balanced<4>, OneFOneB, Microbatches<8>>, DataParallel<2>>>");
  check_alike<Plan<Searched, CrossEntropy, Adam, Batch<32>, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>>>(
      {.stages = 2, .order = SearchedOrder::interleaved_2, .micro_batches = 4}, 32,
      "Plan<Searched, CrossEntropy, Adam, Batch<32>, Pipeline<Balanced<2>, Interleaved<2>, Microbatches<4>>>");
  check_alike<
      Plan<Searched, CrossEntropy, Adam, Batch<32>, Hybrid<Pipeline<CutBefore<6, 21, 31>, Interleaved<2>, Microbatches<4>>, DataParallel<2>>>>(
      {.stages = 2, .order = SearchedOrder::interleaved_2, .micro_batches = 4, .data = 2, .cuts = 3, .before = {6, 21, 31}}, 32,
      "Plan<Searched, CrossEntropy, Adam, Batch<32>, Hybrid<Pipeline<extending::CutBefore<6, 21, 31>, Interleaved<2>, Microbatches<4>>, "
      "DataParallel<2>>>");
  check_alike<Plan<Searched, CrossEntropy, Adam, Batch<32>, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, Recompute<EveryBlock>>>(
      {.stages = 2, .order = SearchedOrder::zero_bubble_h1, .micro_batches = 4, .again = true}, 32,
      "Plan<Searched, CrossEntropy, Adam, Batch<32>, Pipeline<Balanced<2>, ZeroBubbleH1, Microbatches<4>>, Recompute<EveryBlock>>");
  check_alike<Plan<Searched, CrossEntropy, Adam, Batch<32>, Hybrid<Sharded<4, Gradients>, DataParallel<2>>, Accumulate<2>>>(
      {.shard = 4, .slices = SearchedSlices::gradients, .data = 2, .rounds = 2}, 32,
      "Plan<Searched, CrossEntropy, Adam, Batch<32>, Hybrid<Sharded<4, Gradients>, DataParallel<2>>, Accumulate<2>>");
  check_alike<Plan<Searched, CrossEntropy, Adam, Batch<32>, Hybrid<TensorParallel<2, SequenceParallel>, Sharded<2>>, Mixed<BFloat16>>>(
      {.tensor = 2, .splits_sequences = true, .shard = 2, .rounds_values = true}, 32,
      "Plan<Searched, CrossEntropy, Adam, Batch<32>, Hybrid<TensorParallel<2, SequenceParallel>, Sharded<2>>, Mixed<BFloat16>>");
  check_alike<Plan<Searched, CrossEntropy, Adam, Batch<32>, Hybrid<Sharded<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>>(
      {.stages = 2, .micro_batches = 4, .shard = 2, .slices_inside = true}, 32,
      "Plan<Searched, CrossEntropy, Adam, Batch<32>, Hybrid<Sharded<2>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>>");
}

TEST_CASE("a memory is named in the largest unit of which it is whole") {
  CHECK(memory_text(80_GB) == "80_GB");
  CHECK(memory_text(40_GiB) == "40_GiB");
  CHECK(memory_text(Bytes{1'500'000}) == "1500_KB");
  CHECK(memory_text(Bytes{7}) == "7_B");
  CHECK(plan_text(small_model(), {.data = 2}, 8, 2_MiB) == "Plan<Searched, CrossEntropy, Adam, Batch<8>, DataParallel<2>, Memory<2_MiB>>");
}
