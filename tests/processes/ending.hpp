// SPDX-License-Identifier: MIT
// Four processes train; one of them ends in the third step as it is told to. ending_check.py looks at what the others say and how they end.
#pragma once

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include "equivalence/equal.hpp"
#include "heddle/backend/cpu_mpi.hpp"

namespace processes::ending {

using namespace equivalence;

using Four = Plan<Mlp, CrossEntropy, Adam, Batch<16>, Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<2>>, DataParallel<2>>, Grain<2>>;

struct Ending : Observer {
  std::string how;
  int rank = 0;
  void started(const Observation& seen) override {
    if (seen.step != 3 || seen.rank.value != rank || seen.entry < 0 || seen.program->entries[seen.entry].what != BodyOp::leaf_backward) return;
    if (how == "throw") throw std::runtime_error("the disk is on fire");
    if (how == "exit") _exit(3);
    if (how == "kill") std::abort();
    if (how == "silent") std::this_thread::sleep_for(std::chrono::seconds{7});
  }
};

/// ending HOW RANK: HOW is throw, exit, kill, silent or fine.
inline int main_of_process(int argc, char** argv) {
  Ending ending;
  ending.how = argc > 1 ? argv[1] : "fine";
  ending.rank = argc > 2 ? std::atoi(argv[2]) : 0;
  const auto rows = rows_of<Four>(16);
  int process = -1;
  try {
    Trainer<Four, CpuMpi> trainer{settings<Adam>(), Seed{5}, RunOptions{std::chrono::seconds{3}}};
    process = trainer.session().transport().rank().value;
    trainer.observe(&ending);
    for (int step = 0; step < 6; ++step) trainer.step(rows.batch(0, 16));
    std::fprintf(stderr, "process %d: trained\n", process);
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "process %d: %s\n", process, error.what());
    return 1;
  }
}

}  // namespace processes::ending
