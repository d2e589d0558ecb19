// SPDX-License-Identifier: MIT
// expect: \[heddle\.R12\] a step may have no loss, norm or scale\. Fix: write \*result\.loss\.
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
bool same(const StepResult& result) { return 1.0F == *result.norm; }
#else
bool same(const StepResult& result) { return 1.0F == result.norm; }
#endif
