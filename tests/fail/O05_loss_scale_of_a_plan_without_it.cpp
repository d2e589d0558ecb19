// SPDX-License-Identifier: MIT
// expect: \[heddle\.O05\] the plan does not scale its loss\. Fix: add LossScaling to it\.
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<8, 4>> {};
#ifdef HEDDLE_REPAIRED
using Part = LossScaling;
#else
using Part = Clip<GlobalNorm>;
#endif
using Trained = Plan<Mlp, CrossEntropy, SGD, Batch<64>, Part, Single>;

void set(Trainer<Trained, CpuThreads>& trainer) { trainer.loss_scale().init_scale = 1024; }
