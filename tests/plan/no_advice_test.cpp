// SPDX-License-Identifier: MIT
#include "heddle/plan/no_advice.hpp"

#include <doctest/doctest.h>

#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

struct Even : Repeat<4, Linear<64, 64>> {};
template <class Policy> using EvenPlan = Plan<Even, CrossEntropy, Adam, Batch<64>, Policy>;

static_assert(require_no_advice<EvenPlan<Hybrid<Pipeline<Balanced<4>, OneFOneB, Microbatches<4>>, DataParallel<2>>>>());
static_assert(require_no_advice<EvenPlan<Single>>());

}  // namespace

TEST_CASE("limits of a caller turn a remark off at build, too") {
  using InTurn = EvenPlan<Pipeline<Balanced<2>>>;
  static_assert(advice<InTurn>().has(Code{'A', 4}));
  static_assert(require_no_advice<InTurn, AdviceLimits{.bubble_percent = 51}>());
  CHECK(advice<InTurn>(AdviceLimits{.bubble_percent = 51}).empty());
}
