// SPDX-License-Identifier: MIT
// expect: \[heddle\.L09\] What runs a plan has no backend\.
// expect-g++: FieldThreads computes modulo a prime, which is for prove alone\. Fix: write Trainer<MyPlan, CpuThreads>\.
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/backend/field_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<7, 5>, ReLU, Linear<5, 3>> {};
using Spread = Plan<Mlp, CrossEntropy, Adam, Batch<8>, DataParallel<2>>;

#ifdef HEDDLE_REPAIRED
using Trains = Trainer<Spread, CpuThreads>;
#else
using Trains = Trainer<Spread, extending::FieldThreads>;
#endif

int main() {
  Trains trainer{{.learning_rate = 1e-3F}, Seed{1}};
  return trainer.parameter_names().size() == 4 ? 0 : 1;
}
