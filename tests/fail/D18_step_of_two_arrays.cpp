// SPDX-License-Identifier: MIT
// mistake: `step(inputs, labels)`
// expect: \[heddle\.D18\] step\(\) takes one batch\. Fix: give it examples\(inputs, targets, features\), or each batch of
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;

#ifdef HEDDLE_REPAIRED
void train(Trainer<Trained, CpuThreads>& t, std::vector<float> x, std::vector<std::int32_t> y) { t.step(examples(x, y, 784)); }
#else
void train(Trainer<Trained, CpuThreads>& t, std::vector<float> x, std::vector<std::int32_t> y) { t.step(x, y); }
#endif
