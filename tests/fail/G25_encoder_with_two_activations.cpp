// SPDX-License-Identifier: MIT
// expect: \[heddle\.G25\] A layer has an argument of another kind\.
// expect-g++: TransformerEncoderLayer<\.\.\., GELU, Tanh> names an option twice\. Fix: name NormFirst, Causal, Dropout<1, 10> and one activation
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Layer = TransformerEncoderLayer<64, 8, 256, GELU, Causal>;
#else
using Layer = TransformerEncoderLayer<64, 8, 256, GELU, Tanh>;
#endif

struct Model : Sequential<Input<6, 64>, Repeat<2, Layer>, Linear<64, 10>> {};
using Trained = Plan<Model, CrossEntropy, Adam, Batch<64>, Single>;
static_assert(devices<Trained> == 1);
