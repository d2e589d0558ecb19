// SPDX-License-Identifier: MIT
// Room: run. Runner: an Inference on a backend; inputs are scattered, the model is applied, outputs are gathered in order.
// Sees: plan/inference, run/trainer.  Does not see: any backend by name.
// In: an Inference, a backend pairing, parameters of a trainer or a file.  Out: outputs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "heddle/plan/inference.hpp"
#include "heddle/run/concepts.hpp"
#include "heddle/run/trainer.hpp"

namespace heddle::inline run_room {

/// Never called: a Runner asks for no loss.
template <class Compute> struct LossKernel<NoLoss, Compute> {
  static float sum(const LossCall&) { return 0; }
};

/// Applies a model under a policy. Parameters start as a trainer with this seed starts them.
///
/// Errors  D07 inputs that are no whole rows; R05 a parameter that does not exist or has another size; R01 RankLost
/// Tested  run/runner_test
template <class TheInference, class Backend> class Runner {
  static_assert(sizeof(fired<Verdict<TheInference>>) > 0);

 public:
  explicit Runner(Seed seed = Seed{0}, RunOptions how = {}) : ranks_({}, seed, how) {}

  /// Takes all parameters by name from a trainer, another runner, or a file of tensors.
  template <class Source> void load(Source& source) {
    for (const std::string& name : parameter_names()) {
      if constexpr (requires { source.parameter(name); })
        ranks_.set_parameter(name, source.parameter(name));
      else
        ranks_.set_parameter(name, source.template get<float>(name));
    }
  }
  /// Outputs (rows, output features) for any number of rows, in their order.
  [[nodiscard]] std::vector<float> predict(std::span<const float> inputs) { return ranks_.predict(inputs); }

  [[nodiscard]] std::vector<std::string> parameter_names() const { return ranks_.parameter_names(); }
  [[nodiscard]] std::vector<float> parameter(const std::string& name, int replica = 0) { return ranks_.parameter(name, replica); }
  void set_parameter(const std::string& name, std::span<const float> values) { ranks_.set_parameter(name, values); }
  void observe(Observer* observer) { ranks_.observe(observer); }
  [[nodiscard]] auto& executor(Rank rank) { return ranks_.executor(rank); }
  [[nodiscard]] auto& session() { return ranks_.session(); }

 private:
  Trainer<TheInference, Backend> ranks_;  // of which no step is ever asked
};

}  // namespace heddle::inline run_room
