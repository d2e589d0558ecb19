// SPDX-License-Identifier: MIT
// expect: \[heddle\.G18\] A layer looks up what is no token id\.
// expect-g++: layer 2 `2` Embedding<50, 4> looks token ids up, but it reads what layer 1 `1` ReLU computes, through which no gradient could come
// back\. Fix: let it read the input of the model\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
struct Model : Sequential<Input<8>, Unflatten<2, 4>, Embedding<50, 4>, Linear<4, 16>> {};
#else
struct Model : Sequential<Linear<6, 8>, ReLU, Embedding<50, 4>, Linear<4, 16>> {};
#endif

using Trained = Plan<Model, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
