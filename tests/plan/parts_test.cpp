// SPDX-License-Identifier: MIT
#include "heddle/plan/parts.hpp"

#include <doctest/doctest.h>

#include <type_traits>

#include "plan/plans.hpp"
#include "says.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

struct LossWithoutAccepts {
  using Target = float;
  static constexpr std::string_view name() { return "LossWithoutAccepts"; }
  static constexpr std::int64_t target_features(const Spec& output) { return output.elements(); }
};
struct LossOfDoubles {
  using Target = double;
  static constexpr std::string_view name() { return "LossOfDoubles"; }
  static constexpr Diagnosis accepts(const Spec&) { return {}; }
};
struct OptimizerWithoutCheck {
  static constexpr int states = 0;
  struct Options {};
  struct Constants {};
  static Constants constants(const Options&, std::int64_t) { return {}; }
  static void update(const Constants&, float&, float) {}
};
struct OptimizerOfTwoStates : OptimizerWithoutCheck {
  static constexpr int states = 2;
  static constexpr std::string_view name() { return "OptimizerOfTwoStates"; }
  static Diagnosis check(const Options&) { return {}; }
};
struct Stray {};

struct Crowded : Sequential<Linear<20, 10>> {
  static constexpr int batch_rows = 32, grain_rows = 4, accumulate_rounds = 2, plan_part = 1, is_stage = 1, micro_batches = 3, device = 0;
  static constexpr bool is_reproducible = true, clips = true, recomputes = true, scales_loss = true, states = true;
  static constexpr Bytes memory_budget = 1_MiB, bucket_bytes = 1_KiB;
};

}  // namespace

TEST_CASE("each type of a plan is told apart by what it has") {
  static_assert(part_of<Mnist>() == PlanPart::model);
  static_assert(part_of<Linear<8, 4>>() == PlanPart::model);
  static_assert(part_of<CrossEntropy>() == PlanPart::loss);
  static_assert(part_of<Adam>() == PlanPart::optimizer && part_of<SGD>() == PlanPart::optimizer);
  static_assert(part_of<Batch<64>>() == PlanPart::batch && part_of<Batch<64, KeepLast>>() == PlanPart::batch);
  static_assert(part_of<Single>() == PlanPart::policy && part_of<Hybrid<Back, DataParallel<2>>>() == PlanPart::policy);
  static_assert(part_of<Grain<8>>() == PlanPart::grain && part_of<Reproducible>() == PlanPart::reproducible);
  static_assert(part_of<Accumulate<2>>() == PlanPart::accumulate);
  static_assert(part_of<Memory<1_MiB>>() == PlanPart::memory && part_of<Bucket<1_MiB>>() == PlanPart::bucket);
  CHECK(part_of<Stray>() == PlanPart::unknown);
  CHECK(part_of<int>() == PlanPart::unknown);
}

TEST_CASE("a model with members that are called like those of other parts stays a model") {
  static_assert(part_of<Crowded>() == PlanPart::model);
  struct Mine : Batch<64> {};
  CHECK(part_of<Mine>() == PlanPart::batch);
}

TEST_CASE("a part is found wherever it stands") {
  static_assert(std::is_same_v<FindPart<PlanPart::policy, Mnist, Single, Adam>::type, Single>);
  static_assert(std::is_same_v<FindPart<PlanPart::policy, Single, Mnist, Adam>::type, Single>);
  static_assert(std::is_same_v<FindPart<PlanPart::model, Single, Adam, Mnist>::type, Mnist>);
  CHECK(std::is_void_v<FindPart<PlanPart::memory, Single, Adam, Mnist>::type>);
}

TEST_CASE("five parts in any order are a plan, options may be added") {
  static_assert(check_parts<Mnist, CrossEntropy, Adam, Batch<64>, Single>().ok());
  static_assert(check_parts<Single, Batch<64>, Adam, CrossEntropy, Mnist>().ok());
  CHECK(check_parts<Grain<8>, Mnist, Memory<1_GB>, CrossEntropy, Adam, Accumulate<2>, Batch<64>, Bucket<1_MB>, Reproducible, Single>().ok());
}

TEST_CASE("a part that is missing is named") {
  static_assert(check_parts<CrossEntropy, Adam, Batch<64>, Single>().code == Code{'L', 1});
  CHECK(says(check_parts<CrossEntropy, Adam, Batch<64>, Single>(), "the plan names no model"));
  CHECK(says(check_parts<Mnist, Adam, Batch<64>, Single>(), "the plan names no loss"));
  CHECK(says(check_parts<Mnist, CrossEntropy, Batch<64>, Single>(), "the plan names no optimizer"));
  CHECK(says(check_parts<Mnist, CrossEntropy, Adam, Single>(), "the plan names no Batch"));
  CHECK(says(check_parts<Mnist, CrossEntropy, Adam, Batch<64>>(), "the plan names no policy"));
  CHECK(check_parts<>().code == Code{'L', 1});
}

TEST_CASE("a part that is named twice is refused with both names") {
  constexpr Diagnosis found = check_parts<Mnist, CrossEntropy, Adam, Batch<64>, Single, DataParallel<2>>();
  static_assert(found.code == Code{'L', 2});
  CHECK(says(found, "names its policy twice: Single and DataParallel<2>"));
  CHECK(check_parts<Mnist, CrossEntropy, Adam, Batch<64>, Batch<32>, Single>().code == Code{'L', 2});
  CHECK(check_parts<Mnist, Chain, CrossEntropy, Adam, Batch<64>, Single>().code == Code{'L', 2});
}

TEST_CASE("what is begun as a loss or an optimizer of one's own is told what it lacks") {
  constexpr auto loss = check_parts<Mnist, LossWithoutAccepts, Adam, Batch<64>, Single>();
  static_assert(loss.code == Code{'L', 3});
  CHECK(says(loss, "LossWithoutAccepts is no part of a Plan: as a loss it lacks accepts(Spec), flops(Spec). Fix: add it, static constexpr."));
  constexpr auto doubles = check_parts<Mnist, LossOfDoubles, Adam, Batch<64>, Single>();
  CHECK(says(doubles, "as a loss it lacks using Target = float or std::int32_t, target_features(Spec), flops(Spec)."));
  constexpr auto optimizer = check_parts<Mnist, CrossEntropy, OptimizerWithoutCheck, Batch<64>, Single>();
  CHECK(says(optimizer, "as an optimizer it lacks name(), check(Options). Fix: add it, static."));
  constexpr auto update = check_parts<Mnist, CrossEntropy, OptimizerOfTwoStates, Batch<64>, Single>();
  CHECK(says(update, "as an optimizer it lacks update(Constants, parameter, gradient) with a float& for each of its states."));
  CHECK(says(check_parts<Mnist, CrossEntropy, Adam, Batch<64>, Single, Stray>(), "target_features() and flops() if it is your loss"));
}

TEST_CASE("what is no part of a plan is named") {
  constexpr Diagnosis found = check_parts<Mnist, CrossEntropy, Adam, Batch<64>, Single, Stray>();
  static_assert(found.code == Code{'L', 3});
  CHECK(says(found, "Stray is no part of a Plan"));
}
