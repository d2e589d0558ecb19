// SPDX-License-Identifier: MIT
// mistake: the header of `Runner` is not included
// expect: \[heddle\.L09\]
// expect-g++: \[heddle\.L09\] the header of a Runner is not included\. Fix: add #include <heddle/run/runner\.hpp>\.
#include "heddle/backend/cpu_threads.hpp"
#ifdef HEDDLE_REPAIRED
#include "heddle/run/runner.hpp"
#else

#endif

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
using Applied = Inference<Net, Batch<64>, Single>;

int main() {
  Runner<Applied, CpuThreads> runner{Seed{1}};
  return runner.parameter_names().size() == 4 ? 0 : 1;
}
