// SPDX-License-Identifier: MIT
// compilers: g++ clang++ nvcc
// expect: \[heddle\.C01\] A stage needs more memory than the plan allows\.
// expect-g++: stage 0 needs 865,280 bytes in the best cut found, the plan allows 100,000 bytes\. Largest: optimizer states with 319,488 bytes,
// activations and transfers with 226,304 bytes\. Fix: use more stages, Sharded or TensorParallel, or a larger Memory\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Budget = Memory<10_MB>;
#else
using Budget = Memory<100_KB>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Pipeline<Balanced<2>>, Budget>;
static_assert(sizeof(Trained) > 0);
