// SPDX-License-Identifier: MIT
// mistake: `result.loss` printed without `*`
// expect: \[heddle\.R12\] a step may have no loss, norm or scale\. Fix: write \*result\.loss\.
#include <iostream>

#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
void report(const StepResult& result) { std::cout << "loss " << *result.loss << '\n'; }
#else
void report(const StepResult& result) { std::cout << "loss " << result.loss << '\n'; }
#endif
