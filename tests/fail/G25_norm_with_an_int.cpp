// SPDX-License-Identifier: MIT
// expect: \[heddle\.G25\] A layer has an argument of another kind\.
// expect-g++: LayerNorm<4, int> names what is no option of LayerNorm\. Fix: write Epsilon<6> for 1e-6, NoBias for no bias, or nothing\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Option = Epsilon<5>;
#else
using Option = int;
#endif
struct Net : Sequential<LayerNorm<4, Option>, Linear<4, 4>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
