// SPDX-License-Identifier: MIT
// torchtitan #596, Megatron PR #5916: a norm over parameters of which some are whole on every rank and some in parts counts the whole ones often.
// expect: \[heddle\.M06\] Two policies do not mix\.
// expect-g++: Clip<GlobalNorm> adds the squares of whole units, but axis tensor of size 2 holds some parameters of a unit whole and others in parts\.
// Fix: drop Clip, or TensorParallel\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Ranks = DataParallel<2>;
#else
using Ranks = TensorParallel<2>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Clip<GlobalNorm>, Ranks>;
static_assert(sizeof(Trained) > 0);
