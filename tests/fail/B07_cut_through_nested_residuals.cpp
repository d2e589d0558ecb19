// SPDX-License-Identifier: MIT
// expect: \[heddle\.B07\] A cut adds the terms of a gradient in another order than one device\.
// expect-g++: a stage reads a value of an earlier stage more than once and a later stage reads it too
#include "heddle/heddle.hpp"

using namespace heddle;

// The inner sum ends one stage, the outer sum the next: Residual<> is the outer sum alone.
struct Begin : Sequential<Linear<8, 4>> {};
struct Inner : Residual<Linear<4, 4>> {};
struct Outer : Sequential<Tanh, Residual<>> {};
struct End : Sequential<Linear<4, 2>> {};
struct Nested : Sequential<Begin, Residual<Inner, Tanh>, End> {};

#ifdef HEDDLE_REPAIRED
using Stages = Pipeline<Balanced<2>, GPipe, Microbatches<4>>;
#else
using Stages = Pipeline<Stage<Begin>, Stage<Inner>, Stage<Outer>, Stage<End>, GPipe, Microbatches<4>>;
#endif
static_assert(sizeof(Plan<Nested, CrossEntropy, SGD, Batch<8>, Stages, Reproducible>) > 0);
