// SPDX-License-Identifier: MIT
// expect: \[heddle\.R29\] run_main takes a function without arguments\. Fix: write run_main\(\[&\] \{ \.\.\. \}\)\.
#include "heddle/run/run_main.hpp"

#ifdef HEDDLE_REPAIRED
const auto body = [] {};
#else
const auto body = [](int) {};
#endif

int main() { return heddle::run_main(body); }
