// SPDX-License-Identifier: MIT
// expect: \[heddle\.S01\] A layer is in no stage, twice or out of order\.
// expect-g++: is in no stage: the 3 stages hold 9 of 10 layers
#include "heddle/heddle.hpp"

using namespace heddle;

struct Ten : Repeat<10, Linear<16, 16>> {};

// mlx-lm #1688: 10 layers over 3 ranks, 3 layers each.
#ifdef HEDDLE_REPAIRED
using Last = Repeat<4, Linear<16, 16>>;
#else
using Last = Repeat<3, Linear<16, 16>>;
#endif

using Three = Repeat<3, Linear<16, 16>>;
using Cut = Pipeline<Stage<Three>, Stage<Three>, Stage<Last>>;
using Trained = Plan<Ten, CrossEntropy, Adam, Batch<64>, Cut>;
static_assert(sizeof(Trained) > 0);
