// SPDX-License-Identifier: MIT
// mistake: a misspelt policy
// compilers: g++ clang++ clang++-14
// errors-g++: 2
// expect: DataParalel
#include "heddle/heddle.hpp"

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
#ifdef HEDDLE_REPAIRED
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, DataParallel<2>>;
#else
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, DataParalel<2>>;
#endif
