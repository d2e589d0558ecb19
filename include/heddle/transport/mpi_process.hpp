// SPDX-License-Identifier: MIT
// Room: transport. MPI in this process: started if nobody has, ended by whoever started it.
// Sees: MPI.  Does not see: transfers, plans.
// In: nothing, or a communicator.  Out: the processes that are ranks of a plan.
#pragma once

#include <mpi.h>

namespace heddle::inline transport_room {

/// MPI as Heddle uses it: one thread calls it (MPI_THREAD_FUNNELED). Who has called MPI_Init before also calls MPI_Finalize; otherwise it is called
/// when the process ends.
///
/// Tested  transport/mpi_process_test
class MpiProcess {
 public:
  static MpiProcess& instance() {
    static MpiProcess process;
    return process;
  }
  MpiProcess(const MpiProcess&) = delete;
  MpiProcess& operator=(const MpiProcess&) = delete;

  /// The processes whose ranks are those of a plan: all of them, unless use() has named others.
  [[nodiscard]] MPI_Comm world() const { return world_; }
  /// Trainers made from now on run on this communicator.
  void use(MPI_Comm world) { world_ = world; }

  /// A rank is gone for good: MPI_Finalize would wait for it, so it is not called.
  void somebody_is_gone() { finalize_ = false; }

 private:
  MpiProcess() {
    int running = 0;
    MPI_Initialized(&running);
    if (running != 0) return;
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    finalize_ = true;
  }
  ~MpiProcess() {
    int ended = 0;
    MPI_Finalized(&ended);
    if (finalize_ && ended == 0) MPI_Finalize();
  }

  MPI_Comm world_ = MPI_COMM_WORLD;
  bool finalize_ = false;
};

}  // namespace heddle::inline transport_room
