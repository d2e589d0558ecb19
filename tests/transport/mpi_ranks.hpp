// SPDX-License-Identifier: MIT
// Room: tests. Some of the processes that mpirun has started, as the ranks of a plan.
// Sees: transport/mpi_process.  Does not see: plans.
#pragma once

#include <mpi.h>

#include "heddle/transport/mpi_process.hpp"

namespace heddle::tests {

/// The first `ranks` processes are the world of trainers while this lives; the others have taking_part() == false.
class FirstRanks {
 public:
  explicit FirstRanks(int ranks) {
    int mine = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &mine);
    MPI_Comm_split(MPI_COMM_WORLD, mine < ranks ? 0 : MPI_UNDEFINED, mine, &comm_);
    if (taking_part()) MpiProcess::instance().use(comm_);
  }
  FirstRanks(const FirstRanks&) = delete;
  FirstRanks& operator=(const FirstRanks&) = delete;
  ~FirstRanks() {
    MpiProcess::instance().use(MPI_COMM_WORLD);
    if (taking_part()) MPI_Comm_free(&comm_);
  }
  [[nodiscard]] bool taking_part() const { return comm_ != MPI_COMM_NULL; }
  [[nodiscard]] MPI_Comm get() const { return comm_; }
  [[nodiscard]] int rank() const {
    int rank = -1;
    if (taking_part()) MPI_Comm_rank(comm_, &rank);
    return rank;
  }

 private:
  MPI_Comm comm_ = [] {
    (void)MpiProcess::instance();
    return MPI_COMM_NULL;
  }();
};

/// Sums over all processes that mpirun has started.
[[nodiscard]] inline long long sum_over_all(long long mine) {
  long long sum = 0;
  MPI_Allreduce(&mine, &sum, 1, MPI_LONG_LONG, MPI_SUM, MPI_COMM_WORLD);
  return sum;
}

}  // namespace heddle::tests
