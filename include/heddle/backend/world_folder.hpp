// SPDX-License-Identifier: MIT
// Room: backend. Where processes that nothing but a shared folder joins meet, and which of them this one is: said by the program or its environment.
// Sees: transport/folder_handshake, run/world, run/run_main, seams.  Does not see: compute, plans, MPI.
// In: meet_in, HEDDLE_MEETING, the variables of torchrun or srun.  Out: MeetingPlace, RanksInFolder; which process says what ends it.
#pragma once

#include <cctype>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "heddle/core/byte_sum.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/rule.hpp"
#include "heddle/run/run_main.hpp"
#include "heddle/run/world.hpp"
#include "heddle/seams/error.hpp"
#include "heddle/transport/folder_handshake.hpp"

namespace heddle::backend_room {

/// What the program has said by meet_in, if it has.
inline std::optional<MeetingPlace> said_place;

/// Trainers of CudaFiles made from now on meet there, whatever the environment says: meet_in({.folder = "/shared/run7", .rank = 1, .ranks = 4}).
///
/// Tested  backend/world_folder_test
inline void meet_in(MeetingPlace place) { said_place = std::move(place); }

/// What the launcher that has said the rank calls the run, as a name of a folder: runs of one name of HEDDLE_MEETING then never see each other. Empty
/// where it has no name. A name that is none of a folder has a sum behind it, so "a/b" and "a b" differ: run_a_b-e620c3190468cf61. Two torchruns of
/// one run, each in a step of Slurm of its own, are "run_node7.29500" both, whatever Slurm calls the steps.
///
/// Source  sources.md#launchers
/// Tested  backend/world_folder_test
[[nodiscard]] HEDDLE_COLD inline std::string name_of_run(const Environment& environment, std::string_view launcher) {
  std::string name;
  const auto run = environment("TORCHELASTIC_RUN_ID"), job = environment("SLURM_JOB_ID");
  const auto address = environment("MASTER_ADDR"), port = environment("MASTER_PORT");  // where torchrun listens, the same in all processes of a run
  if (launcher == "Slurm" && job)
    name = *job + '.' + environment("SLURM_STEP_ID").value_or("0");
  else if (launcher == "torchrun" && run && *run != "none")
    name = *run;
  else if (launcher == "torchrun" && address && port)
    name = *address + '.' + *port;
  std::string folder = "run_" + name.substr(0, 200);  // most file systems take 255
  for (char& letter : folder)
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0 && letter != '.' && letter != '-') letter = '_';
  return name.empty() ? name : folder == "run_" + name ? folder : folder + "-" + sixteen_digits(byte_sum(name));
}

/// R38: nobody has named a folder.
[[nodiscard]] HEDDLE_COLD inline Diagnosis no_folder_named() {
  return Diagnosis{Code{'R', 38}, ""} << "processes of CudaFiles meet in a folder, but none is named: HEDDLE_MEETING is not set. Fix: set "
                                         "HEDDLE_MEETING to a folder that all machines share, the same in every process.";
}

/// The folder is that of HEDDLE_MEETING, in it that of the run; the rank is that of the launcher. Process 5 of 8 in job 77 under
/// HEDDLE_MEETING=/shared/met is rank 5 of 8 in /shared/met/run_77.0.
///
/// Errors  R38 no folder, R20 no numbers, or a rank that they do not have
/// Source  sources.md#launchers
/// Tested  backend/world_folder_test
[[nodiscard]] HEDDLE_COLD inline MeetingPlace place_of_process(const Environment& environment = process_environment) {
  if (said_place) return transport_room::sound(*said_place);
  const World world = read_world(environment);
  if (!world.fault.ok()) throw Error{world.fault};
  const auto folder = environment("HEDDLE_MEETING");
  if (!folder || folder->empty()) throw Error{no_folder_named()};
  const std::string run = name_of_run(environment, world.launcher);
  return {run.empty() ? *folder : *folder + '/' + run, world.rank, world.size};
}

/// Each rank is a process that torchrun, srun or a script starts; a folder joins them.
///
/// Errors  R03 another number of processes, R20 no numbers, R38 no folder
/// Tested  backend/world_folder_test
struct RanksInFolder {
  static constexpr bool processes = true;
  [[nodiscard]] static Diagnosis refusal(int ranks, const Environment& environment = process_environment) {
    World world = read_world(environment);
    if (said_place)
      if (const Diagnosis fault = transport_room::fault_of(*said_place); !fault.ok()) return fault;
    if (said_place) world = World{"meet_in", "meet_in", said_place->ranks, said_place->rank, 0, 0, {}, {}};
    if (!world.fault.ok()) return world.fault;
    if (world.size != ranks) {
      Diagnosis odd = Diagnosis{Code{'R', 3}, ""} << "the plan has " << ranks << " devices, but ";
      if (world.launcher.empty()) odd << "nothing says that this is one of several processes";
      if (!world.launcher.empty()) odd << world.variable << " says " << world.size << " processes, and each is one rank";
      return odd << ". Fix: start " << ranks << " processes, with torchrun, srun, or RANK and WORLD_SIZE set in each.";
    }
    const auto folder = environment("HEDDLE_MEETING");
    return said_place || (folder && !folder->empty()) ? Diagnosis{} : no_folder_named();
  }
};

/// What run_main does with the sentence that ends a process: each says its own, with its number.
///
/// Tested  backend/world_folder_test
inline void tell_as_one_of_many(const LastSentence& last) {
  const World world = read_world();
  const int size = said_place ? said_place->ranks : world.size;
  last.say(size > 1 ? (said_place ? said_place->rank : world.rank) : -1);
}
inline const bool tells_as_one_of_many = tell_with_processes != nullptr || (tell_with_processes = &tell_as_one_of_many, true);

}  // namespace heddle::backend_room

namespace heddle::extending {
using backend_room::meet_in, transport_room::MeetingPlace;
}  // namespace heddle::extending
