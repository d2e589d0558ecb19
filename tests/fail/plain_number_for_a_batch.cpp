// SPDX-License-Identifier: MIT
// mistake: `64` for `Batch<64>`
// compilers: g++ clang++ clang++-14
// expect-g++: 'template<class \.\.\. TypesSuchAsBatch64> struct heddle::plan_room::Plan'
// expect-g++: expected a type, got '64'
// expect-clang: template argument for template type parameter must be a type
// expect-clang: // types: Batch<64>, not 64
#include "heddle/heddle.hpp"

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
#ifdef HEDDLE_REPAIRED
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;
#else
using Mine = Plan<Net, CrossEntropy, Adam, 64, Single>;
#endif
