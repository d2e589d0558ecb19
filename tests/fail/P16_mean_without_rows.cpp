// SPDX-License-Identifier: MIT
// expect: \[heddle\.P16\] A mean of means does not weigh its rows equally\.
// expect-g++: mean_over is given float, which does not say over how many rows it was taken
#include "heddle/backend/spmd_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// torchtune PR #1917: the mean over ranks of means over their tokens.
#ifdef HEDDLE_REPAIRED
using Local = WeightedSum;
#else
using Local = float;
#endif

auto loss(ThreadCommunicator& comm, Distributed<Local, Partial<axis::data>> local) { return mean_over<axis::data>(comm, local); }
