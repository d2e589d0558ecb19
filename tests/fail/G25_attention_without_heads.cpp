// SPDX-License-Identifier: MIT
// expect: \[heddle\.G25\] A layer has an argument of another kind\.
// expect-g++: SelfAttention<Causal> does not say how many heads there are\. Fix: write SelfAttention<Heads<8>> for 8\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Attention = SelfAttention<Heads<1>, Causal>;
#else
using Attention = SelfAttention<Causal>;
#endif
struct Net : Sequential<Input<5, 8>, Linear<8, 24>, Attention, Linear<8, 4>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
