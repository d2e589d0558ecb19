// SPDX-License-Identifier: MIT
// expect: \[heddle\.G02\] Branches give values that cannot be joined\.
// expect-g++: branches `0` and `1` in `1` give \(8, 4\) and \(8, 5\), which cannot be joined\. Fix: let branch `1` give \(8, 4\)\.
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using How = Concat;
#else
using How = ConcatAlong<0>;
#endif
struct Net : Sequential<Input<8, 16>, Branches<How, Linear<16, 4>, Linear<16, 5>>, Flatten> {};
using Trained = Plan<Net, MeanSquaredError, Adam, Batch<64>, Single>;
static_assert(sizeof(Trained) > 0);
