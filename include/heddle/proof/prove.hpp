// SPDX-License-Identifier: MIT
// Room: proof. prove<Plan>(): a plan computes the function of one device, for every input but a stated share of draws.
// Sees: plan, policy, graph, run, compute/field, proof/field_run.  Does not see: any transport by name.
// In: a plan, or Programs, and a backend of the field.  Out: Proof.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <deque>
#include <string>
#include <type_traits>
#include <utility>

#include "heddle/compute/field/field.hpp"
#include "heddle/core/as_written.hpp"
#include "heddle/plan/one_device.hpp"
#include "heddle/plan/plan.hpp"
#include "heddle/proof/bound.hpp"
#include "heddle/proof/field_run.hpp"
#include "heddle/proof/field_work.hpp"
#include "heddle/proof/report.hpp"
#include "heddle/run/trainer.hpp"

namespace heddle::core_room {

template <class... Given> inline constexpr bool is_included<ProofHeader, Given...> = true;

}  // namespace heddle::core_room

namespace heddle::proof_room {

static_assert(promised_log2_of_bound == Draws::wanted);

/// Sets the field's draw for as long as it lives. Two threads may prove at once: their runs take turns.
class DrawnField {
 public:
  DrawnField(Seed seed, int draw, FieldMode mode) : before_(field_draw) {
    field_draw = {bits64(seed, 0x70726f6f66ULL, static_cast<std::uint64_t>(draw)), mode};
    (void)field_census.take();
  }
  DrawnField(const DrawnField&) = delete;
  DrawnField& operator=(const DrawnField&) = delete;
  ~DrawnField() { field_draw = before_; }

 private:
  FieldTurn turn_;
  FieldDraw before_;
};

/// The higher Degrees of all that is compared, in a degree run.
[[nodiscard]] inline std::uint64_t highest_degrees(const FieldOutcome& outcome) {
  std::uint64_t most = 0;
  for (const FieldTensor& tensor : outcome.tensors)
    for (const std::vector<float>& copy : tensor.copies)
      for (const float element : copy) most = higher_degrees(most, Field::read(element));
  return most;
}

/// One device with the same rows: what every plan of a model is compared with. Its draws are made once.
///
/// Tested  proof/prove_test
template <class Session> class OneDevice {
 public:
  /// What is given lives as long as this.
  OneDevice(const FieldWork& work, ProgramPair programs, FieldSteps steps, ProofOptions how = {})
      : work_(work), programs_(programs), steps_(std::move(steps)), how_(how) {}

  [[nodiscard]] const FieldOutcome& draw(int number) {
    while (static_cast<int>(draws_.size()) <= number) {
      const DrawnField drawn{how_.seed, static_cast<int>(draws_.size()), FieldMode::values};
      draws_.push_back(run(nullptr));
    }
    return draws_[static_cast<std::size_t>(number)];
  }
  /// What one device calls, and of what degrees.
  [[nodiscard]] const FieldCounts& counts() {
    if (!counts_.calls.empty()) return counts_;
    const DrawnField census{how_.seed, 0, FieldMode::census};
    (void)run(&counts_.calls);
    const DrawnField degrees{how_.seed, 0, FieldMode::degrees};
    counts_.compared = highest_degrees(run(&counts_.degrees));
    return counts_;
  }
  [[nodiscard]] const FieldWork& work() const { return work_; }
  [[nodiscard]] const FieldSteps& steps() const { return steps_; }
  [[nodiscard]] const ProofOptions& how() const { return how_; }

 private:
  [[nodiscard]] FieldOutcome run(std::vector<FieldCall>* calls) const {
    FieldRun<Session> alone{work_, programs_, how_.deadline};
    FieldOutcome outcome = alone.outcome(steps_);
    if (calls != nullptr) *calls = alone.calls();
    return outcome;
  }
  const FieldWork& work_;
  ProgramPair programs_;
  FieldSteps steps_;
  ProofOptions how_;
  std::deque<FieldOutcome> draws_;
  FieldCounts counts_;
};

/// Empty, or where a plan and one device first differ: R31, as text.
///
/// Tested  proof/prove_test
[[nodiscard]] inline std::string first_difference(const FieldOutcome& planned, const FieldOutcome& alone, std::string_view plan) {
  for (std::size_t t = 0; t < alone.tensors.size(); ++t) {
    const std::vector<float>& wanted = alone.tensors[t].copies[0];
    for (std::size_t copy = 0; copy < planned.tensors[t].copies.size(); ++copy) {
      const std::vector<float>& got = planned.tensors[t].copies[copy];
      for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (Field::read(got[i]) == Field::read(wanted[i])) continue;
        return sentence_of(Code{'R', 31}, std::string{plan} + " does not compute what one device computes: " + alone.tensors[t].name +
                                              " differs at element " + std::to_string(i) +
                                              (planned.tensors[t].copies.size() > 1 ? " on rank " + std::to_string(copy) : std::string{}) +
                                              ". Fix: look at what is split, moved or summed before it; for a layer of your own at its signatures, "
                                              "and at its FieldKernel: does it honour add and every row?");
      }
    }
  }
  return {};
}

/// The plan that `programs` are, drawn against one device until a wrong plan passes with a probability below 2^-40. Programs made at run time are
/// taken as well, if check() has accepted them: what another one does to memory is not looked at.
///
/// Errors  what a run throws; R11 in a kernel of another proof; R31 as the text of the result; R32
/// Tested  proof/prove_test, equivalence/prove_random_test
template <class Session, class SessionOfOne>
[[nodiscard]] Proof prove_programs(ProgramPair programs, OneDevice<SessionOfOne>& alone, std::string name) {
  if (InFieldRun::here())
    throw Error(Code{'R', 11}, "prove() was called by a kernel in the middle of another proof. Fix: call it after the other proof has returned.");
  const ProofOptions& how = alone.how();
  Proof proof;
  proof.plan = std::move(name);
  proof.devices = programs.training->mesh.ranks();
  proof.steps = static_cast<int>(alone.steps().rows.size());
  proof.modulus = Field::modulus;
  FieldRun<Session> planned{alone.work(), programs, how.deadline, {how.seed.value, std::max(how.most_draws, 1)}};  // here processes compare it
  proof.first_process = planned.first_process();
  const auto run = [&](std::vector<FieldCall>* calls) {
    FieldOutcome outcome = planned.outcome(alone.steps());
    if (calls != nullptr) *calls = planned.calls();
    return outcome;
  };
  BitHash hash;
  BitHash hash_alone;
  Draws draws;
  for (int draw = 0; draw < draws.count && proof.ok(); ++draw) {
    FieldOutcome outcome;
    if (draw == 0) {
      std::vector<FieldCall> calls;
      std::uint64_t compared = 0;
      {
        const DrawnField degrees{how.seed, 0, FieldMode::degrees};
        compared = highest_degrees(run(&calls));
      }
      FieldCounts counts = alone.counts();
      counts.compared = higher_degrees(counts.compared, compared);
      counts.degrees.insert(counts.degrees.end(), calls.begin(), calls.end());
      const DrawnField census{how.seed, 0, FieldMode::census};
      outcome = run(&calls);
      counts.calls.insert(counts.calls.end(), calls.begin(), calls.end());
      draws = draws_for(with_choices(bound_of_a_draw(std::move(counts)), choices_of(alone.work())), how.most_draws);
    } else {
      const DrawnField values{how.seed, draw, FieldMode::values};
      outcome = run(nullptr);
    }
    const FieldOutcome& wanted = alone.draw(draw);
    proof.text = first_difference(outcome, wanted, proof.plan);
    for (const FieldTensor& tensor : outcome.tensors)
      if (draw < Draws::least) hash.add(tensor.copies[0]);  // as many of every plan
    for (const FieldTensor& tensor : wanted.tensors) {
      if (draw < Draws::least) hash_alone.add(tensor.copies[0]);
      if (draw == 0) proof.compared += std::ssize(tensor.copies[0]);
    }
    proof.draws = draw + 1;
  }
  proof.hash = hash.value;
  proof.hash_alone = hash_alone.value;
  if (proof.ok()) proof.log2_of_bound = draws.log2_of_bound;
  return proof;
}

/// Whole batches, and one that is smaller in the middle if the plan takes such.
[[nodiscard]] inline FieldSteps steps_of(const BatchDivision& batch) {
  const bool takes_less = batch.remedy == Remedy::keep || batch.remedy == Remedy::pad;
  const std::int64_t less = takes_less && batch.batch > 1 ? (batch.batch + 1) / 2 + (batch.batch > 4 ? 1 : 0) : batch.batch;
  return {{batch.batch, less, batch.batch}, std::min<std::int64_t>(batch.batch, batch.capacity())};
}

template <class Backend>
concept ComputesExactly = requires {
  requires std::same_as<typename Backend::Compute, FieldCompute>;
};
/// What is wrong with what prove is asked of: what is no plan, is refused or has no one device like it, a backend of floats.
template <class Asked, class Backend> struct AskedToProve {
  static constexpr Diagnosis find() {
    if constexpr (!Verdict<Asked>::found.ok()) {
      return Verdict<Asked>::found;
    } else if constexpr (!Asked::Request::trains) {
      return Diagnosis{Code{'L', 11}, "prove is given an Inference, which makes no step. Fix: give it the Plan that trains the model."};
    } else if constexpr (!ComputesExactly<Backend>) {
      return Diagnosis{Code{'L', 9}, ""} << "prove computes exactly, which " << type_name<Backend>().view()
                                         << " does not. Fix: write prove<MyPlan, extending::FieldThreads>(), or extending::FieldMpi.";
    } else if constexpr (Asked::Request::values != ElementType::float32) {
      return Diagnosis{Code{'L', 24}, ""} << "prove computes with 31-bit numbers, for which the " << name_of(Asked::Request::values)
                                          << " values of Mixed have no room. Fix: prove the plan without Mixed, which moves the same tensors.";
    } else if constexpr (!check_one_device(Asked::Request::graph, Asked::Request::batch).ok()) {
      return check_one_device(Asked::Request::graph, Asked::Request::batch);
    } else {
      using Request = typename Asked::Request;
      constexpr Diagnosis kernels = CheckedKernels<typename Request::Model, FieldCompute, Asked::training.splits_backward>::found;
      if constexpr (!kernels.ok()) return kernels;
      return CheckedLoss<typename Request::Loss, FieldCompute>::found;
    }
  }
  static constexpr Diagnosis found = find();
};

/// One device has the groups of the plan.
template <class Alone, class... Types> [[nodiscard]] WithGroupOptions<Alone, Types...> with_groups_of(const plan_room::RequestOf<Plan<Types...>>*);

template <class ThePlan, class Backend> [[nodiscard]] Proof prove_sound(ProofOptions how) {
  using Request = typename ThePlan::Request;
  using Ungrouped = typename plan_room::OneDeviceOf<Request>::Unscaled;
  using Alone = typename decltype(with_groups_of<Ungrouped>(static_cast<const Request*>(nullptr)))::type;
  const FieldWork work = field_work<typename Request::Model, typename Request::Loss, typename Request::Optimizer>();
  OneDevice<typename Backend::SessionOfOne> alone{work, {&Alone::training, &Alone::evaluation}, steps_of(ThePlan::training.batch), how};
  return prove_programs<typename Backend::Session>({&ThePlan::training, &ThePlan::evaluation}, alone,
                                                   as_written(long_type_name<typename Request::ThePolicy>().view()));
}

/// prove<MyPlan, FieldThreads>() runs the checked Programs of a plan in exact arithmetic, three steps and an evaluation, and compares losses, norms,
/// gradients, parameters of all ranks and outputs with those of one device. Layers, losses and optimizers that are not linear stand for any
/// function, so what is proved holds for every such function and every input, but for a probability that is printed.
///
/// It says nothing of rounding, of kernels, of deadlock or of other sizes than those of the plan; see docs/proof.md.
/// Errors  what the executor throws; R18 processes with other options; R31 a difference, as the text of the result; R32 a split layer of a user
/// without a field kernel; R34 a field kernel of a user that computes with floats; L06, L09, L11, L24
///         and what refuses the plan at build
/// Tested  proof/prove_test, equivalence/prove_policies_test, backend/field_mpi_test, fail/L09_prove_with_floats
template <class ThePlan, class Backend> [[nodiscard]] Proof prove(ProofOptions how = {}) {
  using Asked = AskedToProve<ThePlan, Backend>;
  heard(static_cast<fired<Asked>*>(nullptr));
  if constexpr (Asked::found.ok())
    return prove_sound<ThePlan, Backend>(how);
  else
    return {};
}

}  // namespace heddle::proof_room

namespace heddle {
using proof_room::prove;
}  // namespace heddle
