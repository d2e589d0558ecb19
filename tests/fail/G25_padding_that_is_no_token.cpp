// SPDX-License-Identifier: MIT
// expect: \[heddle\.G25\] A layer has an argument of another kind\.
// expect-g++: Embedding<12, 4, PaddingIndex<12>> pads with token 12, which its 12 rows do not have\. Fix: write one from 0 to 11\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
inline constexpr int padding = 11;
#else
inline constexpr int padding = 12;
#endif
struct Net : Sequential<Input<5>, Embedding<12, 4, PaddingIndex<padding>>, Linear<4, 12>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
