// SPDX-License-Identifier: MIT
// expect: \[heddle\.M03\] Stages and devices do not fit\.
// expect-g++: a balanced cut into 6 needs 5 cuts, but Mlp with 4 layers can be cut in 3 places
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 20>, Linear<20, 10>> {};

#ifdef HEDDLE_REPAIRED
using Order = Interleaved<2>;
#else
using Order = Interleaved<3>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Pipeline<Balanced<2>, Order, Microbatches<4>>>;
static_assert(sizeof(Trained) > 0);
