// SPDX-License-Identifier: MIT
#include "heddle/graph/losses/no_loss.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("NoLoss takes any output, has no targets and costs nothing") {
  static_assert(LossDescription<NoLoss>);
  static_assert(NoLoss::accepts(Spec{Shape{3, 5}}).ok() && NoLoss::accepts(Spec{Shape{1}, ElementType::int32}).ok());
  CHECK(NoLoss::target_features(Spec{Shape{3, 5}}) == 0);
  CHECK(NoLoss::flops(Spec{Shape{3, 5}}) == 0);
}
