// SPDX-License-Identifier: MIT
// mistake: no backend is included
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.L09\]
// expect-g++: \[heddle\.L09\] the header of CpuThreads is not included\. Fix: add #include <heddle/backend/cpu_threads\.hpp>\.
#include "heddle/heddle.hpp"
#ifdef HEDDLE_REPAIRED
#include "heddle/backend/cpu_threads.hpp"
#else

#endif

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;

int main() {
  Trainer<Mine, CpuThreads> trainer{{.learning_rate = 1e-3}, Seed{1}};
  for (const auto& name : trainer.parameter_names()) trainer.set_parameter(name, trainer.parameter(name));
  return trainer.steps() == 0 ? 0 : 1;
}
