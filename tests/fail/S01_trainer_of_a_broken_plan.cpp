// SPDX-License-Identifier: MIT
// compilers: g++ clang++
// expect: \[heddle\.S01\] A layer is in no stage, twice or out of order\.
// expect-g++: layer 3 `2` Linear<20, 10> of Mlp is in no stage: the 2 stages hold 3 of 4 layers\.
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

using Head = Sequential<Linear<784, 50>, ReLU>;
using Middle = Linear<50, 20>;
using Tail = Linear<20, 10>;
struct Mlp : Sequential<Head, Middle, Tail> {};

#ifdef HEDDLE_REPAIRED
using Cut = Pipeline<Stage<Head>, Stage<Middle>, Stage<Tail>>;
#else
using Cut = Pipeline<Stage<Head>, Stage<Middle>>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Cut>;
static_assert(devices<Trained> > 0 && peak_memory<Trained>(device<1>) < 1_GB &&
              traffic<Trained>().gradients().on(axis::data).moved_per_rank() == 0_B);

int main() {
  Trainer<Trained, CpuThreads> trainer{{.learning_rate = 1e-3F}, Seed{1}};
  trainer.on_step([](const StepResult&) {}, Every{10});
  trainer.step(Examples<std::int32_t>{});
}
