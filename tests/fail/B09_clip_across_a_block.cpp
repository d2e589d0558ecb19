// SPDX-License-Identifier: MIT
// expect: \[heddle\.B09\] A cut goes through a unit over which a reproducible norm is summed\.
// expect-g++: a cut goes through a block of Deep, whose squares one device adds as one unit\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Deep : Sequential<Linear<8, 6>, Repeat<2, Sequential<Linear<6, 6>, Tanh>>, Linear<6, 3>> {};

#ifdef HEDDLE_REPAIRED
using Cut = Pipeline<Stage<Sequential<Linear<8, 6>, Linear<6, 6>, Tanh>, On<0>>, Stage<Sequential<Linear<6, 6>, Tanh, Linear<6, 3>>, On<1>>>;
#else
using Cut = Pipeline<Stage<Sequential<Linear<8, 6>, Linear<6, 6>>, On<0>>, Stage<Sequential<Tanh, Linear<6, 6>, Tanh, Linear<6, 3>>, On<1>>>;
#endif

using Trained = Plan<Deep, CrossEntropy, Adam, Batch<64>, Grain<16>, Clip<GlobalNorm>, Cut>;
static_assert(sizeof(Trained) > 0);
