// SPDX-License-Identifier: MIT
// Room: graph. Stochastic gradient descent, plain and with momentum, by PyTorch's formulas.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: Options.  Out: SGD, MomentumSGD.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/core/host_device.hpp"
#include "heddle/graph/optimizer.hpp"

namespace heddle::graph_room {

/// p -= learning_rate (g + weight_decay p): torch.optim.SGD without momentum, no state.
///
/// Errors  O01 at run time if an option is negative, infinite or NaN
/// Source  sources.md#pytorch-sgd
/// Tested  graph/optimizers/sgd_test, compute/eigen/optimizers_test
struct SGD {
  static constexpr int states = 0;
  /// What a program may say; a step takes p -= learning_rate (gradient + weight_decay p), with 0.001 and 0 if it says nothing.
  struct Options {
    [[no_unique_address]] OnlyByName by_name = OnlyByName{};
    double learning_rate = 1e-3;
    double weight_decay = 0;
  };
  /// The 2 options as floats, which the kernel reads.
  struct Constants {
    float learning_rate;
    float weight_decay;
  };

  static constexpr std::string_view name() { return "SGD"; }
  static Constants constants(const Options& o, std::int64_t /*step*/) {
    return {static_cast<float>(o.learning_rate), static_cast<float>(o.weight_decay)};
  }
  HEDDLE_HOST_DEVICE static void update(const Constants& c, float& parameter, float gradient) {
    parameter -= c.learning_rate * (gradient + c.weight_decay * parameter);
  }
  static Diagnosis check(const Options& o) {
    if (!is_zero_or_more(o.learning_rate)) return refused_option(name(), "learning_rate", o.learning_rate, "0 or more", "use 0.001, the default");
    if (!is_zero_or_more(o.weight_decay)) return refused_option(name(), "weight_decay", o.weight_decay, "0 or more", "use 0, the default");
    return {};
  }
};

/// torch.optim.SGD with momentum: s = momentum s + (1 - dampening) g, p -= learning_rate s; the first step takes s = g, as PyTorch.
/// The default momentum is 0.9; PyTorch's default 0 is SGD.
///
/// Errors  O01 at run time if an option is out of range, or nesterov lacks momentum or has dampening
/// Source  sources.md#pytorch-sgd
/// Tested  graph/optimizers/sgd_test, compute/eigen/optimizers_test
struct MomentumSGD {
  static constexpr int states = 1;
  /// What a program may say; the defaults are those of PyTorch but for a momentum of 0.9.
  struct Options {
    [[no_unique_address]] OnlyByName by_name = OnlyByName{};
    double learning_rate = 1e-3;
    double momentum = 0.9;
    double dampening = 0;
    double weight_decay = 0;
    bool nesterov = false;
  };
  /// What the kernel reads in a step. With momentum 0.9 and dampening 0 keep is 0.9 and take is 1; in step 1 keep is 0.
  struct Constants {
    float learning_rate;
    float weight_decay;
    float keep;        // of the old velocity
    float take;        // of the new gradient
    float look_ahead;  // p -= learning_rate (straight g + look_ahead s)
    float straight;
  };

  static constexpr std::string_view name() { return "MomentumSGD"; }
  static Constants constants(const Options& o, std::int64_t step) {
    Constants c{};
    c.learning_rate = static_cast<float>(o.learning_rate);
    c.weight_decay = static_cast<float>(o.weight_decay);
    c.keep = step == 1 ? 0.0F : static_cast<float>(o.momentum);
    c.take = step == 1 ? 1.0F : static_cast<float>(1 - o.dampening);
    c.look_ahead = o.nesterov ? static_cast<float>(o.momentum) : 1.0F;
    c.straight = o.nesterov ? 1.0F : 0.0F;
    return c;
  }
  HEDDLE_HOST_DEVICE static void update(const Constants& c, float& parameter, float gradient, float& velocity) {
    const float g = gradient + c.weight_decay * parameter;
    velocity = c.keep * velocity + c.take * g;
    parameter -= c.learning_rate * (c.straight * g + c.look_ahead * velocity);
  }
  static Diagnosis check(const Options& o) {
    if (!is_zero_or_more(o.learning_rate)) return refused_option(name(), "learning_rate", o.learning_rate, "0 or more", "use 0.001, the default");
    if (!is_zero_or_more(o.momentum)) return refused_option(name(), "momentum", o.momentum, "0 or more", "use 0.9, the default");
    if (!is_from_zero_to_one(o.dampening)) return refused_option(name(), "dampening", o.dampening, "between 0 and 1", "use 0, the default");
    if (!is_zero_or_more(o.weight_decay)) return refused_option(name(), "weight_decay", o.weight_decay, "0 or more", "use 0, the default");
    if (o.nesterov && o.momentum == 0) return refused_option(name(), "momentum", o.momentum, "above 0 with nesterov", "use 0.9, the default");
    if (o.nesterov && o.dampening != 0) return refused_option(name(), "dampening", o.dampening, "0 with nesterov", "leave dampening out");
    return {};
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::MomentumSGD, graph_room::SGD;
}  // namespace heddle
