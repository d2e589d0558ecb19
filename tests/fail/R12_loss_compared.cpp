// SPDX-License-Identifier: MIT
// expect: \[heddle\.R12\] a step may have no loss, norm or scale\. Fix: write \*result\.loss\.
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
bool low(const StepResult& result) { return *result.loss < 0.1F; }
#else
bool low(const StepResult& result) { return result.loss < 0.1; }
#endif
