// SPDX-License-Identifier: MIT
// expect: \[heddle\.G01\]
// expect-g++: layer 1 `1`: LayerNorm<8> takes 8 features but the value before it has \(16\)\. Fix: write LayerNorm<16>\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
inline constexpr int width = 16;
#else
inline constexpr int width = 8;
#endif
struct Net : Sequential<Linear<4, 16>, LayerNorm<width>, Linear<16, 4>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
