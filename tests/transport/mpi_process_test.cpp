// SPDX-License-Identifier: MIT
#include "heddle/transport/mpi_process.hpp"

#include <doctest/doctest.h>

using namespace heddle;

TEST_CASE("MPI is started once, and the world is that of mpirun until another is named") {
  int running = 0;
  MPI_Initialized(&running);
  CHECK(running == 0);
  MpiProcess& process = MpiProcess::instance();
  MPI_Initialized(&running);
  CHECK(running != 0);
  CHECK(&process == &MpiProcess::instance());
  CHECK(process.world() == MPI_COMM_WORLD);
  process.use(MPI_COMM_SELF);
  CHECK(MpiProcess::instance().world() == MPI_COMM_SELF);
  process.use(MPI_COMM_WORLD);
  int level = 0;
  MPI_Query_thread(&level);
  CHECK(level >= MPI_THREAD_FUNNELED);
}
