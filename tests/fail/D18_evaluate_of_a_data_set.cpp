// SPDX-License-Identifier: MIT
// mistake: a whole data set for a batch
// expect: \[heddle\.D18\] evaluate\(\) takes one batch\.
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/io/dataset.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;

#ifdef HEDDLE_REPAIRED
double loss(Trainer<Trained, CpuThreads>& t, const datasets::Dataset& data) { return t.evaluate(data.in_order().all()).loss; }
#else
double loss(Trainer<Trained, CpuThreads>& t, const datasets::Dataset& data) { return t.evaluate(data).loss; }
#endif
