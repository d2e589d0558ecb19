// SPDX-License-Identifier: MIT
// expect: \[heddle\.O05\] the plan does not clip\. Fix: add Clip<GlobalNorm> to it\.
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<8, 4>> {};
#ifdef HEDDLE_REPAIRED
using Part = Clip<GlobalNorm>;
#else
using Part = LossScaling;
#endif
using Trained = Plan<Mlp, CrossEntropy, SGD, Batch<64>, Part, Single>;

void set(Trainer<Trained, CpuThreads>& trainer) { trainer.clip().max_norm = 0.5; }
