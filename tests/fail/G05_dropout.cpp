// SPDX-License-Identifier: MIT
// mistake: `Dropout<0.5>`, which this version does not have
// compilers: g++ clang++
// expect: Dropout<.*> +", "is no layer: this version has none|Dropout<.*> is no layer: this version has none\. Fix: leave it out
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
#else
struct Net : Sequential<Linear<20, 32>, Dropout<0.5>, Linear<32, 4>> {};
#endif
static_assert(parameters<Net> > 0);
