// SPDX-License-Identifier: MIT
#include "heddle/plan/options/groups.hpp"

#include <doctest/doctest.h>

#include <type_traits>

#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

TEST_CASE("options of groups say which part of a plan they are, and each of several is kept") {
  static_assert(NoDecay<>::plan_part == PlanPart::no_decay && NoDecay<"wte", "head.bias">::plan_part == PlanPart::no_decay);
  static_assert(LearningRateFactor<"backbone", 1, 10>::plan_part == PlanPart::learning_rate_factor);
  static_assert(may_be_several(PlanPart::no_decay) && may_be_several(PlanPart::learning_rate_factor) && !may_be_several(PlanPart::clip));
  CHECK(name_of(PlanPart::no_decay) == "NoDecay");
  CHECK(name_of(PlanPart::learning_rate_factor) == "LearningRateFactor");
  static_assert(std::is_same_v<LearningRateFactor<"head", 2>, LearningRateFactor<"head", 2, 1>>);
}

TEST_CASE("they stand among the parts of a plan in any order, several times") {
  using First = Plan<NoDecay<>, Mnist, LearningRateFactor<"linear1", 1, 10>, CrossEntropy, AdamW, Batch<64>, Single, NoDecay<"linear2">>;
  using Last = Plan<Mnist, CrossEntropy, AdamW, Batch<64>, Single, LearningRateFactor<"linear1", 1, 10>, NoDecay<"linear2">, NoDecay<>>;
  static_assert(check<First>().ok() && check<Last>().ok());
  CHECK(First::training.groups.count == 4);  // as it is; linear1.weight; linear1.bias; all of linear2
  for (int k = 0; k < 4; ++k) CHECK(First::training.groups.of(k) == Last::training.groups.of(k));
}
