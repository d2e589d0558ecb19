// SPDX-License-Identifier: MIT
// Build: g++ -std=c++20 -O2 -I include -I /usr/include/eigen3 examples/on_cards/gpt_on_cores.cpp -pthread -o gpt_on_cores && ./gpt_on_cores
//
// ./gpt_on_cores TEXT 300 trains 300 steps on the bytes of a file and writes a few lines; without a file on a text that is made up.
#include <heddle/backend/cpu_threads.hpp>

#include "gpt.hpp"

using namespace heddle;

int main(int count, char** arguments) {
  return run_main([=] { gpt::train<CpuThreads>(count, arguments); });
}
