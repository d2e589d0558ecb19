// SPDX-License-Identifier: MIT
// expect: \[heddle\.G01\]
// expect-g++: layer 2 `2`: SelfAttention<Heads<4>> takes queries, keys and values behind one another, 4 \+ 2 x 4 heads
// expect-g++: which 12 does not divide\. Fix: put a Linear before it that gives 96 features, of which 32 come out\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
inline constexpr int width = 36;
#else
inline constexpr int width = 32;
#endif
struct Net : Sequential<Input<5, 8>, Linear<8, width>, SelfAttention<Heads<4>>, Linear<12, 4>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
