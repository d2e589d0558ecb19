// SPDX-License-Identifier: MIT
// mistake: no `-std=c++20`
// Without -std=c++20 g++ 12 and clang take older C++, in which nearly every line of Heddle is an error.
// broken-flags: -std=c++17
// compilers: g++ clang++ clang++-14
// slow: clang++-14
// expect: fatal error: '?\[heddle\.L13\] Heddle is written in C\+\+20, but this file is compiled as older C\+\+\. Fix: add -std=c\+\+20
#include "heddle/heddle.hpp"

struct Mlp : heddle::Sequential<heddle::Linear<784, 50>, heddle::ReLU, heddle::Linear<50, 10>> {};
static_assert(heddle::parameters<Mlp> == 39'760);
