// SPDX-License-Identifier: MIT
// A trainer of a plan that lacks a part adds no error, whatever is asked of it.
// compilers: g++ clang++ clang++-14
// slow: clang++-14
// expect: \[heddle\.L01\] A part of the plan is missing\.
// expect-g++: the plan names no loss\. Fix: add CrossEntropy or another loss\.
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, DataParallel<4>>;
#else
using Trained = Plan<Mlp, Adam, Batch<64>, DataParallel<4>>;
#endif

static_assert(devices<Trained> == 4 && extending::is_reproducible<Trained> && same_bits<Trained, Trained>());

int main() {
  Trainer<Trained, CpuThreads> trainer{{.learning_rate = 1e-3F}, Seed{1}};
  trainer.on_step([](const StepResult& result) { static_cast<void>(result.loss); }, Every{10});
  trainer.step(Examples<std::int32_t>{});
  return trainer.parameter_names().empty() ? 1 : 0;
}
