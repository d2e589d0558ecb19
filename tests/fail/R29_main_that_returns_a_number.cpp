// SPDX-License-Identifier: MIT
// expect: \[heddle\.R29\] the body of run_main returns something else than an exit code\. Fix: return nothing or an int\.
#include "heddle/run/run_main.hpp"

#ifdef HEDDLE_REPAIRED
const auto body = [] { return 1; };
#else
const auto body = [] { return 0.5; };
#endif

int main() { return heddle::run_main(body); }
