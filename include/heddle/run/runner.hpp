// SPDX-License-Identifier: MIT
// Room: run. Runner: an Inference on a backend; inputs are scattered, the model is applied, outputs are gathered in order.
// Sees: seams, plan/inference, run/trainer.  Does not see: any backend by name.
// In: an Inference, a backend pairing, parameters of a trainer or a file.  Out: outputs.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "heddle/plan/backend_named.hpp"
#include "heddle/plan/inference.hpp"
#include "heddle/run/trainer.hpp"
#include "heddle/seams/concepts.hpp"

namespace heddle {

/// Never called: a Runner asks for no loss.
template <class Compute> struct LossKernel<graph_room::NoLoss, Compute> {
  using Space = seams_room::SpaceOf<Compute>;
  static constexpr bool on_host = std::is_same_v<Space, seams_room::HostMemory>;
  static std::conditional_t<on_host, float, void> sum(const seams_room::LossCallIn<Space>&) {
    if constexpr (on_host) return 0;
  }
};

}  // namespace heddle

namespace heddle::run_room {

/// Applies a model under a policy. Parameters start as a trainer with this seed starts them.
///
/// Errors  D07 inputs that are no whole rows; D33 at build, floats for token ids or the reverse; D16 tensors of another model; R05 a parameter that
/// does not exist or has another size; R01 RankLost;
///         R27 a runner that was moved from; R33 one of a file of another kind
/// Tested  run/runner_test
template <class TheInference, RunsPlans Backend> class Runner<TheInference, Backend> {
  static_assert(sizeof(fired<Verdict<TheInference>>) > 0);
  /// Tells a Trainer that its plan is only applied: it takes no step.
  struct Applied : PlanOrNone<TheInference> {
    static constexpr bool is_only_applied = true;
  };
  static constexpr bool is_none = Verdict<TheInference>::found.code == Code{'L', 6};
  using Ranks = Trainer<std::conditional_t<is_none, NoPlan, Applied>, Backend>;  // of which no step is ever asked
  using Input = InputOf<typename Ranks::Request>;

 public:
  explicit Runner(Seed seed = Seed{0}, RunOptions how = {}) : ranks_({}, seed, how) {}

  /// Takes all parameters by name from a file (its path), a TensorFile, another runner, or a trainer under any plan. They must be those of the model:
  /// every one, in its shape, and none besides. All differences stand in one sentence, and no parameter is changed if there are any.
  /// Errors  D16 tensors of another model; D01, D21 to D28 a file that cannot be read; R28 processes with other files
  template <class Source> void load(Source&& source) { ranks_.load(source); }
  /// Outputs (rows, output features) for any number of rows, in their order.
  [[nodiscard]] std::vector<float> predict(std::span<const Input> inputs) { return ranks_.predict(inputs); }
  [[nodiscard]] std::vector<float> predict(std::initializer_list<Input> inputs) { return ranks_.predict(inputs); }
  /// The same of a model that begins with Inputs<...>: one array for each, in their order.
  template <class... More>
  requires(are_several_inputs<Input, std::span<const Input>, More...>)
      [[nodiscard]] std::vector<float> predict(std::span<const Input> inputs, const More&... more) {
    return ranks_.predict(inputs, more...);
  }
  template <class First, class... More>
  requires(!are_inputs<Input, First, More...> && !are_several_inputs<Input, First, More...>) std::vector<float> predict(const First&,
                                                                                                                        const More&...) {
    if constexpr (are_other_inputs<Input, First, More...>) {
      using Wrong = WrongInputs<typename Ranks::Request, ElementOf<const First&>>;
      static_assert(sizeof(fired<std::conditional_t<Verdict<TheInference>::found.ok(), Wrong, Verdict<TheInference>>>) > 0);
    } else {
      static_assert(are_inputs<Input, First, More...>,
                    "[heddle.D18] predict() takes inputs without targets, as floats, token ids or bytes. Fix: give a std::vector of them.");
    }
    return {};
  }

  [[nodiscard]] std::vector<std::string> parameter_names() const { return ranks_.parameter_names(); }
  [[nodiscard]] const Shape& parameter_shape(const std::string& name) const { return ranks_.parameter_shape(name); }
  [[nodiscard]] std::vector<float> parameter(const std::string& name, int replica = 0) { return ranks_.parameter(name, replica); }
  void set_parameter(const std::string& name, std::span<const float> values) { ranks_.set_parameter(name, values); }
  void set_parameter(const std::string& name, std::initializer_list<float> values) { set_parameter(name, std::span{values.begin(), values.size()}); }
  [[nodiscard]] auto reading(const char* call = "reading()") { return ranks_.reading(call); }
  [[nodiscard]] bool interrupted() const { return ranks_.interrupted(); }
  void observe(Observer* observer) { ranks_.observe(observer); }
  [[nodiscard]] auto& executor(Rank rank) { return ranks_.executor(rank); }
  [[nodiscard]] auto& session() { return ranks_.session(); }

 private:
  Ranks ranks_;
};

}  // namespace heddle::run_room
