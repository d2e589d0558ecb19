// SPDX-License-Identifier: MIT
// expect-g++: \[heddle\.R12\] a step may have no loss, norm or scale\. Fix: write \*result\.loss\.
// expect-clang: cannot pass (object of )?non-trivial (object of )?type .*ReadWithAStar
#include <cstdio>

#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
void report(const StepResult& result) { std::printf("loss %f\n", static_cast<double>(*result.loss)); }
#else
void report(const StepResult& result) { std::printf("loss %f\n", result.loss); }
#endif
