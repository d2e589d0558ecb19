// SPDX-License-Identifier: MIT
// compilers: g++ clang++ nvcc
// expect: \[heddle\.S01\] A layer is in no stage, twice or out of order\.
// expect-g++: stage 1 \(Linear<20, 10>\) does not go on with layer 2 `1` Linear<50, 20> of Mlp: that layer is skipped or out of order\. Fix: let the
// stages hold each layer of the model once, in order\.
#include "heddle/heddle.hpp"

using namespace heddle;

using Head = Sequential<Linear<784, 50>, ReLU>;
using Middle = Linear<50, 20>;
using Tail = Linear<20, 10>;
struct Mlp : Sequential<Head, Middle, Tail> {};

#ifdef HEDDLE_REPAIRED
using Cut = Pipeline<Stage<Head>, Stage<Middle>, Stage<Tail>>;
#else
using Cut = Pipeline<Stage<Head>, Stage<Tail>>;
#endif

using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, Cut>;
static_assert(sizeof(Trained) > 0);
