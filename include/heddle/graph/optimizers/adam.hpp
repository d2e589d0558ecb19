// SPDX-License-Identifier: MIT
// Room: graph. Adam and AdamW by PyTorch's formulas.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: Options and the number of the step.  Out: Adam, AdamW.
#pragma once

#include <cmath>
#include <cstdint>
#include <string_view>

#include "heddle/core/host_device.hpp"
#include "heddle/graph/optimizer.hpp"

namespace heddle::graph_room {

/// What Adam and AdamW share: two moments, their bias corrections, the refusals.
/// An update is two halves with one square root between them, each for a float or for a register of many floats, so that a backend can take the
/// roots of many elements at once: moments(), root = sqrt(second), apply().
struct AdamMoments {
  /// What the kernel reads in a step. At step 1 with the usual options new_first is 0.1, new_second 0.001 and root_scale 1 / sqrt(0.001).
  struct Constants {
    float decay;         // AdamW: 1 - learning_rate weight_decay
    float weight_decay;  // Adam: added to the gradient
    float new_first;     // 1 - beta1
    float beta2;
    float new_second;  // 1 - beta2
    float root_scale;  // 1 / sqrt(1 - beta2^step)
    float epsilon;
    float step_size;  // learning_rate / (1 - beta1^step)
  };

  template <class Options> static Constants constants(const Options& o, std::int64_t step) {
    const auto t = static_cast<double>(step);
    Constants c{};
    c.decay = static_cast<float>(1 - o.learning_rate * o.weight_decay);
    c.weight_decay = static_cast<float>(o.weight_decay);
    c.new_first = static_cast<float>(1 - o.beta1);
    c.beta2 = static_cast<float>(o.beta2);
    c.new_second = static_cast<float>(1 - o.beta2);
    c.root_scale = static_cast<float>(1 / std::sqrt(1 - std::pow(o.beta2, t)));
    c.epsilon = static_cast<float>(o.epsilon);
    c.step_size = static_cast<float>(o.learning_rate / (1 - std::pow(o.beta1, t)));
    return c;
  }
  template <class Float> HEDDLE_HOST_DEVICE static void average(const Constants& c, Float gradient, Float& first, Float& second) {
    first += (gradient - first) * c.new_first;
    second = c.beta2 * second + c.new_second * gradient * gradient;
  }
  template <class Float> HEDDLE_HOST_DEVICE static void apply(const Constants& c, Float& parameter, Float first, Float root) {
    parameter -= c.step_size * (first / (root * c.root_scale + c.epsilon));
  }
  template <class Options> static Diagnosis check(std::string_view name, const Options& o, std::string_view default_weight_decay) {
    if (!is_zero_or_more(o.learning_rate)) return refused_option(name, "learning_rate", o.learning_rate, "0 or more", "use 0.001, the default");
    if (!is_from_zero_below_one(o.beta1)) return refused_option(name, "beta1", o.beta1, "from 0 to below 1", "use 0.9, the default");
    if (!is_from_zero_below_one(o.beta2)) return refused_option(name, "beta2", o.beta2, "from 0 to below 1", "use 0.999, the default");
    if (!is_zero_or_more(o.epsilon)) return refused_option(name, "epsilon", o.epsilon, "0 or more", "use 1e-8, the default");
    if (!is_zero_or_more(o.weight_decay)) return refused_option(name, "weight_decay", o.weight_decay, "0 or more", default_weight_decay);
    return {};
  }
};

/// torch.optim.Adam: weight_decay is added to the gradient (L2).
///
/// m += (1 - beta1)(g - m), v = beta2 v + (1 - beta2) g^2, p -= learning_rate / (1 - beta1^t) m / (sqrt(v) / sqrt(1 - beta2^t) + epsilon)
/// Errors  O01 at run time if an option is out of range
/// Source  sources.md#adam
/// Tested  graph/optimizers/adam_test, compute/eigen/optimizers_test
struct Adam {
  static constexpr int states = 2;
  /// What a program may say: Trainer{{.learning_rate = 0.01}, Seed{1}}. The 5 defaults are those of PyTorch.
  struct Options {
    [[no_unique_address]] OnlyByName by_name = OnlyByName{};
    double learning_rate = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 0;
  };
  using Constants = AdamMoments::Constants;

  static constexpr std::string_view name() { return "Adam"; }
  static Constants constants(const Options& o, std::int64_t step) { return AdamMoments::constants(o, step); }
  template <class Float> HEDDLE_HOST_DEVICE static void moments(const Constants& c, Float& parameter, Float gradient, Float& first, Float& second) {
    AdamMoments::average(c, gradient + c.weight_decay * parameter, first, second);
  }
  template <class Float> HEDDLE_HOST_DEVICE static void apply(const Constants& c, Float& parameter, Float first, Float root) {
    AdamMoments::apply(c, parameter, first, root);
  }
  HEDDLE_HOST_DEVICE static void update(const Constants& c, float& parameter, float gradient, float& first, float& second) {
    moments(c, parameter, gradient, first, second);
    apply(c, parameter, first, std::sqrt(second));
  }
  static Diagnosis check(const Options& o) { return AdamMoments::check(name(), o, "use 0, the default"); }
};

/// torch.optim.AdamW: Adam with decoupled weight decay, p *= 1 - learning_rate weight_decay before the step.
///
/// Errors  O01 at run time if an option is out of range
/// Source  sources.md#adamw
/// Tested  graph/optimizers/adam_test, compute/eigen/optimizers_test
struct AdamW {
  static constexpr int states = 2;
  /// What a program may say. The 5 defaults are those of PyTorch: AdamW decays weights by 1e-2, where Adam decays none.
  struct Options {
    [[no_unique_address]] OnlyByName by_name = OnlyByName{};
    double learning_rate = 1e-3;
    double beta1 = 0.9;
    double beta2 = 0.999;
    double epsilon = 1e-8;
    double weight_decay = 1e-2;
  };
  using Constants = AdamMoments::Constants;

  static constexpr std::string_view name() { return "AdamW"; }
  static Constants constants(const Options& o, std::int64_t step) { return AdamMoments::constants(o, step); }
  template <class Float> HEDDLE_HOST_DEVICE static void moments(const Constants& c, Float& parameter, Float gradient, Float& first, Float& second) {
    parameter *= c.decay;
    AdamMoments::average(c, gradient, first, second);
  }
  template <class Float> HEDDLE_HOST_DEVICE static void apply(const Constants& c, Float& parameter, Float first, Float root) {
    AdamMoments::apply(c, parameter, first, root);
  }
  HEDDLE_HOST_DEVICE static void update(const Constants& c, float& parameter, float gradient, float& first, float& second) {
    moments(c, parameter, gradient, first, second);
    apply(c, parameter, first, std::sqrt(second));
  }
  static Diagnosis check(const Options& o) { return AdamMoments::check(name(), o, "use 0.01, the default"); }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Adam, graph_room::AdamW;
}  // namespace heddle
