// SPDX-License-Identifier: MIT
// expect: \[heddle\.G25\] A layer has an argument of another kind\.
// expect-g++: SelfAttention<Heads<6>, KeyValueHeads<4>> has 6 heads, which 4 heads of keys and values cannot serve evenly\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
inline constexpr int shared = 3;
#else
inline constexpr int shared = 4;
#endif
struct Net : Sequential<Input<5, 8>, Linear<8, 6 + 2 * shared>, SelfAttention<Heads<6>, KeyValueHeads<shared>>, Linear<6, 4>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Single>;
static_assert(sizeof(Trained) > 0);
