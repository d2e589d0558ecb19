// SPDX-License-Identifier: MIT
// compilers: g++ clang++ clang++-14
// slow: clang++-14
// expect: \[heddle\.L11\] An Inference trains nothing\.
// expect-g++: a Trainer is given an Inference, which has no loss and no optimizer\. Fix: write Runner<\.\.\.> of heddle/run/runner\.hpp, or give it a
// Plan\.
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, DataParallel<4>>;
#else
using Trained = Inference<Mlp, Batch<64>, DataParallel<4>>;
#endif

int main() {
  Trainer<Trained, CpuThreads> trainer{{.learning_rate = 1e-3F}, Seed{1}};
  trainer.on_step([](const StepResult& result) { static_cast<void>(result.loss); }, Every{10});
  trainer.step(Examples<std::int32_t>{});
  return trainer.parameter_names().empty() ? 1 : 0;
}
