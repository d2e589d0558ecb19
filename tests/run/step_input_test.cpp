// SPDX-License-Identifier: MIT
#include "heddle/run/step_input.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

struct Small : Sequential<Linear<4, 4>, ReLU, Linear<4, 2>> {};
template <class P, class... Options> using Of = Plan<Small, CrossEntropy, SGD, Batch<48>, P, Options...>;
using OfStages = Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<3>>, Grain<4>>;

}  // namespace

TEST_CASE("ranks, micro-batches and grains cover every row of the batch once, in order") {
  const Program& p = lower<OfStages>();
  std::vector<int> seen(48);
  std::int64_t next = 0;
  for (int replica = 0; replica < 3; ++replica)
    for (int m = 0; m < p.batch.total_micro_batches(); ++m)
      for (int g = 0; g < p.batch.grains(); ++g) {
        const std::int64_t first = first_row(p.batch, replica, m, g);
        CHECK(first == next);
        CHECK(rows_in_grain(p.batch, 48, replica, m, g) == 4);
        CHECK(rows_in_grain(p.batch, 22, replica, m, g) == std::clamp<std::int64_t>(22 - first, 0, 4));
        next = first + p.batch.grain_rows;
        for (std::int64_t r = first; r < next; ++r) ++seen[static_cast<std::size_t>(r)];
      }
  CHECK(std::vector<int>(48, 1) == seen);
}

TEST_CASE("a smaller batch is told apart from a loop whose batches are all smaller than the plan's") {
  struct Line : Sequential<Linear<2, 2>> {};
  const auto refusal = [](const Program& p, std::int64_t rows, std::int64_t steps) -> std::string {
    try {
      refuse_other_rows(p, rows, steps);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  const Program strict = Plan<Line, CrossEntropy, SGD, Batch<64>, Single>::training;
  const Program drops = Plan<Line, CrossEntropy, SGD, Batch<64, DropLast>, Single>::training;
  const std::string given = "[heddle.B05] a batch of 32 rows was given to a plan with Batch<64";
  const std::string all = "Fix: write data.batches<MyPlan>(), or Batch<32";
  CHECK(refusal(strict, 32, 0) == given + "> that names no remedy. " + all + "> in the plan.");
  CHECK(refusal(strict, 32, 7) == refusal(strict, 32, 0));
  CHECK(refusal(strict, 40, 7) ==
        "[heddle.B05] a batch of 40 rows was given to a plan with Batch<64> that names no remedy. Fix: name KeepLast, PadLast or DropLast in the "
        "Batch.");
  CHECK(refusal(drops, 32, 0) ==
        given + ", DropLast>, which leaves smaller batches out, and no step was made before. " + all + ", DropLast> in the plan.");
  CHECK(refusal(drops, 32, 1) == "");
  CHECK(refusal(strict, 64, 0) == "");
}

TEST_CASE("the stages of one replica share its rows: Hybrid<MP, DP> has model-parallel groups of consecutive ranks") {
  const Program& p = lower<OfStages>();
  for (int rank = 0; rank < 6; ++rank) CHECK(batch_position(p, Rank{rank}) == rank / 2);
  using Outside = Of<Hybrid<DataParallel<3>, Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>>, Grain<4>>;
  for (int rank = 0; rank < 6; ++rank) CHECK(batch_position(lower<Outside>(), Rank{rank}) == rank % 3);
}

namespace {

/// Of two targets a row.
template <class Loss> TargetRanges ranges_of() { return graph_room::target_ranges_of<Loss>(Spec{Shape{2, 2}}); }

}  // namespace

TEST_CASE("targets that count nothing are counted in the rows that take part, in their order, repeated where rows are") {
  const std::int32_t targets[] = {1, -100, -100, -100, 0, 1};  // of 3 rows
  const TargetRanges counts = ranges_of<CrossEntropyWith<Ignored<-100>>>();
  StepInput in;
  in.program = &lower<OfStages>();
  in.targets = targets;
  in.source_rows = in.rows = 3;
  count_targets(in, 2, {}, counts);
  CHECK(in.counted[0].left_out == 3);
  CHECK(in.rows_of_loss(2) == 1.5);
  in.rows = 5;  // rows 0 and 1 again
  count_targets(in, 2, {}, counts);
  CHECK(in.counted[0].left_out == 6);
  CHECK(in.rows_of_loss(2) == 2);
  const std::uint32_t order[] = {1, 1};
  in.order = order;
  in.source_rows = in.rows = 2;
  CHECK_THROWS_WITH_AS(
      count_targets(in, 2, {}, counts),
      "[heddle.D10] a batch of 2 rows has no target that the loss counts, so there is no mean of losses. Fix: leave such batches out.", Error);
  count_targets(in, 2, {}, ranges_of<CrossEntropy>());
  in.targets = nullptr;  // a prediction
  count_targets(in, 2, {}, counts);
  CHECK(in.source(1) == 1);
}

TEST_CASE("a rank whose batch leaves other targets out makes another call") {
  StepInput in;
  in.program = &lower<OfStages>();
  in.source_rows = in.rows = 3;
  const CallPledge all = pledge_of(in);
  in.counted[0].left_out = 1;
  CHECK_FALSE(pledge_of(in) == all);
  CHECK(pledge_of(in).options == all.options);
  StepInput other = in;  // as many, of another of several losses
  std::swap(other.counted[0], other.counted[1]);
  CHECK(pledge_of(other).targets != pledge_of(in).targets);
}

TEST_CASE("weights of classes are added in the rows that take part, and only of targets that count") {
  const std::int32_t targets[] = {1, -100, 0, 7, 1, 1};  // of 3 rows; 7 is no class and is refused elsewhere
  const float weights[] = {0.5F, 2};
  StepInput in;
  in.program = &lower<OfStages>();
  in.targets = targets;
  in.source_rows = in.rows = 3;
  count_targets(in, 2, weights, ranges_of<CrossEntropyWith<Ignored<-100>, ClassWeights>>());
  CHECK(in.counted[0].left_out == 1);
  CHECK(in.counted[0].sum_of_weights == 6.5);
  CHECK(in.rows_of_loss(2) == 3.25);
  const CallPledge before = pledge_of(in);
  const std::int32_t wrong[] = {1, -100, 0, 7, 7, 1};  // an option is no other for a wrong label
  in.targets = wrong;
  count_targets(in, 2, weights, ranges_of<CrossEntropyWith<Ignored<-100>, ClassWeights>>());
  CHECK(pledge_of(in).options == before.options);
  CHECK(pledge_of(in).targets != before.targets);
  in.targets = targets;
  const float others[] = {2, 0.5F};
  count_targets(in, 2, others, ranges_of<CrossEntropyWith<Ignored<-100>, ClassWeights>>());
  CHECK(pledge_of(in).options != before.options);
  const float none[] = {0, 0};
  CHECK_THROWS_AS(count_targets(in, 2, none, ranges_of<CrossEntropyWith<ClassWeights>>()), Error);
}

TEST_CASE("weights of other classes, below 0, no numbers or all 0 are refused with the number") {
  const auto said = [](std::vector<float> weights) -> std::string {
    try {
      refuse_class_weights(weights, 3);
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  CHECK(said({1, 0, 5}) == "");
  CHECK(said({1, 2}) == "[heddle.O01] 2 class weights were given, but the model gives 3 classes. Fix: give one for each.");
  CHECK(said({1, -2, 1}) == "[heddle.O01] class 1 has weight -2, which must be 0 or more. Fix: leave a class out with the weight 0.");
  CHECK(said({1, std::numeric_limits<float>::quiet_NaN(), 1}).find("[heddle.O01] class 1 has weight nan") == 0);
  CHECK(said({0, 1e-30F, 1e30F}) == "");
  CHECK(said({1, 1, 9.3e-32F}).find("[heddle.O01] class 2 has weight 9.") == 0);
  CHECK(said({1, 1, 9.3e-32F}).find("e-32, which is not between 1e-30 and 1e30. Fix: only their ratios count; multiply all weights by one number.") !=
        std::string::npos);
  CHECK(said({2e30F, 1, 1}).find("[heddle.O01] class 0 has weight ") == 0);
  CHECK(said({2e30F, 1, 1}).find(", which is not between 1e-30 and 1e30") != std::string::npos);
  CHECK(said({0, 0, 0}) == "[heddle.O01] all class weights are 0, so no target would have a loss. Fix: give one class a weight above 0.");
}

TEST_CASE("processes that clip to other limits, or scale their loss otherwise, do not take one step") {
  StepInput in;
  in.program = &lower<OfStages>();
  in.source_rows = in.rows = 3;
  const CallPledge same = pledge_of(in);
  for (const auto change : {+[](StepInput& step) { step.max_norm = 0.5; }, +[](StepInput& step) { step.max_value = 0.5; },
                            +[](StepInput& step) { step.loss_scale = 2; }}) {
    StepInput other = in;
    change(other);
    CHECK(pledge_of(other).options != same.options);
  }
}

TEST_CASE("each of several losses has its own targets counted; a mean of means is over the rows; what is counted of all rows stays") {
  using Several = Losses<LossOf<"a", Outputs<3>, CrossEntropyWith<Ignored<-1>>>, LossOf<"b", Outputs<2>, MeanSquaredError>,
                         LossOf<"c", Outputs<4>, CrossEntropyWith<Ignored<-1>, ClassWeights>>>;
  const TargetRanges ranges = Several::target_ranges(Spec{Shape{9}});
  const TargetValue targets[] = {0, 0.5F, 1.5F, 2, -1, 2.5F, 3.5F, -1, -1, 0.0F, 0.0F, 3};  // of 3 rows
  const float weights[] = {1, 1, 4, 8};
  StepInput in;
  in.program = &lower<OfStages>();
  in.targets = targets;
  in.source_rows = in.rows = 3;
  count_targets(in, 4, weights, ranges);
  CHECK((in.counted[0].left_out == 2 && in.counted[1].left_out == 0 && in.counted[2].left_out == 1));
  CHECK((in.counted[0].sum_of_weights == 0 && in.counted[2].sum_of_weights == 12));
  CHECK((in.several && in.rows_of_loss(4) == 3));
  StepInput slice;
  slice.program = in.program;
  slice.targets = targets;
  slice.source_rows = slice.rows = 1;
  in.rows_counted = 3;
  slice.count_as(in);
  count_targets(slice, 4, weights, ranges);
  CHECK((slice.counted_rows() == 3 && slice.counted[0].left_out == 2 && slice.class_weights == weights));
  StepInput none = slice;
  none.rows_counted = 0;
  const std::uint32_t order[] = {1};
  none.order = order;
  CHECK_THROWS_WITH_AS(
      count_targets(none, 4, weights, ranges),
      "[heddle.D10] a batch of 1 row has no target that loss 'a' counts, so there is no mean of losses. Fix: leave such batches out.", Error);
}
