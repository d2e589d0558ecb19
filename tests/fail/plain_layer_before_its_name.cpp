// SPDX-License-Identifier: MIT
// mistake: `Named<Linear<20, 32>, "first">`: the layer before its name
// compilers: g++ clang++ clang++-14
// errors-g++: 3
// expect-g++: type/value mismatch at argument 1 .*Named
// expect-clang: template argument for non-type template parameter must be an expression
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
struct Net : Sequential<Named<"first", Linear<20, 32>>, ReLU> {};
#else
struct Net : Sequential<Named<Linear<20, 32>, "first">, ReLU> {};
#endif
