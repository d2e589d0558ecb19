// SPDX-License-Identifier: MIT
// expect: \[heddle\.G01\]
// expect-g++: layer 1 `1`: SwiGLU takes a gate and as many features that it lets through, behind one another
// expect-g++: has \(7\)\. Fix: put a Linear before it that gives 8 features, of which 4 come out\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
inline constexpr int width = 8;
#else
inline constexpr int width = 7;
#endif
struct Net : Sequential<Linear<4, width>, SwiGLU, Linear<4, 4>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
