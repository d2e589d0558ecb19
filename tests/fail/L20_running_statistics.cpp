// SPDX-License-Identifier: MIT
// expect: \[heddle\.L20\] NoDecay and LearningRateFactor name what is not there\.
// expect-g++: Net has parameters of the name `running_var` in what layers track alone, which are not trained, so NoDecay of it changes nothing\.
// expect-g++: Fix: drop it, or use words of a name such as
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Spared = NoDecay<"norm">;
#else
using Spared = NoDecay<"running_var">;
#endif
struct Net : Sequential<Input<4, 2, 2>, Named<"norm", BatchNorm2d<4>>, Flatten, Linear<16, 4>> {};
using Trained = Plan<Net, CrossEntropy, AdamW, Batch<8>, Single, Spared>;
static_assert(sizeof(Trained) > 0);
