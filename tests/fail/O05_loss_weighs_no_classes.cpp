// SPDX-License-Identifier: MIT
// expect: \[heddle\.O05\] the loss of the plan weighs no classes\. Fix: name CrossEntropyWith<ClassWeights>\.
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Loss = CrossEntropyWith<ClassWeights>;
#else
using Loss = CrossEntropy;
#endif

struct Small : Sequential<Linear<4, 3>> {};
using Trained = Plan<Small, Loss, SGD, Batch<8>, Single>;

int main() {
  Trainer<Trained, CpuThreads> trainer{{.learning_rate = 0.1}};
  trainer.class_weights({1, 1, 5});
}
