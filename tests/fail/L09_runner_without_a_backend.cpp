// SPDX-License-Identifier: MIT
// expect: \[heddle\.L09\] What runs a plan has no backend\.
// expect-g++: a Runner names no backend\. Fix: write Runner<MyInference, CpuThreads>, and include heddle/backend/cpu_threads\.hpp\.
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/run/runner.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
using Applied = Inference<Mlp, Batch<64>, Single>;

#ifdef HEDDLE_REPAIRED
using Runs = Runner<Applied, CpuThreads>;
#else
using Runs = Runner<Applied>;
#endif

int main() {
  Runs runner{Seed{1}};
  runner.load(runner);
  if (runner.parameter_shape("0.weight").elements() != 50 * 784) return 2;
  static_cast<void>(runner.session());
  return runner.predict(std::vector<float>(784)).empty() ? 1 : 0;
}
