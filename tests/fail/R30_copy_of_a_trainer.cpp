// SPDX-License-Identifier: MIT
// mistake: a copy of a trainer
// expect: \[heddle\.R30\] a Trainer is moved, not copied\. Fix: hand it over by reference or with std::move; for a second one
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;

int main() {
  Trainer<Mine, CpuThreads> first{{.learning_rate = 1e-3}, Seed{1}};
#ifdef HEDDLE_REPAIRED
  auto second = std::move(first);
#else
  auto second = first;
#endif
  return second.steps() == 0 ? 0 : 1;
}
