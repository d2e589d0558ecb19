// SPDX-License-Identifier: MIT
// expect: \[heddle\.G16\] Layers with the same parameters are split in two ways\.
// expect-g++: layer 2 `head` Linear<64, 64> uses the parameters of layer 0 `wte` Linear<64, 64>, but TensorParallel<2> finds no way to split both
// alike
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Head = Linear<64, 64>;
#else
using Head = Row<Linear<64, 64>>;
#endif

struct Model : Sequential<Named<"wte", Column<Linear<64, 64>>>, GELU, Tied<"head", Head, To<"wte">>, Linear<64, 10>> {};
using Trained = Plan<Model, CrossEntropy, Adam, Batch<64>, TensorParallel<2>>;
static_assert(sizeof(Trained) > 0);
