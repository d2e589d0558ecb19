// SPDX-License-Identifier: MIT
// expect: \[heddle\.G10\] The input shape of the model is not known\.
// expect-g++: the input shape of the model is not known: its first layer ReLU takes any shape\. Fix: begin the model with Input<sizes\.\.\.>\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using First = Input<28, 28>;
#else
using First = ReLU;
#endif

struct Image : Sequential<First, Flatten, Linear<784, 10>> {};
using Trained = Plan<Image, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
