// SPDX-License-Identifier: MIT
// mistake: a `Trainer` of a model
// A trainer of a model says that it takes a plan, and nothing else.
// compilers: g++ clang++ clang++-14
// slow: clang++-14
// expect: \[heddle\.L06\] A question is asked of what is no plan\.
// expect-g++: Mlp is no Plan, but what a Plan names as its model\. Fix: name the Plan<\.\.\.> itself\.
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, DataParallel<4>>;
#else
using Trained = Mlp;
#endif

int main() {
  Trainer<Trained, CpuThreads> trainer{{.learning_rate = 1e-3F}, Seed{1}};
  trainer.on_step([](const StepResult& result) { static_cast<void>(result.loss); }, Every{10});
  trainer.step(Examples<std::int32_t>{});
  return trainer.parameter_names().empty() ? 1 : 0;
}
