// SPDX-License-Identifier: MIT
// expect: \[heddle\.O03\] on_step\(\) takes a callback of a StepResult, then Every\. Fix: write on_step
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/io/dataset.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;

void report(Trainer<Trained, CpuThreads>& trainer) {
#ifdef HEDDLE_REPAIRED
  trainer.on_step([](const StepResult&) {});
#else
  trainer.on_step([](int, float) {});
#endif
}
