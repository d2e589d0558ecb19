// SPDX-License-Identifier: MIT
// mistake: the backend before the plan
// expect: \[heddle\.L09\]
// expect-g++: Fix: name the plan first, then CpuThreads or CpuMpi\.
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;

int main() {
#ifdef HEDDLE_REPAIRED
  Trainer<Mine, CpuThreads> trainer{{.learning_rate = 1e-3}, Seed{1}};
#else
  Trainer<CpuThreads, Mine> trainer{{.learning_rate = 1e-3}, Seed{1}};
#endif
  return trainer.steps() == 0 ? 0 : 1;
}
