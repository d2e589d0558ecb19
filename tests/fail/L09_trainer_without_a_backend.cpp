// SPDX-License-Identifier: MIT
// mistake: a `Trainer` without a backend
// expect: \[heddle\.L09\] What runs a plan has no backend\.
// expect-g++: a Trainer names no backend\. Fix: write Trainer<MyPlan, CpuThreads>, and include heddle/backend/cpu_threads\.hpp\.
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;

#ifdef HEDDLE_REPAIRED
using Trains = Trainer<Trained, CpuThreads>;
#else
using Trains = Trainer<Trained>;
#endif

int main() {
  Trains trainer{{.learning_rate = 1e-3F}, Seed{1}};
  trainer.on_step([](const StepResult& result) { static_cast<void>(result.loss); }, Every{10});
  trainer.step(Examples<std::int32_t>{});
  return trainer.parameter_names().empty() ? 1 : 0;
}
