// SPDX-License-Identifier: MIT
// The longest schedule that S07 lets pass is a constant expression for every compiler, also where the cut is then searched for a budget.
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.S07\] The schedule is too long for a constant expression\.
// expect-g++: 8 chunks x 292 micro-batches make 21,024 instructions, at most 21,000 are checked at build\. Fix: use at most 291 micro-batches
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
constexpr int micro_batches = 291;
#else
constexpr int micro_batches = 292;
#endif

struct Deep : Sequential<Repeat<20, Linear<64, 64>>> {};
using Cut = Pipeline<Balanced<8>, OneFOneB, Microbatches<micro_batches>>;

using Trained = Plan<Deep, MeanSquaredError, Adam, Batch<micro_batches>, Cut, Memory<255'000_B>>;
static_assert(devices<Trained> == 8);
