// SPDX-License-Identifier: MIT
// The pairing of processes and Eigen: a plan of one device is one process, with or without mpirun.
#include <heddle/backend/cpu_mpi.hpp>
#include <heddle/heddle.hpp>

using namespace heddle;

struct Model : Sequential<Linear<8, 4>> {};
using Alone = Plan<Model, CrossEntropy, SGD, Batch<4>, Single>;

int main() {
  Trainer<Alone, CpuMpi> trainer{{}, Seed{1}};
  return trainer.first_process() ? 0 : 1;
}
