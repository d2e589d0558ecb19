// SPDX-License-Identifier: MIT
#include "heddle/graph/optimizers/adam.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace heddle;

namespace {

constexpr double u = 0x1p-24;
double gradient_of(int step) { return 0.3 + std::sin(1.7 * step); }

/// torch.optim.Adam and AdamW as their documentation states them, in double.
template <class O> double reference(const typename O::Options& o, double parameter, int steps) {
  double m = 0;
  double v = 0;
  for (int t = 1; t <= steps; ++t) {
    double g = gradient_of(t);
    if constexpr (std::same_as<O, AdamW>)
      parameter -= o.learning_rate * o.weight_decay * parameter;
    else
      g += o.weight_decay * parameter;
    m = o.beta1 * m + (1 - o.beta1) * g;
    v = o.beta2 * v + (1 - o.beta2) * g * g;
    const double corrected_m = m / (1 - std::pow(o.beta1, t));
    const double corrected_v = v / (1 - std::pow(o.beta2, t));
    parameter -= o.learning_rate * corrected_m / (std::sqrt(corrected_v) + o.epsilon);
  }
  return parameter;
}

template <class O> double stepped(const typename O::Options& o, float parameter, int steps) {
  float m = 0;
  float v = 0;
  for (int t = 1; t <= steps; ++t) O::update(O::constants(o, t), parameter, static_cast<float>(gradient_of(t)), m, v);
  return static_cast<double>(parameter);
}

}  // namespace

TEST_CASE_TEMPLATE("the update follows PyTorch's recurrence for 100 steps", O, Adam, AdamW) {
  static_assert(OptimizerDescription<O> && O::states == 2);
  // One step moves at most learning_rate x 1.5. Of it: m is off by at most 10 x 4 u (geometric sum of 4 roundings per step), v relative by
  // 1000 x 4 u in the worst case, halved by the root, 6 more roundings; the parameter (at most 2) rounds twice per step.
  const double bound = 100 * (0.01 * 1.5 * (40 + 2000 + 6) + 2 * 2) * u;
  for (const double weight_decay : {0.0, 0.1}) {
    const typename O::Options o{.learning_rate = 0.01, .weight_decay = weight_decay};
    CHECK(std::abs(stepped<O>(o, 1.0F, 100) - reference<O>(o, 1.0, 100)) <= bound);
    CHECK(std::abs(reference<O>(o, 1.0, 100) - 1.0) > 1000 * bound);  // it did move
  }
}

TEST_CASE("the first step is the learning rate against the sign of the gradient") {
  for (const float gradient : {1e-4F, -3.0F, 1000.0F}) {
    float parameter = 0;
    float m = 0;
    float v = 0;
    Adam::update(Adam::constants({.learning_rate = 0.125, .epsilon = 0}, 1), parameter, gradient, m, v);
    CHECK(std::abs(std::abs(static_cast<double>(parameter)) - 0.125) <= 0.125 * 16 * u);  // about ten roundings
    CHECK((parameter < 0) == (gradient > 0));
  }
}

TEST_CASE("Adam and AdamW differ in where the weight decays") {
  const double adam = stepped<Adam>({.learning_rate = 0.01, .weight_decay = 0.1}, 5.0F, 10);
  const double adamw = stepped<AdamW>({.learning_rate = 0.01, .weight_decay = 0.1}, 5.0F, 10);
  CHECK(std::abs(adam - adamw) > 1e-3);
  float parameter = 2;  // without a gradient AdamW decays, Adam's moments see the weight
  float m = 0;
  float v = 0;
  AdamW::update(AdamW::constants({.learning_rate = 0.5, .weight_decay = 0.5}, 1), parameter, 0.0F, m, v);
  CHECK(parameter == 1.5F);
  CHECK(m == 0.0F);
}

TEST_CASE("two halves around one root are the update") {
  const auto c = Adam::constants({.weight_decay = 0.1}, 3);
  float whole[] = {0.5F, 0.25F, 0.125F};
  float halves[] = {0.5F, 0.25F, 0.125F};
  Adam::update(c, whole[0], 0.75F, whole[1], whole[2]);
  Adam::moments(c, halves[0], 0.75F, halves[1], halves[2]);
  Adam::apply(c, halves[0], halves[1], std::sqrt(halves[2]));
  for (int i = 0; i < 3; ++i) CHECK(whole[i] == doctest::Approx(halves[i]).epsilon(4 * u));  // a compiler may fuse them differently
}

TEST_CASE("the defaults are PyTorch's") {
  CHECK(Adam::Options{}.learning_rate == 1e-3);
  CHECK(Adam::Options{}.beta1 == 0.9);
  CHECK(Adam::Options{}.beta2 == 0.999);
  CHECK(Adam::Options{}.epsilon == 1e-8);
  CHECK(Adam::Options{}.weight_decay == 0);
  CHECK(AdamW::Options{}.weight_decay == 1e-2);
}

TEST_CASE_TEMPLATE("options out of range are refused by name and value", O, Adam, AdamW) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK(O::check({}).ok());
  CHECK(O::check({.learning_rate = 0, .beta1 = 0, .beta2 = 0, .epsilon = 0}).ok());
  CHECK_FALSE(O::check({.learning_rate = -1}).ok());
  CHECK_FALSE(O::check({.learning_rate = nan}).ok());
  CHECK_FALSE(O::check({.beta1 = 1}).ok());
  CHECK_FALSE(O::check({.beta2 = -0.1}).ok());
  CHECK_FALSE(O::check({.epsilon = -1e-8}).ok());
  CHECK_FALSE(O::check({.weight_decay = nan}).ok());
}

TEST_CASE("the refusal names the optimizer") {
  CHECK(AdamW::check({.beta2 = 1}).sentence().view() ==
        "[heddle.O01] AdamW has beta2 = 1, which must be from 0 to below 1. Fix: use 0.999, the default.");
}
