// SPDX-License-Identifier: MIT
// mistake: `Dropout<0.5>`, which this version does not have
// compilers: g++ clang++ clang++-14
// errors-g++: 4
// expect: Dropout
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
#else
struct Net : Sequential<Linear<20, 32>, Dropout<0.5>, Linear<32, 4>> {};
#endif
