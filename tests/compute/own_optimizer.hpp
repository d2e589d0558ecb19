// SPDX-License-Identifier: MIT
// An optimizer that a user has written, and options for it and for those of Heddle.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/host_device.hpp"
#include "heddle/core/rule.hpp"

namespace own_optimizer {

using namespace heddle;

/// Two states, and no square root.
struct Averaged {
  static constexpr int states = 2;
  struct Options {
    double learning_rate = 0.5;
  };
  struct Constants {
    float learning_rate;
  };
  static constexpr std::string_view name() { return "Averaged"; }
  static Constants constants(const Options& o, std::int64_t) { return {static_cast<float>(o.learning_rate)}; }
  HEDDLE_HOST_DEVICE static void update(const Constants& c, float& parameter, float gradient, float& fast, float& slow) {
    fast = 0.5F * (fast + gradient);
    slow = 0.5F * (slow + fast);
    parameter -= c.learning_rate * slow;
  }
  static Diagnosis check(const Options&) { return {}; }
};

template <class O> typename O::Options options() {
  typename O::Options o;
  o.learning_rate = 0.01;
  if constexpr (requires { o.weight_decay; }) o.weight_decay = 0.1;
  return o;
}

}  // namespace own_optimizer
