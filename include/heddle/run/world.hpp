// SPDX-License-Identifier: MIT
// Room: run. How many processes were started and which one this is, as torchrun, mpirun and srun say it in the environment.
// Sees: core, seams/error.  Does not see: plans, memory, threads, any backend.
// In: environment variables.  Out: World.
#pragma once

#include <charconv>
#include <cstdlib>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heddle/core/host_device.hpp"
#include "heddle/core/rule.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// Looks a variable up; a test passes one of its own.
using Environment = std::function<std::optional<std::string>(const char*)>;

[[nodiscard]] inline std::optional<std::string> process_environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::nullopt : std::optional<std::string>{value};
}

/// The processes that a launcher started; one if there is no launcher.
/// Process 5 of 8 that torchrun starts, 4 on each of 2 machines, has rank 5, local_rank 1 and local_size 4.
struct World {
  std::string_view launcher;  ///< "torchrun", "Open MPI", "PMI", "Slurm"; empty if there is none
  std::string_view variable;  ///< the one that says the size
  int size = 1;
  int rank = 0;
  int local_rank = 0;
  int local_size = 0;                           ///< processes on this machine, 0 if the launcher does not say
  std::vector<std::string_view> other_answers;  ///< variables of other launchers that say another size
  Diagnosis fault;                              ///< R20
};

/// The variables of one launcher; the first that is there is believed.
struct LauncherVariables {
  std::string_view launcher;
  const char* size;
  const char* rank;
  const char* local_rank;
  const char* local_size;
};
inline constexpr LauncherVariables launchers[] = {
    {"torchrun", "WORLD_SIZE", "RANK", "LOCAL_RANK", "LOCAL_WORLD_SIZE"},
    {"Open MPI", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE"},
    {"PMI", "PMI_SIZE", "PMI_RANK", "MPI_LOCALRANKID", "MPI_LOCALNRANKS"},
    {"Slurm", "SLURM_STEP_NUM_TASKS", "SLURM_PROCID", "SLURM_LOCALID", nullptr},  // SLURM_NTASKS is there in a script of sbatch as well
};

/// A number of at least `least`; R20 says so where a variable holds something else.
[[nodiscard]] HEDDLE_COLD inline int number_in(const Environment& environment, const char* variable, int least, int otherwise, Diagnosis& fault) {
  const std::optional<std::string> value = variable == nullptr ? std::nullopt : environment(variable);
  if (!value) return otherwise;
  int number = 0;
  const auto [end, problem] = std::from_chars(value->data(), value->data() + value->size(), number);
  if (problem == std::errc{} && end == value->data() + value->size() && number >= least) return number;
  if (fault.ok())
    fault = Diagnosis{Code{'R', 20}, ""} << variable << " is '" << std::string_view{*value}.substr(0, 60) << "', which is no number from " << least
                                         << " on. Fix: start with torchrun, mpirun or srun, or unset " << variable << '.';
  return otherwise;
}

/// Reads the world of this process. A launcher counts if it names a size; Slurm only inside srun, where the step has one. A program that a script of
/// `sbatch --ntasks 8` starts by itself is alone, though SLURM_NTASKS is 8 and SLURM_PROCID 0 there.
///
/// Errors  R20 as World::fault: a variable that is no number, or a rank that its world does not have
/// Source  sources.md#launchers
/// Tested  run/world_test
[[nodiscard]] HEDDLE_COLD inline World read_world(const Environment& environment = process_environment,
                                                  std::span<const LauncherVariables> known = launchers) {
  World world;
  for (const LauncherVariables& from : known) {
    if (!environment(from.size)) continue;
    if (!world.launcher.empty()) {
      Diagnosis ignored;
      if (number_in(environment, from.size, 1, world.size, ignored) != world.size) world.other_answers.emplace_back(from.size);
      continue;
    }
    world.launcher = from.launcher;
    world.variable = from.size;
    world.size = number_in(environment, from.size, 1, 1, world.fault);
    world.rank = number_in(environment, from.rank, 0, 0, world.fault);
    world.local_rank = number_in(environment, from.local_rank, 0, 0, world.fault);
    world.local_size = number_in(environment, from.local_size, 1, 0, world.fault);
    if (world.fault.ok() && world.size > 1 && !environment(from.rank))
      world.fault = Diagnosis{Code{'R', 20}, ""} << from.size << " says " << world.size << " processes, but " << from.rank
                                                 << " is not set. Fix: start with torchrun, mpirun or srun, or unset " << from.size << '.';
    if (world.fault.ok() && world.rank >= world.size)
      world.fault = Diagnosis{Code{'R', 20}, ""} << from.rank << " is " << world.rank << ", but " << from.size << " says that there are "
                                                 << world.size << " processes. Fix: count ranks from 0, or let a launcher set both.";
  }
  return world;
}

/// What is wrong if MPI has started `size` processes and made this one `rank`: RANK and WORLD_SIZE, where torchrun or a user has set them, say
/// something else, and whoever reads them would take other rows or another device.
///
/// Errors  R03 another number of processes, R10 another rank, R20 no numbers
/// Tested  run/world_test
[[nodiscard]] HEDDLE_COLD inline Diagnosis beside_mpi(int size, int rank, const Environment& environment = process_environment) {
  Diagnosis fault;
  const int said = number_in(environment, "WORLD_SIZE", 1, size, fault);
  if (!fault.ok()) return fault;
  if (said != size)
    return Diagnosis{Code{'R', 3}, ""} << "WORLD_SIZE says " << said << " processes, but MPI has started " << size
                                       << ". Fix: start them with mpirun -np " << said << ", or unset WORLD_SIZE.";
  if (!environment("WORLD_SIZE")) return {};
  const int named = number_in(environment, "RANK", 0, rank, fault);
  if (!fault.ok() || named == rank) return fault;
  return Diagnosis{Code{'R', 10}, ""} << "RANK is " << named << ", but MPI has made this process rank " << rank << " of " << size
                                      << ". Fix: start with mpirun alone, or unset RANK and WORLD_SIZE.";
}

/// A pairing whose ranks all live in one process, `how` they do: "CpuThreads", "as threads of one".
///
/// Errors  R03 if WORLD_SIZE asks for more than one process, R20 no number
/// Tested  run/world_test
[[nodiscard]] HEDDLE_COLD inline Diagnosis refuse_processes(int ranks, std::string_view pairing, std::string_view how,
                                                            const Environment& environment) {
  Diagnosis fault;
  const int said = number_in(environment, "WORLD_SIZE", 1, 1, fault);
  if (!fault.ok() || said == 1) return fault;
  return Diagnosis{Code{'R', 3}, ""} << "WORLD_SIZE says " << said << " processes, but " << pairing << " runs the " << ranks
                                     << (ranks == 1 ? " rank" : " ranks") << " of the plan " << how
                                     << ". Fix: start one process, or unset WORLD_SIZE.";
}

/// The same of a pairing that takes cards: it refuses what mpirun and srun start as well, since each process would take the same cards, the first
/// ones. Of threads on cores doctor only remarks it (R26). mpirun -np 2 of DataParallel<4> on CudaThreads would put eight ranks on four cards.
///
/// Errors  R03 if a launcher has started more than one process, R20 no number
/// Tested  run/world_test, backend/cuda_mpi_test
[[nodiscard]] HEDDLE_COLD inline Diagnosis refuse_processes_on_cards(int ranks, std::string_view pairing, std::string_view how,
                                                                     const Environment& environment) {
  if (const Diagnosis odd = refuse_processes(ranks, pairing, how, environment); !odd.ok()) return odd;
  const World world = read_world(environment, std::span{launchers}.subspan(1));
  if (!world.fault.ok() || world.size == 1) return world.fault;
  return Diagnosis{Code{'R', 3}, ""} << world.variable << " says " << world.size << " processes, but " << pairing << " runs the " << ranks
                                     << (ranks == 1 ? " rank" : " ranks") << " of the plan " << how
                                     << ", so each process would take the same cards. Fix: start one process, use "
                                     << "CudaMpi, or unset " << world.variable << " where each has cards and a training of its own.";
}

/// The ranks of a plan are threads of one process: what such a pairing refuses, and doctor before it.
///
/// Errors  R03, R20
/// Tested  run/world_test, backend/cpu_threads_test
struct RanksAsThreads {
  static constexpr bool processes = false;
  [[nodiscard]] static Diagnosis refusal(int ranks, const Environment& environment = process_environment) {
    return refuse_processes(ranks, "CpuThreads", "as threads of one", environment);
  }
};

/// Each rank is a process that MPI starts, by mpirun or srun: torchrun alone does not start MPI.
///
/// Errors  R03 another number of processes, R10 another rank, R20 no numbers
/// Tested  run/world_test
struct RanksAsProcesses {
  static constexpr bool processes = true;
  [[nodiscard]] static Diagnosis refusal(int ranks, const Environment& environment = process_environment) {
    const World mpi = read_world(environment, std::span{launchers}.subspan(1));
    if (!mpi.fault.ok()) return mpi.fault;
    if (const Diagnosis odd = beside_mpi(mpi.size, mpi.rank, environment); !odd.ok()) return odd;
    if (mpi.size == ranks) return {};
    return other_number_of_processes(ranks, mpi.size);
  }
};

}  // namespace heddle::run_room
