// SPDX-License-Identifier: MIT
// expect: \[heddle\.D18\] predict\(\) takes inputs without targets, as floats, token ids or bytes\.
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/io/dataset.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;

#ifdef HEDDLE_REPAIRED
std::vector<float> outputs(Trainer<Trained, CpuThreads>& t) { return t.predict({0.5F, 0.25F}); }
#else
std::vector<float> outputs(Trainer<Trained, CpuThreads>& t) { return t.predict(); }
#endif
