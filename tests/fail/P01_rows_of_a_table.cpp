// SPDX-License-Identifier: MIT
// A table of tokens whose rows the tensor-parallel ranks do not divide: GPT-2's vocabulary, unless it is padded.
// expect: \[heddle\.P01\] A layer cannot be split evenly over axis tensor\.
// expect-g++: TensorParallel<4> cannot split the 50,257 features of layer 1 `table` Embedding<50257, 64> evenly\. Fix: use as many ranks as divide
// 50,257: 1, 29\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
inline constexpr int vocabulary = 50304;
#else
inline constexpr int vocabulary = 50257;
#endif
struct Model : Sequential<Input<16>, Named<"table", Row<Embedding<vocabulary, 64>>>, Linear<64, 96>> {};

using Trained = Plan<Model, CrossEntropy, SGD, Batch<8>, TensorParallel<4>>;
static_assert(sizeof(Trained) > 0);
