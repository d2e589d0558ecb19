// SPDX-License-Identifier: MIT
// expect: \[heddle\.A11\] SequenceParallel splits nothing\.
// expect-g++: input and output of the model are whole, and so is a Repeat that begins with one
#include "heddle/heddle.hpp"

using namespace heddle;

using Block = Residual<Linear<8, 32>, GELU, Linear<32, 8>>;
#ifdef HEDDLE_REPAIRED
struct Net : Sequential<Input<16, 8>, Linear<8, 8>, Repeat<2, Block>, Linear<8, 8>> {};
#else
struct Net : Sequential<Input<16, 8>, Repeat<2, Block>> {};
#endif
using Trained = Plan<Net, MeanSquaredError, Adam, Batch<8>, TensorParallel<2, SequenceParallel>>;
static_assert(extending::require_no_advice<Trained>());
