// SPDX-License-Identifier: MIT
// Room: run. What a Trainer, a Runner or verify without a backend says: L09, and nothing else, whatever is asked of it.
// Sees: plan, run/results.  Does not see: any backend by name.
// In: a plan and something that is no backend.  Out: the Trainer that is refused.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "heddle/core/fire.hpp"
#include "heddle/core/type_name.hpp"
#include "heddle/plan/plan.hpp"
#include "heddle/run/results.hpp"

namespace heddle::inline run_room {

/// A pairing of kernels and ranks: CpuThreads, CpuMpi.
template <class Backend>
concept RunsPlans = requires {
  typename Backend::Compute;
  typename Backend::Session;
};

/// Who asks for a backend, and how it is given one.
struct OfTrainer {
  static constexpr std::string_view who = "a Trainer", call = "Trainer<MyPlan, CpuThreads>";
};
struct OfRunner {
  static constexpr std::string_view who = "a Runner", call = "Runner<MyInference, CpuThreads>";
};
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
    else
      return Diagnosis{Code{'L', 9}, ""} << type_name<Backend>().view() << " is no backend. Fix: name the plan first, then CpuThreads or CpuMpi.";
  }
  static constexpr Diagnosis found = find();
};

/// A Trainer of what is no backend: refused, and silent afterwards. The one that trains is in run/trainer.hpp.
///
/// Errors  L09
/// Tested  run/backend_named_test, fail/L09_trainer_without_a_backend
template <class Asked, class Backend = void> class Trainer {
  static_assert(sizeof(fired<NamedBackend<Asked, Backend>>) > 0);

 public:
  using Options = typename PlanOrNone<Asked>::Request::Optimizer::Options;
  template <class... How> explicit Trainer(const Options&, How...) {}
  template <class... Given> void on_step(Given&&...) {}
  template <class... Given> void observe(Given&&...) {}
  template <class... Given> void set_parameter(Given&&...) {}
  template <class... Given> StepResult step(Given&&...) { return {}; }
  template <class... Given> Evaluation evaluate(Given&&...) { return {}; }
  template <class... Given> std::vector<float> predict(Given&&...) { return {}; }
  template <class... Given> double accuracy(Given&&...) { return 0; }
  template <class... Given> void save(Given&&...) {}
  template <class... Given> void load(Given&&...) {}
  template <class... Given> std::vector<float> parameter(Given&&...) { return {}; }
  template <class... Given> std::vector<float> gradient(Given&&...) { return {}; }
  [[nodiscard]] std::vector<std::string> parameter_names() const { return {}; }
  template <class... Given> std::uint64_t parameter_hash(Given&&...) { return 0; }
  [[nodiscard]] std::int64_t steps() const { return 0; }
  [[nodiscard]] int replicas() const { return 1; }
  [[nodiscard]] bool first_process() const { return true; }
  [[nodiscard]] Options& optimizer() { return options_; }

 private:
  Options options_;
};

}  // namespace heddle::inline run_room
