// SPDX-License-Identifier: MIT
// expect: \[heddle\.D33\] The rows have inputs of another element type than the model takes\.
// expect-g++: Pixels takes float inputs but the rows have std::uint8_t inputs\. Fix: give float inputs, or begin the model with
// Input<sizes\.\.\.>, Rescaling<>\.
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Number = float;
#else
using Number = std::uint8_t;
#endif

struct Pixels : Sequential<Linear<3, 8>> {};
using Trained = Plan<Pixels, CrossEntropy, SGD, Batch<4>, Single>;

std::vector<float> apply(Trainer<Trained, CpuThreads>& trainer, const std::vector<Number>& inputs) { return trainer.predict(inputs); }
int main() {}
