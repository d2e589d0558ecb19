// SPDX-License-Identifier: MIT
// compilers: g++ clang++
// expect: \[heddle\.L23\] Mixed names a type that values are not kept in\.
// expect-g++: Mixed<float> names no type that values are kept in\. Fix: write Mixed<BFloat16>, or leave Mixed out for float32\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
#ifdef HEDDLE_REPAIRED
using Kept = BFloat16;
#else
using Kept = float;
#endif
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single, Mixed<Kept>>;
static_assert(sizeof(Mine) > 0);
