// SPDX-License-Identifier: MIT
// mistake: `predict(batch)`: rows with targets
// expect: \[heddle\.D18\] predict\(\) takes inputs without targets, as floats, token ids or bytes\. Fix: write evaluate\(batch\)\.outputs
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/io/dataset.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;

#ifdef HEDDLE_REPAIRED
std::vector<float> outputs(Trainer<Trained, CpuThreads>& t, const datasets::Dataset& data) { return t.evaluate(data.all()).outputs; }
#else
std::vector<float> outputs(Trainer<Trained, CpuThreads>& t, const datasets::Dataset& data) { return t.predict(data.all()); }
#endif
