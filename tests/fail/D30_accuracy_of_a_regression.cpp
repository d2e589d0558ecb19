// SPDX-License-Identifier: MIT
// expect: \[heddle\.D30\] the loss has no classes, so there is no accuracy\. Fix: name CrossEntropy, or one of several losses that has classes,
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
#ifdef HEDDLE_REPAIRED
using Loss = CrossEntropy;
#else
using Loss = MeanSquaredError;
#endif
using Trained = Plan<Mlp, Loss, SGD, Batch<64>, Single>;

double share(Trainer<Trained, CpuThreads>& trainer, const Examples<Loss::Target>& batch) { return trainer.accuracy(batch); }
