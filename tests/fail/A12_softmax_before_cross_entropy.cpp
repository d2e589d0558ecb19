// SPDX-License-Identifier: MIT
// expect: \[heddle\.A12\] The model ends with what its loss applies\.
// expect-g++: CrossEntropy takes logits and applies Softmax itself
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
struct Net : Sequential<Linear<8, 32>, ReLU, Linear<32, 4>> {};
#else
struct Net : Sequential<Linear<8, 32>, ReLU, Linear<32, 4>, Softmax> {};
#endif
using Trained = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(extending::require_no_advice<Trained>());
