// SPDX-License-Identifier: MIT
// mistake: `42` for `Seed{42}`
// compilers: g++ clang++ clang++-14
// slow: clang++-14
// expect: \[heddle\.O03\] a plain number is given where a Seed is taken\. Fix: write Seed\{42\}\.
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;

int main() {
#ifdef HEDDLE_REPAIRED
  Trainer<Mine, CpuThreads> trainer{{.learning_rate = 1e-3}, Seed{1}};
#else
  Trainer<Mine, CpuThreads> trainer{{.learning_rate = 1e-3}, 42};
#endif
  return trainer.steps() == 0 ? 0 : 1;
}
