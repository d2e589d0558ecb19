// SPDX-License-Identifier: MIT
// expect: \[heddle\.G03\] The loss does not accept the output of the model\.
// expect-g++: CrossEntropyWith names what is no option of a loss\. Fix: write CrossEntropyWith<Ignored<-100>, ClassWeights>, one of both, or
// CrossEntropy\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Padding = Ignored<-100>;
#else
using Padding = Epsilon<3>;
#endif

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropyWith<Padding>, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
