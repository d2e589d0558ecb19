// SPDX-License-Identifier: MIT
// expect: \[heddle\.L09\] What runs a plan has no backend\.
// expect-g++: prove computes exactly, which CpuThreads does not\. Fix: write prove<MyPlan, extending::FieldThreads>\(\), or extending::FieldMpi\.
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/backend/field_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<7, 5>, ReLU, Linear<5, 3>> {};
using Spread = Plan<Mlp, CrossEntropy, Adam, Batch<8>, DataParallel<2>>;

int main() {
#ifdef HEDDLE_REPAIRED
  return prove<Spread, extending::FieldThreads>().ok() ? 0 : 1;
#else
  return prove<Spread, CpuThreads>().ok() ? 0 : 1;
#endif
}
