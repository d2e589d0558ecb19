// SPDX-License-Identifier: MIT
// mistake: `.lr` for `.learning_rate`, and `.amsgrad`
// compilers: g++ clang++ clang++-14
// slow: clang++-14
// expect: \[heddle\.O04\] a Trainer takes the options of its optimizer by name, then a Seed\.
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;

int main() {
#ifdef HEDDLE_REPAIRED
  Trainer<Mine, CpuThreads> trainer{{.learning_rate = 1e-3}, Seed{1}};
#else
  Trainer<Mine, CpuThreads> trainer{{.lr = 1e-3, .amsgrad = true}, Seed{1}};
#endif
  return trainer.steps() == 0 ? 0 : 1;
}
