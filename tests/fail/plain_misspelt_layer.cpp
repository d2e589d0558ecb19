// SPDX-License-Identifier: MIT
// mistake: a misspelt layer
// compilers: g++ clang++ clang++-14
// errors-g++: 2
// expect: Relu
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
#else
struct Net : Sequential<Linear<20, 32>, Relu, Linear<32, 4>> {};
#endif
