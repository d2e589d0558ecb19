// SPDX-License-Identifier: MIT
// The clock against two processes of this machine: what bench/predict shows of threads, over MPI. Messages and sums are those between processes; both
// measure what a device does for itself at once, as both compute at once.
// usage: mpirun -n 2 predict_processes [ROUNDS] [abcde]; prints markdown
#include <heddle/backend/cpu_mpi.hpp>

#include "predicted.hpp"
#include "this_machine.hpp"

using namespace bench;

namespace {

/// The processes of a run.
class Processes {
 public:
  explicit Processes(MPI_Comm world) : world_(world) { MPI_Comm_rank(world_, &rank_); }
  [[nodiscard]] bool speaks() const { return rank_ == 0; }
  [[nodiscard]] int rank() const { return rank_; }
  void agree(std::vector<int>& steps) { MPI_Bcast(steps.data(), static_cast<int>(steps.size()), MPI_INT, 0, world_); }
  [[nodiscard]] double longest(double seconds) const {
    double most = 0;
    MPI_Allreduce(&seconds, &most, 1, MPI_DOUBLE, MPI_MAX, world_);
    return most;
  }

 private:
  MPI_Comm world_;
  int rank_ = 0;
};

/// Two processes, as CpuMpi has them.
class BetweenProcesses {
 public:
  static constexpr CollectiveAlgorithm collectives = CollectiveAlgorithm::ring;
  BetweenProcesses(MPI_Comm world, const Processes& processes)
      : processes_(processes), mpi_(world, 2, {{0, 1}}, {.elements = {1 << 20}}, std::chrono::minutes{1}) {}
  template <class Call> double timed(int rounds, Call call) {
    static_cast<void>(processes_.longest(0));  // both begin at once
    const double begin = this_machine::now();
    for (int round = 0; round < rounds; ++round) call(mpi_, processes_.rank(), round);
    return processes_.longest((this_machine::now() - begin) / rounds);
  }

 private:
  const Processes& processes_;
  transport_room::Mpi mpi_;
};

}  // namespace

int main(int count, char** arguments) {
  return run_main([&] {
    const MPI_Comm world = backend_room::agreed_world();
    const Asked asked = Asked::of(count, arguments, "predict_processes");
    Processes processes{world};
    Progress progress("predict_processes");
    const auto tell = [&](int part, int parts, const char* what) {
      if (processes.speaks()) progress.stage(std::string{"the machine, "} + std::to_string(part) + " of " + std::to_string(parts) + ", " + what);
    };
    Machine machine;
    {
      tell(1, 5, "messages between two processes");
      BetweenProcesses between{world, processes};
      machine = this_machine::with_messages(machine, between);
    }
    machine = this_machine::measured_device(machine, 8, tell);
    progress.clear();
    Comparison<CpuMpi, Processes>{asked, machine, progress, processes}.run();
    return 0;
  });
}
