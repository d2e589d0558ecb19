// SPDX-License-Identifier: MIT
// expect: \[heddle\.G07\] A shape is divided into another number of elements\.
// expect-g++: layer 1 `1`: Unflatten<24, 128> makes 3072 features of a value that has 2048\. Fix: give sizes whose product is 2048\.
#include "heddle/heddle.hpp"

using namespace heddle;

// Table 2.1 of the paper on GPT-3 prints 24 heads of 128 features for a width of 2048.

#ifdef HEDDLE_REPAIRED
using Heads = Unflatten<16, 128>;
#else
using Heads = Unflatten<24, 128>;
#endif

struct Queries : Sequential<Linear<2048, 2048>, Heads> {};
using Trained = Plan<Queries, MeanSquaredError, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
