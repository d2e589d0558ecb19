// SPDX-License-Identifier: MIT
// Types alone need no exceptions; what runs them does, and says so once.
// flags: -fno-exceptions
// compilers: g++ clang++ clang++-14
// slow: clang++ clang++-14
// expect: fatal error: '?\[heddle\.L08\] What runs a plan throws, but exceptions are switched off\. Fix: compile without -fno-exceptions
#ifdef HEDDLE_REPAIRED
#include "heddle/heddle.hpp"
#else
#include "heddle/backend/cpu_threads.hpp"
#endif

struct Mlp : heddle::Sequential<heddle::Linear<784, 50>, heddle::ReLU, heddle::Linear<50, 10>> {};
static_assert(heddle::parameters<Mlp> == 39'760);
