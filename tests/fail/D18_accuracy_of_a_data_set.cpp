// SPDX-License-Identifier: MIT
// mistake: `accuracy(data)`: a whole data set
// expect: \[heddle\.D18\] accuracy\(\) takes a batch, or batches\. Fix: write accuracy\(data\.all\(\)\)\.
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/io/dataset.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;

#ifdef HEDDLE_REPAIRED
double share(Trainer<Trained, CpuThreads>& t, const datasets::Dataset& data) { return t.accuracy(data.all()); }
#else
double share(Trainer<Trained, CpuThreads>& t, const datasets::Dataset& data) { return t.accuracy(data); }
#endif
