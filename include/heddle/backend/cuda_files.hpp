// SPDX-License-Identifier: MIT
// Room: backend. CudaFiles: one process for each card, started by anything; NCCL moves between the cards, a shared folder joins the processes.
// Sees: backend/cuda_processes, backend/world_folder, transport/folder_meeting, run.  Does not see: MPI, threads of ranks.
// In: a plan.  Out: Trainer<Plan, CudaFiles>.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "heddle/backend/cuda_processes.hpp"
#include "heddle/backend/thread_session.hpp"
#include "heddle/backend/world_folder.hpp"
#include "heddle/run/world.hpp"
#include "heddle/transport/folder_meeting.hpp"

namespace heddle::backend_room {

static_assert(MeetingOfProcesses<FolderMeeting>);

/// Where the program, or its environment, says that the process is: rank 1 of 4 in /shared/run7.
///
/// Tested  backend/cuda_files_test
struct StartedApart {
  [[nodiscard]] static MeetingPlace world() { return place_of_process(); }
};

/// A plan of one device in this process, whatever the others do.
class SessionInEachProcess : public ThreadSession {
 public:
  SessionInEachProcess(const TransportNeeds& needs, std::chrono::nanoseconds deadline)
      : ThreadSession(needs, deadline, [](const char*) { return std::optional<std::string>{}; }) {}
};

/// CUDA with one process for each card, on one machine or several, without MPI. RANK and WORLD_SIZE of torchrun, or what srun sets, say which process
/// this is, and HEDDLE_MEETING names a folder that all see; extending::meet_in says both from the program. Every process makes the same trainers and
/// calls, as with CudaMpi, and results are the same in all of them.
///
/// Errors  R38 no folder, one that cannot be written, or another process of this rank there; R03 a rank that does not come, or another number of
///         processes; R37 fewer cards than processes of a machine, or two ranks on one card; R08 if they run different programs
/// Tested  backend/cuda_files_test
struct CudaFiles {
  using Compute = CudaCompute;
  using Reference = EigenCompute;
  using Session = CardSession<FolderMeeting, StartedApart>;
  using SessionOfOne = SessionInEachProcess;
  using Ranks = RanksInFolder;
  static constexpr bool on_gpus = true, card_for_each = true;
};

}  // namespace heddle::backend_room

namespace heddle {
using backend_room::CudaFiles;
}  // namespace heddle
