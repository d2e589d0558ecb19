// SPDX-License-Identifier: MIT
// mistake: `peak_memory<Mine>() < 1000000`: bytes against a number
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.C04\] bytes are compared with a plain number\. Fix: give the number a unit, as in 10_MiB or 1000_B\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;
#ifdef HEDDLE_REPAIRED
static_assert(peak_memory<Mine>() < 1000000_B);
#else
static_assert(peak_memory<Mine>() < 1000000);
#endif
