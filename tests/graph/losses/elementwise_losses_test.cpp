// SPDX-License-Identifier: MIT
#include "heddle/graph/losses/elementwise_losses.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "heddle/graph/losses/mean_squared_error.hpp"

using namespace heddle;
using graph_room::ElementwiseLoss;

namespace {

constexpr float none = std::numeric_limits<float>::quiet_NaN();

/// The slope against a difference of losses.
template <class L> void check_slope(float x, float target) {
  const double h = 1e-3;
  const double there =
      (L::loss(static_cast<float>(static_cast<double>(x) + h), target) - L::loss(static_cast<float>(static_cast<double>(x) - h), target)) / (2 * h);
  CAPTURE(x);
  CAPTURE(target);
  CHECK(std::abs(static_cast<double>(L::slope(x, target)) - there) < 1e-3);
}
template <class L> void check_slopes() {
  for (const float x : {-9.0F, -1.25F, -0.3F, 0.2F, 0.9F, 4.0F})
    for (const float target : {0.0F, 0.125F, 1.0F}) check_slope<L>(x, target);
}

}  // namespace

TEST_CASE("losses of each element take any shape and one target an element, and have names") {
  static_assert(ElementwiseLoss<MeanAbsoluteError> && ElementwiseLoss<Huber<>> && ElementwiseLoss<Huber<1, 2>> &&
                ElementwiseLoss<BinaryCrossEntropy>);
  static_assert(!ElementwiseLoss<MeanSquaredError>);
  static_assert(MeanAbsoluteError::accepts(Spec{Shape{3, 5}}).ok() && Huber<3, 2>::accepts(Spec{Shape{1}}).ok());
  CHECK(BinaryCrossEntropy::target_features(Spec{Shape{3, 5}}) == 15);
  CHECK(Huber<>::flops(Spec{Shape{3, 5}}) == 60);
  CHECK(MeanAbsoluteError::accepts(Spec{Shape{3}, ElementType::int32}).sentence().view() ==
        "[heddle.G03] MeanAbsoluteError takes float32 but the model gives int32. Fix: end the model with a layer that gives float32.");
}

TEST_CASE("losses and slopes by hand") {
  CHECK(MeanAbsoluteError::loss(3, 1) == 2);
  CHECK((MeanAbsoluteError::slope(3, 1) == 1 && MeanAbsoluteError::slope(1, 3) == -1 && MeanAbsoluteError::slope(2, 2) == 0));
  CHECK(Huber<>::loss(1.5F, 1) == 0.125);
  CHECK(Huber<>::loss(4, 1) == 2.5);
  CHECK(Huber<1, 2>::loss(4, 1) == 0.5 * (3 - 0.25));
  CHECK((Huber<1, 2>::slope(4, 1) == 0.5F && Huber<1, 2>::slope(1, 4) == -0.5F && Huber<1, 2>::slope(1.25F, 1) == 0.25F));
  CHECK(std::abs(BinaryCrossEntropy::loss(0, 1) - std::log(2.0)) < 1e-15);
  CHECK(std::abs(BinaryCrossEntropy::loss(100, 0) - 100) < 1e-12);
  CHECK(std::abs(BinaryCrossEntropy::loss(-100, 1) - 100) < 1e-12);
  CHECK((BinaryCrossEntropy::slope(-100, 0) >= 0 && BinaryCrossEntropy::slope(-100, 0) < 1e-30F));  // neither overflows nor is lost
  CHECK(BinaryCrossEntropy::slope(0, 1) == -0.5F);
}

TEST_CASE("slopes are the differences of losses") {
  check_slopes<MeanAbsoluteError>();
  check_slopes<Huber<>>();
  check_slopes<Huber<1, 3>>();
  check_slopes<BinaryCrossEntropy>();
}

TEST_CASE("what is no number stays none") {
  for (const float x : {none, 1.0F})
    for (const float target : {none, 1.0F}) {
      const bool spoilt = std::isnan(x) || std::isnan(target);
      CHECK(std::isnan(MeanAbsoluteError::loss(x, target)) == spoilt);
      CHECK(std::isnan(MeanAbsoluteError::slope(x, target)) == spoilt);
      CHECK(std::isnan(Huber<>::loss(x, target)) == spoilt);
      CHECK(std::isnan(Huber<>::slope(x, target)) == spoilt);
      CHECK(std::isnan(BinaryCrossEntropy::loss(x, target)) == spoilt);
      CHECK(std::isnan(BinaryCrossEntropy::slope(x, target)) == spoilt);
    }
}

TEST_CASE("a distance that is not above 0 is refused") {
  CHECK(Huber<0, 1>::accepts(Spec{Shape{3}}).sentence().view() ==
        "[heddle.G03] Huber has a distance of 0 / 1, which is not above 0. Fix: write Huber<1, 2> for a half, or Huber<> for 1.");
  CHECK(Huber<-1, 2>::accepts(Spec{Shape{3}}).code == Code{'G', 3});
  CHECK(Huber<1, 0>::accepts(Spec{Shape{3}}).code == Code{'G', 3});
}
