// SPDX-License-Identifier: MIT
// expect: \[heddle\.S01\] A layer is in no stage, twice or out of order\.
// expect-g++: stage 2 \(Linear<20, 10>\) has more layers than are left: Mlp ends after its 4 layers, before layer 0 of that stage\. Fix: let the
// stages hold each layer of the model once, in order\.
#include "heddle/heddle.hpp"

using namespace heddle;

using Head = Sequential<Linear<784, 50>, ReLU>;
using Middle = Linear<50, 20>;
using Tail = Linear<20, 10>;
struct Mlp : Sequential<Head, Middle, Tail> {};

#ifdef HEDDLE_REPAIRED
using Cut = Pipeline<Stage<Head>, Stage<Sequential<Middle>>, Stage<Tail>>;
#else
using Cut = Pipeline<Stage<Head>, Stage<Sequential<Middle, Tail>>, Stage<Tail>>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Cut>;
static_assert(sizeof(Trained) > 0);
