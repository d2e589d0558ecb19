// SPDX-License-Identifier: MIT
// expect: \[heddle\.A10\] Every rank runs the same layer whole\.
// expect-g++: SelfAttention<Heads<4>, KeyValueHeads<1>> runs whole on each of the 2 ranks of axis tensor
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
inline constexpr int shared = 2;
#else
inline constexpr int shared = 1;
#endif
struct Net : Sequential<Input<32, 32 + 16 * shared>, SelfAttention<Heads<4>, KeyValueHeads<shared>>, Linear<32, 64>, ReLU, Linear<64, 32>> {};
using Trained = Plan<Net, MeanSquaredError, Adam, Batch<8>, TensorParallel<2>>;
static_assert(extending::require_no_advice<Trained>());
