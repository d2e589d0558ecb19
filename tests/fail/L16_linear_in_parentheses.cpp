// SPDX-License-Identifier: MIT
// mistake: `Linear(20, 32)` for `Linear<20, 32>`
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.L16\] models and plans are types, but this makes an object\. Fix: write < > in place of \( \), as in Linear<20, 32>
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using First = Linear<20, 32>;
#else
auto first = Linear(20, 32);
#endif
constexpr bool reached = true;
