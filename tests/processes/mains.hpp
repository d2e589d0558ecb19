// SPDX-License-Identifier: MIT
// Four processes whose program ends in run_main with an error, or without. mains_check.py looks at what they say.
#pragma once

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include "heddle/backend/spmd_mpi.hpp"

namespace processes::mains {

using namespace heddle;

/// One process throws beside the others' sums; they lose it.
inline void lose_one(int which) {
  spmd_processes(Mesh{{axis::data}, {4}, 1}, [&](auto& comm) {
    const Distributed<float, Partial<axis::data>> mine{1.0F};
    for (int step = 0; step < 3; ++step) {
      if (step == 2 && comm.rank().value == which) throw std::runtime_error("the disk is on fire");
      static_cast<void>(all_reduce<axis::data>(comm, mine).value());
    }
  });
}

inline int process_of_mpirun() { return read_world().rank; }

/// mains HOW: HOW is fine, code, early, early_one, late, after, lost, lost_first, quiet, leaves_0 or leaves_3.
inline int main_of_process(int argc, char** argv) {
  const std::string how = argc > 1 ? argv[1] : "fine";
  return run_main([&] {
    if (how == "early") throw Error(Code{'D', 1}, "no folder was given. Fix: give one.");  // before anybody has called MPI
    if (how == "early_one" && process_of_mpirun() == 0) return 0;                          // the others wait for it in MPI_Init
    if (how == "early_one" && process_of_mpirun() == 1) throw std::runtime_error("only here");
    if (how == "early_one") std::this_thread::sleep_for(std::chrono::seconds{1});  // mpirun ends all in silence if others begin MPI before 0 ends
    if (how == "after") {
      MPI_Init(nullptr, nullptr);
      MPI_Finalize();
      throw Error(Code{'D', 1}, "no report was given. Fix: give one.");
    }
    if (how == "lost") lose_one(2);
    if (how == "lost_first") lose_one(0);
    lose_one(-1);
    if (how == "late") throw Error(Code{'D', 1}, "no file was given. Fix: give one.");
    if (how.starts_with("leaves_") && process_of_mpirun() == 1) std::_Exit(how.back() - '0');  // without a word, and without MPI_Finalize
    if (how.starts_with("leaves_")) std::this_thread::sleep_for(std::chrono::seconds{30});
    if (how == "quiet" && process_of_mpirun() == 1) throw std::runtime_error("only here");  // the others go on
    if (how == "quiet") std::this_thread::sleep_for(std::chrono::seconds{30});
    if (process_of_mpirun() == 0) std::puts("sums are taken");
    return how == "code" ? 7 : 0;
  });
}

}  // namespace processes::mains
