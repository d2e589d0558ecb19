// SPDX-License-Identifier: MIT
// mistake: `Adam{}` for `Adam`
// compilers: g++ clang++ clang++-14
// expect-g++: expected a type, got '.*Adam
// expect-clang: // types: Batch<64>, not 64; Adam, not Adam\{\}
#include "heddle/heddle.hpp"

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
#ifdef HEDDLE_REPAIRED
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;
#else
using Mine = Plan<Net, CrossEntropy, Adam{}, Batch<64>, Single>;
#endif
