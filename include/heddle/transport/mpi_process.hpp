// SPDX-License-Identifier: MIT
// Room: transport. MPI in this process: started if nobody has, ended by whoever started it.
// Sees: MPI.  Does not see: transfers, plans.
// In: nothing, or a communicator.  Out: the processes that are ranks of a plan.
#pragma once

#include "heddle/transport/mpi_header.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

namespace heddle::transport_room {

/// Something of this process that others count on; it tells them if the process ends under it.
class MpiResident {
 public:
  virtual void process_ends() = 0;

 protected:
  MpiResident() = default;
  MpiResident(const MpiResident&) = default;
  MpiResident& operator=(const MpiResident&) = default;
  ~MpiResident() = default;
};

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

  /// Whether the end of the process calls MPI_Finalize, if it is Heddle's to call. Not where a rank is gone for good: it would wait for it.
  void finalize_at_the_end(bool finalize) { finalize_ = finalize; }
  [[nodiscard]] bool finalizes_at_the_end() const { return finalize_; }

  /// This process has left a plan that the others were in, so one of them may never come to MPI_Finalize. They notice within this
  /// deadline, and end a few seconds later; this one waits for so long.
  void finalize_within(std::chrono::nanoseconds deadline) { patience_ = std::max<std::chrono::nanoseconds>(patience_, deadline + last_words); }

  /// MPI may still read or write this memory, because a rank was given up in the middle of a message: it stays until the process ends.
  void keep(std::shared_ptr<void> memory) { kept_.push_back(std::move(memory)); }

  /// Between these two calls the resident hears of the end of the process, be it an exit() in the middle of a step.
  void add(MpiResident& resident) { residents_.push_back(&resident); }
  void remove(MpiResident& resident) { std::erase(residents_, &resident); }

 private:
  MpiProcess() {
    int running = 0;
    MPI_Initialized(&running);
    if (running != 0) return;
    int provided = 0;
    MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided);
    ours_ = true;
  }
  ~MpiProcess() {
    int ended = 0;
    MPI_Finalized(&ended);
    if (ended != 0) return;
    const bool main_thread = std::this_thread::get_id() == thread_;  // MPI hears no other
    for (MpiResident* const resident : residents_)
      if (main_thread) resident->process_ends();
    if (!ours_) return;
    if (!finalize_ || !main_thread) {
      std::this_thread::sleep_for(others_report);
      return;
    }
    if (patience_.count() > 0) std::thread{end_after, patience_}.detach();
    MPI_Finalize();
  }

  /// The process ends with status 1 if it is still there then.
  static void end_after(std::chrono::nanoseconds patience) {
    std::this_thread::sleep_for(patience);
    std::fputs(
        "[heddle.R01] this process has left a plan that others were in, and one of them did not come to MPI_Finalize within the deadline. Fix: "
        "end all processes at the same place; this one ends without MPI_Finalize.\n",
        stderr);
    std::_Exit(1);
  }

  /// mpirun ends the other processes as soon as one ends without MPI_Finalize; those that wait for the same rank first say what they have found.
  static constexpr std::chrono::seconds others_report{2};
  /// Processes that end with a sentence first find out whether all do.
  static constexpr std::chrono::seconds last_words{6};

  MPI_Comm world_ = MPI_COMM_WORLD;
  bool ours_ = false;
  bool finalize_ = true;
  std::chrono::nanoseconds patience_{0};  // none: for as long as it takes
  std::thread::id thread_ = std::this_thread::get_id();
  std::vector<MpiResident*> residents_;
  std::vector<std::shared_ptr<void>> kept_;
};

}  // namespace heddle::transport_room

namespace heddle::extending {
using transport_room::MpiProcess;
}  // namespace heddle::extending
