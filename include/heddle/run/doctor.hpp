// SPDX-License-Identifier: MIT
// Room: run. doctor: a plan held against the machine and the launcher that it is to run on; what cannot work, what stands idle.
// Sees: plan, plan/advice, run/external_memory, run/machine_facts, run/world.  Does not see: threads, any backend.
// In: a Plan, a backend's name and needs, Surroundings.  Out: Checkup, values that report/checkup.hpp prints.
#pragma once

#include <algorithm>
#include <cmath>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/core/as_written.hpp"
#include "heddle/plan/advice.hpp"
#include "heddle/run/external_memory.hpp"
#include "heddle/run/machine_facts.hpp"
#include "heddle/run/world.hpp"

namespace heddle::run_room {

/// One thing that was found. What cannot work is an error; the rest is said and may stay.
struct Finding {
  bool cannot_work = false;
  Diagnosis what;
};

/// What a program may tell the doctor: doctor<MyPlan>({}, {.external = 64_MiB}) counts 64 MiB more for each device.
struct DoctorOptions {
  bool on_gpus = false;  ///< devices are to be GPUs; else cores, or what the backend computes on
  Bytes external{};      ///< memory that a backend adds to each arena; that of a backend that is named is known
};

/// What doctor asks of a pairing; of none, where no backend is named. 8 ranks with arenas of 1 MiB and external 64 KiB need 8.5 MiB.
struct BackendFacts {
  std::string name;                                               ///< empty: none
  bool on_gpus = false;                                           ///< it computes on GPUs
  bool card_for_each = false;                                     ///< of which each device needs one
  bool processes = false;                                         ///< each rank is a process; else all are threads of one
  Bytes external{};                                               ///< memory beside each arena
  Diagnosis (*refusal)(int ranks, const Environment&) = nullptr;  ///< what it says where it cannot start the ranks
};

/// Two pairings are known; without a name doctor asks whether either could start the ranks.
[[nodiscard]] inline Diagnosis refusal_of_all(int ranks, const Environment& environment) {
  return RanksAsThreads::refusal(ranks, environment).ok() ? Diagnosis{} : RanksAsProcesses::refusal(ranks, environment);
}

template <class Backend> [[nodiscard]] BackendFacts facts_of() {
  if constexpr (std::is_void_v<Backend>) {
    return {{}, false, false, false, {}, &refusal_of_all};
  } else {
    BackendFacts facts{std::string{type_name<Backend>().view()}, false, false, Backend::Ranks::processes, {}, &Backend::Ranks::refusal};
    if constexpr (requires { Backend::on_gpus; }) facts.on_gpus = Backend::on_gpus;
    if constexpr (requires { Backend::card_for_each; }) facts.card_for_each = Backend::card_for_each;
    return facts;
  }
}

/// What was read and what was found.
struct Checkup {
  const Program* program = nullptr;
  std::string policy;
  BackendFacts backend;
  DoctorOptions options;
  MachineFacts machine;
  World world;
  std::vector<Finding> findings;

  [[nodiscard]] bool can_work() const {
    return std::none_of(findings.begin(), findings.end(), [](const Finding& f) { return f.cannot_work; });
  }
  [[nodiscard]] bool has(Code code) const {
    return std::any_of(findings.begin(), findings.end(), [&](const Finding& f) { return f.what.code == code; });
  }
  [[nodiscard]] int ranks() const { return program->mesh.ranks(); }
  /// The first rank of the plan on this machine, and how many there are: all, unless a launcher says how many processes are here.
  [[nodiscard]] Rank first_local_rank() const { return Rank{split_over_machines() ? world.rank - world.local_rank : 0}; }
  [[nodiscard]] int local_ranks() const { return split_over_machines() ? world.local_size : ranks(); }
  [[nodiscard]] Bytes arena(Rank rank) const { return Bytes{program->arenas[program->mesh.coordinate(rank, Axis::stage)].total}; }
  [[nodiscard]] Bytes needed_memory() const {
    Bytes sum;
    for (int r = 0; r < local_ranks(); ++r) sum += arena(Rank{first_local_rank().value + r}) + options.external + backend.external;
    return sum;
  }
  [[nodiscard]] bool on_gpus() const { return options.on_gpus || backend.on_gpus; }

 private:
  [[nodiscard]] bool split_over_machines() const {
    if (!backend.name.empty() && !backend.processes) return false;
    return world.size == ranks() && world.local_size > 0 && world.local_size < world.size && world.rank >= world.local_rank &&
           world.rank - world.local_rank + world.local_size <= world.size;
  }
};

/// Writes the findings of a Checkup.
struct Doctor {
  Checkup& checkup;
  const Environment& environment;

  void examine(const AdviceReport& advice) {
    launcher();
    devices();
    memory();
    if (checkup.on_gpus())
      gpus();
    else
      cores();
    for (const Diagnosis& remark : advice) note(remark);
  }

 private:
  void refuse(const Diagnosis& what) { checkup.findings.push_back({true, what}); }
  void note(const Diagnosis& what) { checkup.findings.push_back({false, what}); }
  /// 1.5, 2, 12.25: at most two digits after the point.
  [[nodiscard]] static std::string decimal(double number) {
    std::string words = std::to_string(std::round(number * 100) / 100);
    words.resize(words.find('.') + 3);
    while (words.back() == '0') words.pop_back();
    if (words.back() == '.') words.pop_back();
    return words;
  }

  void launcher() {
    const World& world = checkup.world;
    const BackendFacts& backend = checkup.backend;
    const bool threads = !backend.name.empty() && !backend.processes;
    if (!world.fault.ok()) return refuse(world.fault);
    if (!threads && world.size > 1 && world.size != checkup.ranks())
      return refuse(Diagnosis{Code{'R', 3}, ""} << world.variable << " says " << world.size << " processes, but the plan has " << checkup.ranks()
                                                << " ranks. Fix: start " << checkup.ranks() << " processes, or name a plan of " << world.size
                                                << " devices.");
    if (const Diagnosis odd = backend.refusal(checkup.ranks(), environment); !odd.ok()) return refuse(odd);
    if (threads && world.size > 1)
      note(Diagnosis{Code{'R', 26}, ""} << world.variable << " says " << world.size << " processes, but " << backend.name << " runs the "
                                        << checkup.ranks() << " ranks of the plan in each, so the same training runs " << world.size
                                        << " times. Fix: start one process, or use CpuMpi.");
  }
  void devices() {
    if (!checkup.options.on_gpus || checkup.backend.on_gpus) return;
    Diagnosis d = Diagnosis{Code{'R', 25}, ""} << "the plan is to run on GPUs, but ";
    d << (checkup.backend.name.empty() ? std::string_view{"no backend"} : std::string_view{checkup.backend.name})
      << (checkup.backend.name.empty() ? " is named. " : " computes on cores. ");
    refuse(d << "Fix: name CudaThreads, CudaMpi, CudaFiles or CudaOneCard, or run it on cores, with CpuThreads or CpuMpi.");
  }
  void memory() {
    const Bytes needed = checkup.needed_memory();
    const Bytes there = checkup.machine.usable_memory();
    if (checkup.on_gpus() || there.value == 0 || needed <= there) return;
    refuse(Diagnosis{Code{'R', 21}, ""} << "the " << checkup.local_ranks() << " ranks on this machine need " << needed.value << " bytes, but "
                                        << there.value << " bytes are free"
                                        << (checkup.machine.memory_limit.value > 0 ? " under the limit of the control group" : "")
                                        << ". Fix: use a smaller batch, fewer ranks on this machine, or free memory.");
  }
  void gpus() {
    const auto visible = static_cast<int>(checkup.machine.visible_gpus.size());
    const auto present = static_cast<int>(checkup.machine.gpus.size());
    const int ranks = checkup.local_ranks();
    if (visible == 0 && checkup.machine.nvidia_smi_hangs)
      return refuse(Diagnosis{Code{'R', 22}, ""} << "the plan is to run on GPUs, but nvidia-smi -L, which lists them, had not ended after "
                                                 << patience_with_nvidia_smi.count()
                                                 << " s. Fix: look at the driver with dmesg, since a card may be lost.");
    if (visible == 0)
      return refuse(Diagnosis{Code{'R', 22}, ""}
                    << "the plan is to run on GPUs, but none is visible: the driver shows " << present << " and CUDA_VISIBLE_DEVICES is "
                    << (checkup.machine.visible_devices ? "'" + checkup.machine.visible_devices->substr(0, 80) + "'" : "not set")
                    << ". Fix: " << (present > 0 ? "unset it or name GPUs that are there." : "look at the driver with nvidia-smi."));
    if (ranks > visible && checkup.backend.card_for_each) return refuse(fewer_cards(ranks, visible));
    if (ranks > visible)
      note(Diagnosis{Code{'R', 23}, ""} << ranks << " ranks share " << visible << (visible == 1 ? " GPU" : " GPUs") << ". Fix: use a plan of "
                                        << visible << (visible == 1 ? " device" : " devices") << ", or more GPUs.");
    if (ranks < visible || visible < present)
      note(Diagnosis{Code{'R', 24}, ""} << present - std::min(ranks, visible) << " of " << present << " GPUs stand idle: " << present - visible
                                        << " are hidden by CUDA_VISIBLE_DEVICES and the plan has " << ranks << (ranks == 1 ? " rank" : " ranks")
                                        << " on this machine. Fix: use a plan of more devices, or unset CUDA_VISIBLE_DEVICES.");
  }
  void cores() {
    const double usable = checkup.machine.usable_cores();
    const int ranks = checkup.local_ranks();
    if (usable <= 0) return;
    if (ranks > usable)
      note(Diagnosis{Code{'R', 23}, ""} << ranks << " ranks share " << decimal(usable) << (usable <= 1 ? " core" : " cores")
                                        << ", so they take turns. Fix: use a plan of fewer devices on this machine, or allow more cores.");
    if (const auto whole = static_cast<int>(std::floor(usable)); ranks < whole)
      note(Diagnosis{Code{'R', 24}, ""} << whole - ranks << " of " << whole << " cores stand idle: the plan has " << ranks
                                        << (ranks == 1 ? " rank" : " ranks")
                                        << " on this machine, each on one core. Fix: use a plan of more devices.");
  }
};

[[nodiscard]] inline Checkup examine(const Program& program, std::string policy, BackendFacts backend, const AdviceReport& advice,
                                     const Surroundings& surroundings, const DoctorOptions& options) {
  Checkup checkup{&program, std::move(policy), std::move(backend), options, read_machine(surroundings), read_world(surroundings.environment), {}};
  Doctor{checkup, surroundings.environment}.examine(advice);
  return checkup;
}

/// A policy as it is written: Pipeline<Stage<Front>, Stage<Back>, OneFOneB>, without the arguments that nobody names.
template <class Policy> [[nodiscard]] std::string spelled_policy() { return as_written(long_type_name<Policy>().view()); }

/// Holds a plan against this machine, this launcher and a backend; nothing is run. Without a backend it is only said what no backend could do.
///
/// doctor<MyPlan, CpuThreads>() says whether a program that makes a Trainer<MyPlan, CpuThreads>, started as this one was, can run.
/// Errors  none is thrown; findings have the codes R03, R10, R20 to R26 and those of advice<MyPlan>()
/// Tested  run/doctor_test
template <class ThePlan, class Backend = void>
[[nodiscard]] Checkup doctor(const Surroundings& surroundings = {}, const DoctorOptions& options = {}) {
  heard(Refusal<ThePlan>{});
  BackendFacts facts = facts_of<Backend>();
  if constexpr (!std::is_void_v<Backend>) facts.external = external_memory<ThePlan, Backend>();
  return examine(lower<ThePlan>(), spelled_policy<typename PlanOrNone<ThePlan>::Request::ThePolicy>(), std::move(facts), advice<ThePlan>(),
                 surroundings, options);
}

}  // namespace heddle::run_room

namespace heddle::extending {
using run_room::Checkup, run_room::doctor;
}  // namespace heddle::extending
