// SPDX-License-Identifier: MIT
// mistake: `Sequential(Linear(20, 32), ReLU())`
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.L16\] models and plans are types, but this makes an object\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
#else
auto net = Sequential(Linear(20, 32), ReLU(), Linear(32, 4));
#endif
constexpr bool reached = true;
