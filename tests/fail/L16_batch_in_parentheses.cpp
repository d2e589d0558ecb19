// SPDX-License-Identifier: MIT
// mistake: `Batch(64)` for `Batch<64>`
// compilers: g++ clang++ clang++-14
// errors: 2
// expect-clang: \[heddle\.L16\] models and plans are types, but this makes an object\.
// expect-g++: 'template<class \.\.\. TypesSuchAsBatch64> struct heddle::plan_room::Plan'
#include "heddle/heddle.hpp"

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
#ifdef HEDDLE_REPAIRED
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;
#else
using Mine = Plan<Net, CrossEntropy, Adam, Batch(64), Single>;
#endif
