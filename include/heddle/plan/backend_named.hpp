// SPDX-License-Identifier: MIT
// Room: plan. What a Trainer, a Runner or verify without a backend says: L09, and nothing else, whatever is asked of it.
// Sees: plan/plan, core/not_included.  Does not see: what a backend does; the Trainer that trains is in run/trainer.hpp.
// In: a plan, and no backend or one whose header is not included.  Out: the Trainer and the Runner that are refused.
#pragma once

#include <initializer_list>
#include <string_view>
#include <type_traits>

#include "heddle/core/fire.hpp"
#include "heddle/core/not_included.hpp"
#include "heddle/core/shape.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/core/unanswered.hpp"
#include "heddle/core/units.hpp"
#include "heddle/plan/plan.hpp"

namespace heddle::run_room {

/// A pairing whose elements are no numbers of a user: FieldThreads. It proves a plan, and would train and predict nonsense.
template <class Backend>
concept ProvesPlans = requires {
  requires Backend::Compute::proves;
};
/// A pairing of kernels and ranks that trains and predicts: CpuThreads, CpuMpi.
template <class Backend>
concept RunsPlans = !ProvesPlans<Backend> && requires {
  typename Backend::Compute;
  typename Backend::Session;
};

/// What a pairing names as the kernels that others are held against; else its own.
template <class Backend> struct ReferenceOfBackend { using type = typename Backend::Compute; };
template <class Backend>
requires requires { typename Backend::Reference; }
struct ReferenceOfBackend<Backend> {
  using type = typename Backend::Reference;
};
template <class Backend> using ReferenceOf = typename ReferenceOfBackend<Backend>::type;

/// Who asks for a backend, and how it is given one.
struct OfTrainer {
  static constexpr std::string_view who = "a Trainer", call = "Trainer<MyPlan, CpuThreads>";
};
/// Says what the sentence of L09 calls a Runner, and how its call is written.
struct OfRunner {
  static constexpr std::string_view who = "a Runner", call = "Runner<MyInference, CpuThreads>";
};
/// Says what the sentence of L09 calls verify, and how its call is written.
struct OfVerify {
  static constexpr std::string_view who = "verify", call = "verify<MyPlan, CpuThreads>(batch)";
};

/// L09, or the refusal of the plan.
template <class Asked, class Backend, class Who = OfTrainer> struct NamedBackend {
  static constexpr Diagnosis find() {
    if constexpr (!Verdict<Asked>::found.ok() && Verdict<Asked>::found.code != Code{'L', 6})
      return Verdict<Asked>::found;
    else if constexpr (std::is_void_v<Backend>)
      return Diagnosis{Code{'L', 9}, Who::who} << " names no backend. Fix: write " << Who::call << ", and include heddle/backend/cpu_threads.hpp.";
    else if constexpr (ProvesPlans<Backend>)
      return Diagnosis{Code{'L', 9}, ""} << type_name<Backend>().view() << " computes modulo a prime, which is for prove alone. Fix: write "
                                         << Who::call << ".";
    else if constexpr (RunsPlans<Backend>)  // of a Trainer and of verify the backend has included the header
      return Diagnosis{Code{'L', 9}, "the header of "} << Who::who << " is not included. Fix: add #include <heddle/run/runner.hpp>.";
    else if constexpr (!header_of_backend<Backend>.empty())
      return Diagnosis{Code{'L', 9}, ""} << "the header of " << type_name<Backend>().view() << " is not included. Fix: add #include <"
                                         << header_of_backend<Backend> << ">.";
    else
      return Diagnosis{Code{'L', 9}, ""} << type_name<Backend>().view() << " is no backend. Fix: name the plan first, then CpuThreads or CpuMpi.";
  }
  static constexpr Diagnosis found = find();
};

/// A Trainer of what is no backend: refused, and silent afterwards. The one that trains is in run/trainer.hpp; tests/house/stand_ins.py compares
/// their public names.
///
/// Errors  L09
/// Tested  plan/backend_named_test, fail/L09_trainer_without_a_backend, fail/L09_backend_header_forgotten,
///         fail/L09_trainer_of_the_field
template <class Asked, class Backend = void> class Trainer {
  static_assert(sizeof(fired<NamedBackend<Asked, Backend>>) > 0);

 public:
  using Request = typename PlanOrNone<Asked>::Request;
  using Model = typename Request::Model;
  using Optimizer = typename Request::Optimizer;
  using Target = typename Request::Loss::Target;
  using Options = typename Optimizer::Options;
  using Session = Unanswered;
  using RankExecutor = Unanswered;
  template <class... How> explicit Trainer(const Options&, const How&...) {}
  template <class... How> explicit Trainer(Seed, const Options&, const How&...) {}
  template <class... Given> explicit Trainer(const Given&...) {}
  template <class... Given> void on_step(Given&&...) {}
  template <class... Given> void observe(Given&&...) {}
  template <class... Given> void set_parameter(Given&&...) {}
  template <class... Given> Unanswered step(Given&&...) { return {}; }
  template <class... Given> Unanswered evaluate(Given&&...) { return {}; }
  template <class... Given> Unanswered predict(Given&&...) { return {}; }
  template <Name..., class... Given> double accuracy(Given&&...) { return 0; }
  template <class... Given> void save(Given&&...) {}
  template <class... Given> void load(Given&&...) {}
  template <class... Given> Unanswered parameter(Given&&...) { return {}; }
  template <class... Given> Unanswered gradient(Given&&...) { return {}; }
  template <class... Given> Unanswered parameter_hash(Given&&...) { return {}; }
  template <class... Given> Shape parameter_shape(const Given&...) const { return {}; }
  template <class... Given> Unanswered executor(const Given&...) { return {}; }
  template <class... Given> bool local(const Given&...) const { return true; }
  [[nodiscard]] Unanswered parameter_names() const { return {}; }
  [[nodiscard]] Unanswered session() { return {}; }
  template <class... Given> Unanswered reading(const Given&...) { return {}; }
  [[nodiscard]] Unanswered failures() const { return {}; }
  [[nodiscard]] bool interrupted() const { return false; }
  [[nodiscard]] int steps() const { return 0; }
  [[nodiscard]] int replicas() const { return 1; }
  [[nodiscard]] bool first_process() const { return true; }
  [[nodiscard]] Options& optimizer() { return options_; }
  [[nodiscard]] UnansweredSettings& clip() { return settings_; }
  [[nodiscard]] UnansweredSettings& loss_scale() { return settings_; }
  template <class... Given> void class_weights(const Given&...) {}
  void class_weights(std::initializer_list<float>) {}
  static constexpr const Program& training_program() { return PlanOrNone<Asked>::training; }

 private:
  Options options_;
  UnansweredSettings settings_;
};

/// A Runner of what is no backend: refused, and silent afterwards. The one that runs is in run/runner.hpp.
///
/// Errors  L09
/// Tested  plan/backend_named_test, fail/L09_runner_without_a_backend
template <class TheInference, class Backend = void> class Runner {
  static_assert(sizeof(fired<NamedBackend<TheInference, Backend, OfRunner>>) > 0);

 public:
  template <class... Given> explicit Runner(const Given&...) {}
  template <class... Given> void load(Given&&...) {}
  template <class... Given> void observe(Given&&...) {}
  template <class... Given> void set_parameter(Given&&...) {}
  template <class... Given> Unanswered predict(Given&&...) { return {}; }
  template <class... Given> Unanswered parameter(Given&&...) { return {}; }
  template <class... Given> Shape parameter_shape(const Given&...) const { return {}; }
  template <class... Given> Unanswered executor(const Given&...) { return {}; }
  [[nodiscard]] Unanswered parameter_names() const { return {}; }
  [[nodiscard]] Unanswered session() { return {}; }
  template <class... Given> Unanswered reading(const Given&...) { return {}; }
  [[nodiscard]] bool interrupted() const { return false; }
};

}  // namespace heddle::run_room

namespace heddle {
using run_room::Runner, run_room::Trainer;
}  // namespace heddle
