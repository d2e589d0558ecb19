// SPDX-License-Identifier: MIT
// expect: \[heddle\.D12\] The batch has targets of another type than the loss takes\.
// expect-g++: CrossEntropy takes class number targets but the rows have float targets\. Fix: give a datasets::Dataset or Examples<std::int32_t>, or
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;

float inputs[64 * 784];
#ifdef HEDDLE_REPAIRED
std::int32_t targets[64];
#else
float targets[64];
#endif

int main() {
  Trainer<Trained, CpuThreads> trainer{{.learning_rate = 1e-3F}, Seed{1}};
  trainer.step(examples(inputs, targets, 784));
}
