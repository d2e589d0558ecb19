// SPDX-License-Identifier: MIT
#include "heddle/graph/optimizers/sgd.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

using namespace heddle;

namespace {

constexpr double u = 0x1p-24;
double gradient_of(int step) { return std::sin(1.7 * step) * 2; }

/// torch.optim.SGD as its documentation states it, in double.
double reference(const MomentumSGD::Options& o, double parameter, int steps) {
  double buffer = 0;
  for (int t = 1; t <= steps; ++t) {
    double g = gradient_of(t) + o.weight_decay * parameter;
    buffer = t == 1 ? g : o.momentum * buffer + (1 - o.dampening) * g;
    g = o.nesterov ? g + o.momentum * buffer : buffer;
    parameter -= o.learning_rate * g;
  }
  return parameter;
}

double heddle_momentum(const MomentumSGD::Options& o, float parameter, int steps) {
  float velocity = 0;
  for (int t = 1; t <= steps; ++t) MomentumSGD::update(MomentumSGD::constants(o, t), parameter, static_cast<float>(gradient_of(t)), velocity);
  return static_cast<double>(parameter);
}

}  // namespace

TEST_CASE("SGD moves against the gradient and the decayed parameter") {
  static_assert(OptimizerDescription<SGD> && SGD::states == 0);
  float parameter = 2;
  SGD::update(SGD::constants({.learning_rate = 0.5, .weight_decay = 0.25}, 1), parameter, 1.0F);
  CHECK(parameter == 1.25F);  // 2 - 0.5 (1 + 0.25 x 2), exact in binary
  SGD::update(SGD::constants({.learning_rate = 0.5}, 2), parameter, -1.0F);
  CHECK(parameter == 1.75F);
}

TEST_CASE("the defaults are PyTorch's, except that momentum without momentum would be SGD") {
  CHECK(SGD::Options{}.learning_rate == 1e-3);
  CHECK(SGD::Options{}.weight_decay == 0);
  CHECK(MomentumSGD::Options{}.learning_rate == 1e-3);
  CHECK(MomentumSGD::Options{}.momentum == 0.9);
  CHECK(MomentumSGD::Options{}.dampening == 0);
  CHECK_FALSE(MomentumSGD::Options{}.nesterov);
}

TEST_CASE("MomentumSGD follows PyTorch's recurrence for 50 steps") {
  static_assert(OptimizerDescription<MomentumSGD> && MomentumSGD::states == 1);
  // Per step the velocity (at most 20 in magnitude) takes 4 roundings, the step 3, the parameter (at most 10) one; momentum 0.9 sums
  // velocity errors to 10 times one step's: 50 (0.1 x 7 x 10 x 20 + 10) u.
  const double bound = 50 * (0.1 * 7 * 10 * 20 + 10) * u;
  for (const MomentumSGD::Options& o : {MomentumSGD::Options{.learning_rate = 0.1}, MomentumSGD::Options{.learning_rate = 0.1, .weight_decay = 0.01},
                                        MomentumSGD::Options{.learning_rate = 0.1, .dampening = 0.5},
                                        MomentumSGD::Options{.learning_rate = 0.1, .weight_decay = 0.01, .nesterov = true}})
    CHECK(std::abs(heddle_momentum(o, 3.0F, 50) - reference(o, 3.0, 50)) <= bound);
}

TEST_CASE("the first step takes the whole gradient, whatever the dampening") {
  float parameter = 0;
  float velocity = 0;
  MomentumSGD::update(MomentumSGD::constants({.learning_rate = 1, .dampening = 0.5}, 1), parameter, 2.0F, velocity);
  CHECK(velocity == 2.0F);
  MomentumSGD::update(MomentumSGD::constants({.learning_rate = 1, .momentum = 0.5, .dampening = 0.5}, 2), parameter, 2.0F, velocity);
  CHECK(velocity == 2.0F);  // 0.5 x 2 + 0.5 x 2
}

TEST_CASE("options out of range are refused by name and value") {
  CHECK(SGD::check({}).ok());
  CHECK(MomentumSGD::check({}).ok());
  CHECK(MomentumSGD::check({.nesterov = true}).ok());
  CHECK(SGD::check({.learning_rate = -0.5}).sentence().view() ==
        "[heddle.O01] SGD has learning_rate = -0.5, which must be 0 or more. Fix: use 0.001, the default.");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  CHECK_FALSE(SGD::check({.learning_rate = nan}).ok());
  CHECK_FALSE(SGD::check({.weight_decay = -1}).ok());
  CHECK_FALSE(MomentumSGD::check({.learning_rate = nan}).ok());
  CHECK_FALSE(MomentumSGD::check({.momentum = -0.1}).ok());
  CHECK_FALSE(MomentumSGD::check({.dampening = 1.5}).ok());
  CHECK_FALSE(MomentumSGD::check({.weight_decay = nan}).ok());
  CHECK_FALSE(MomentumSGD::check({.momentum = 0, .nesterov = true}).ok());
  CHECK(MomentumSGD::check({.dampening = 0.1, .nesterov = true}).sentence().view() ==
        "[heddle.O01] MomentumSGD has dampening = 0.1, which must be 0 with nesterov. Fix: leave dampening out.");
}
