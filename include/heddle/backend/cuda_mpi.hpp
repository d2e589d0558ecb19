// SPDX-License-Identifier: MIT
// Room: backend. CudaMpi: one process for each card, started by MPI; NCCL moves between the cards, MPI tells processes what they must agree on.
// Sees: backend/cuda_processes, backend/world_mpi, transport/mpi, run, seams.  Does not see: threads of ranks.
// In: a plan.  Out: Trainer<Plan, CudaMpi>.
#pragma once

#include "heddle/transport/mpi_header.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string>
#include <vector>

#include "heddle/backend/cuda_processes.hpp"
#include "heddle/backend/mpi_session.hpp"
#include "heddle/backend/world_mpi.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/core/units.hpp"
#include "heddle/run/world.hpp"
#include "heddle/seams/pledge.hpp"
#include "heddle/transport/movement.hpp"
#include "heddle/transport/mpi.hpp"
#include "heddle/transport/name_of_machine.hpp"

namespace heddle::backend_room {

/// The number of this process among those of its machine, counted from 0.
[[nodiscard]] HEDDLE_COLD inline int local_rank_of(MPI_Comm world) {
  MPI_Comm here = MPI_COMM_NULL;
  MPI_Comm_split_type(world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here);
  int local = 0;
  MPI_Comm_rank(here, &local);
  MPI_Comm_free(&here);
  return local;
}

/// The card of this process of CudaMpi; all processes of the world call it.
///
/// Errors  R37 fewer cards than processes of this machine
/// Tested  backend/cuda_mpi_test
[[nodiscard]] HEDDLE_COLD inline int card_of_process(MPI_Comm world) {
  int rank = 0;
  MPI_Comm_rank(world, &rank);
  return card_of_process(rank, local_rank_of(world));
}

/// The processes that MPI has started. A call is compared in a sum of one number, which carries what each says of it.
///
/// Tested  backend/cuda_mpi_test
class MpiMeeting {
 public:
  using World = MPI_Comm;
  [[nodiscard]] static MPI_Comm world() { return agreed_world(); }
  HEDDLE_COLD MpiMeeting(MPI_Comm world, const StartPledge& start, std::chrono::nanoseconds deadline)
      : world_(world), mpi_(world, static_cast<int>(start.ranks), {everybody(start.ranks)}, PendingLimits{1, 2, {1}, nullptr}, deadline, start) {}

  [[nodiscard]] Rank rank() const { return mpi_.rank(); }
  [[nodiscard]] int local_rank() const { return local_rank_of(world_); }
  [[nodiscard]] NameOfMachine machine() const {
    NameOfMachine machine = transport_room::this_machine();
    char name[MPI_MAX_PROCESSOR_NAME] = {};
    int length = 0;
    MPI_Get_processor_name(name, &length);
    machine.name = {};
    std::copy_n(name, std::min(static_cast<std::size_t>(length), machine.name.size() - 1), machine.name.begin());
    return machine;
  }
  /// Errors  T10, R19, O02, R01
  void begin_call(const CallPledge& call) {
    mpi_.begin_call(call);
    float here = 1;
    mpi_.all_reduce_wait(0, mpi_.all_reduce_start(0, &here, 1));
  }
  void end_call() { mpi_.end_call(); }
  void share(Rank owner, std::span<std::byte> bytes) { mpi_.share(owner, bytes); }
  /// Each rank shares its part.
  void gather(std::span<std::byte> all) {
    const std::size_t part = all.size() / static_cast<std::size_t>(mpi_.ranks());
    for (int r = 0; r < mpi_.ranks(); ++r) share(Rank{r}, all.subspan(static_cast<std::size_t>(r) * part, part));
  }
  void await(WaitOfProcess& wait, std::int64_t k) { mpi_.await(wait, k); }
  void give_up(Rank rank, const std::string& why) { mpi_.give_up(rank, why); }

 private:
  [[nodiscard]] static std::vector<int> everybody(std::int64_t ranks) {
    std::vector<int> all(static_cast<std::size_t>(ranks));
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  MPI_Comm world_;
  Mpi mpi_;
};
static_assert(MeetingOfProcesses<MpiMeeting>);

/// CUDA with one process for each card, on one machine or several. Every process makes the same trainers and calls, as with CpuMpi; results are the
/// same in all of them.
///
/// Errors  R37 fewer cards than processes of a machine, or two ranks on one card; R03 if processes are not as many as devices of the plan; R08 if
///         they run different programs; R10 if RANK names another rank
/// Tested  backend/cuda_mpi_test
struct CudaMpi {
  using Compute = CudaCompute;
  using Reference = EigenCompute;
  using Session = CardSession<MpiMeeting>;
  using SessionOfOne = LocalSession;
  using Ranks = RanksAsProcesses;
  static constexpr bool on_gpus = true, card_for_each = true;
};

}  // namespace heddle::backend_room

namespace heddle {
using backend_room::CudaMpi;
}  // namespace heddle

namespace heddle::extending {
using backend_room::card_of_process;
}  // namespace heddle::extending
