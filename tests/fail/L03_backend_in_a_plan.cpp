// SPDX-License-Identifier: MIT
// mistake: a backend inside the plan
// expect: \[heddle\.L03\] Something in the plan is no part of a plan\.
// expect-g++: CpuThreads is no part of a Plan by itself\. Fix: write it inside Trainer<MyPlan, CpuThreads>, as its backend\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

// A backend is a part of the Trainer.
#ifdef HEDDLE_REPAIRED
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>;
#else
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single, CpuThreads>;
#endif

static_assert(sizeof(Trained) > 0);
