// SPDX-License-Identifier: MIT
#include "heddle/run/loss_scale.hpp"

#include <doctest/doctest.h>

#include <limits>

using namespace heddle;

TEST_CASE("names and defaults are those of torch.amp.GradScaler") {
  const LossScale scale;
  CHECK(scale.init_scale == 65536);
  CHECK(scale.growth_factor == 2);
  CHECK(scale.backoff_factor == 0.5);
  CHECK(scale.growth_interval == 2000);
  CHECK(scale.scale() == 65536);
  scale.check();
}

TEST_CASE("an overflow halves the scale and starts the count of good steps again; enough of these double it") {
  LossScale scale;
  scale.growth_interval = 3;
  const bool overflows[] = {false, false, true, false, false, false, false, true, true, false};
  const float scales[] = {65536, 65536, 32768, 32768, 32768, 65536, 65536, 32768, 16384, 16384};  // after each, by PyTorch's rule
  const std::int64_t counts[] = {1, 2, 0, 1, 2, 0, 1, 0, 0, 1};
  for (int i = 0; i < 10; ++i) {
    CAPTURE(i);
    scale.update(overflows[i]);
    CHECK(scale.scale() == scales[i]);
    CHECK(scale.growth_tracker == counts[i]);
  }
}

TEST_CASE("the first step takes init_scale; a run that goes on has the scale and the count of the one before") {
  LossScale scale;
  scale.init_scale = 8;
  CHECK(scale.scale() == 8);
  scale.update(false);
  scale.init_scale = 16;
  CHECK(scale.scale() == 8);
  LossScale later;
  later.set_scale(scale.scale());
  later.growth_tracker = 1999;
  later.update(false);
  CHECK(later.scale() == 16);
}

TEST_CASE("a scale grows and shrinks only so far that it and its inverse are normal floats") {
  LossScale scale;
  scale.set_scale(0x1p125F);
  scale.growth_interval = 1;
  scale.update(false);
  CHECK(scale.scale() == 0x1p126F);
  scale.update(false);
  CHECK(scale.scale() == 0x1p126F);
  scale.growth_factor = std::numeric_limits<double>::max();
  scale.update(false);
  CHECK(scale.scale() == 0x1p126F);
  scale.set_scale(0x1p-125F);
  scale.update(true);
  CHECK(scale.scale() == 0x1p-126F);
  scale.update(true);
  CHECK(scale.scale() == 0x1p-126F);
}

TEST_CASE("a backoff factor that leaves nothing of the scale does not begin again with init_scale") {
  LossScale scale;
  scale.backoff_factor = 1e-300;
  scale.check();
  scale.update(true);
  CHECK(scale.scale() == 0x1p-126F);
  scale.update(true);
  CHECK(scale.scale() == 0x1p-126F);
}

TEST_CASE("values out of range are refused by name") {
  const auto refused = [](auto change) {
    LossScale scale;
    change(scale);
    try {
      scale.check();
    } catch (const Error& error) {
      CHECK((error.code() == Code{'O', 1}));
      return std::string{error.what()};
    }
    return std::string{};
  };
  const double none = std::numeric_limits<double>::quiet_NaN();
  for (const double bad : {0.0, -1.0, none, 1e300, 1e-300, 1e-45, 0x1p-127, 0x1p127})
    CHECK(refused([&](LossScale& s) { s.init_scale = bad; }).find("[heddle.O01] init_scale is ") == 0);
  for (const double bad : {1.0, 0.5, none, std::numeric_limits<double>::infinity()})
    CHECK(refused([&](LossScale& s) { s.growth_factor = bad; }).find("[heddle.O01] growth_factor is ") == 0);
  for (const double bad : {0.0, 1.0, 0.99999999, 2.0, none})  // a float times 0.99999999 is the same float
    CHECK(refused([&](LossScale& s) { s.backoff_factor = bad; }).find("[heddle.O01] backoff_factor is ") == 0);
  CHECK(refused([](LossScale& s) { s.growth_interval = 0; }).find("[heddle.O01] growth_interval is 0") == 0);
  CHECK(refused([](LossScale&) {}).empty());
  CHECK(refused([](LossScale& s) { s.init_scale = 1e-45; }) ==
        "[heddle.O01] init_scale is 1e-45, so gradients would be lost. Fix: use a scale from 1.2e-38 to 8.5e+37, for example 65536.");
  LossScale scale;
  for (const float bad : {0.0F, -2.0F, 1e-40F, 0x1p127F, std::numeric_limits<float>::quiet_NaN()})
    CHECK_THROWS_WITH_AS(scale.set_scale(bad), doctest::Contains("[heddle.O01] the loss scale is to be "), Error);
  CHECK_THROWS_WITH_AS(scale.set_scale(1e-40F), doctest::Contains("to be 9.9999461e-41. Fix: use a scale from 1.2e-38 to 8.5e+37."), Error);
  CHECK(scale.scale() == 65536);
  for (const float good : {0x1p-126F, 1.0F, 0x1p126F}) {
    scale.set_scale(good);
    CHECK(scale.scale() == good);
  }
}
