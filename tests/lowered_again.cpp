// SPDX-License-Identifier: MIT
// Programs with a main of their own begin here (the linker's --wrap=main): their plans are lowered and checked once more before main is called.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "rooms.hpp"

#include "plan/lowered_again.hpp"

extern "C" {
int __real_main(int count, char** arguments);
int __wrap_main(int count, char** arguments);
}

/// Of processes that mpirun has started the first compares. A program that makes a plan otherwise ends with 1 before it begins.
int __wrap_main(int count, char** arguments) {
  const char* const rank = std::getenv("OMPI_COMM_WORLD_RANK");
  if (rank == nullptr || rank == std::string_view{"0"}) {
    const heddle::tests::LoweredAgain all;
    std::fputs(all.differences.c_str(), stderr);
    if (!all.differences.empty()) return 1;
  }
  return __real_main(count, arguments);
}
