// SPDX-License-Identifier: MIT
// The lines that lead to a rule are few also where a runner or a trainer is the first to ask, through the header of a backend.
// expect: \[heddle\.B01\] The batch does not divide and no remedy is named\.
// expect-g++: Batch<63> does not divide by 4 ranks
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/run/runner.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Rows = Batch<64>;
#else
using Rows = Batch<63>;
#endif

void apply() { Runner<Inference<Mlp, Rows, DataParallel<4>>, CpuThreads> runner{Seed{1}}; }
void train() { Trainer<Plan<Mlp, CrossEntropy, Adam, Rows, DataParallel<4>>, CpuThreads> trainer{{.learning_rate = 1e-3F}, Seed{1}}; }
