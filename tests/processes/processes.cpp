// SPDX-License-Identifier: MIT
// The program of all tests of processes that end, or that are on several machines: compiled once. Each of them is described in its own file.
#define DOCTEST_CONFIG_DISABLE  // only the models and rows of equal.hpp are wanted
#include <cstdio>
#include <string>

#include "processes/builds.hpp"
#include "processes/ending.hpp"
#include "processes/exits.hpp"
#include "processes/losses.hpp"
#include "processes/machines.hpp"
#include "processes/mains.hpp"

/// processes TEST [ARGUMENTS OF THE TEST...]
int main(int argc, char** argv) {
  const std::string test = argc > 1 ? argv[1] : "";
  if (test == "builds") return processes::builds::main_of_process();
  if (test == "ending") return processes::ending::main_of_process(argc - 1, argv + 1);
  if (test == "exits") return processes::exits::main_of_process(argc - 1, argv + 1);
  if (test == "losses") return processes::losses::main_of_process(argc - 1, argv + 1);
  if (test == "machines") return processes::machines::main_of_process(argc - 1, argv + 1);
  if (test == "mains") return processes::mains::main_of_process(argc - 1, argv + 1);
  std::fprintf(stderr, "processes: there is no test '%s'. Fix: name one of builds, ending, exits, losses, machines and mains.\n", test.c_str());
  return 2;
}
