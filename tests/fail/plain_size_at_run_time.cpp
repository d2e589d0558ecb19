// SPDX-License-Identifier: MIT
// mistake: a size that is known at run time only
// compilers: g++ clang++ clang++-14
// expect-g++: \'features\' is not usable in a constant expression
// expect-clang: non-type template argument is not a constant expression
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
constexpr int features = 20;
#else
int features = 20;
#endif
Linear<features, 10> layer;
