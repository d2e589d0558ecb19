// SPDX-License-Identifier: MIT
#include "heddle/graph/losses/mean_squared_error.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("MeanSquaredError takes any shape and one target per element") {
  static_assert(LossDescription<MeanSquaredError>);
  static_assert(MeanSquaredError::accepts(Spec{Shape{3, 5}}).ok());
  static_assert(MeanSquaredError::accepts(Spec{Shape{1}}).ok());
  static_assert(std::same_as<MeanSquaredError::Target, float>);
  CHECK(MeanSquaredError::target_features(Spec{Shape{3, 5}}) == 15);
  CHECK(MeanSquaredError::flops(Spec{Shape{3, 5}}) == 60);
}

TEST_CASE("integers are refused in one sentence") {
  constexpr Diagnosis integers = MeanSquaredError::accepts(Spec{Shape{3}, ElementType::int32});
  static_assert(integers.code == Code{'G', 3});
  CHECK(integers.sentence().view() ==
        "[heddle.G03] MeanSquaredError takes float32 but the model gives int32. Fix: end the model with a layer that gives float32.");
}
