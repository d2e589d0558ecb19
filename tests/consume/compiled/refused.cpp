// SPDX-License-Identifier: MIT
// A small trainer in a program that was compiled otherwise than heddle::compiled: it is refused where it is made.
#include <heddle/backend/cpu_threads.hpp>
#include <heddle/heddle.hpp>
#include <heddle/run/run_main.hpp>

#include <cstdio>

struct Net : heddle::Sequential<heddle::Linear<2, 1>> {};
using Alone = heddle::Plan<Net, heddle::MeanSquaredError, heddle::SGD, heddle::Batch<4>, heddle::Single>;

int main() {
  return heddle::run_main([] {
    const heddle::Trainer<Alone, heddle::CpuThreads> trainer{{}, heddle::Seed{1}};
    std::puts("it would train");
  });
}
