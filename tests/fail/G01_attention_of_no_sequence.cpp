// SPDX-License-Identifier: MIT
// expect: \[heddle\.G01\]
// expect-g++: layer 2 `2`: SelfAttention<Heads<4>> takes a sequence of positions, but the value before it has \(24\), a single vector\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Begin = Input<5, 8>;
#else
using Begin = Input<8>;
#endif
struct Net : Sequential<Begin, Linear<8, 24>, SelfAttention<Heads<4>>, Linear<8, 4>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
