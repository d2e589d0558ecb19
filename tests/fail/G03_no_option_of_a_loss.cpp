// SPDX-License-Identifier: MIT
// expect: \[heddle\.G03\] The loss does not accept the output of the model\.
// expect-g++: CrossEntropyWith names what is no option of a loss\. Fix: write CrossEntropyWith<Ignored<-100>, ClassWeights, LabelSmoothing<1, 10>>,
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Option = Ignored<-100>;
#else
using Option = Epsilon<3>;
#endif

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
using Trained = Plan<Mlp, CrossEntropyWith<Option>, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
