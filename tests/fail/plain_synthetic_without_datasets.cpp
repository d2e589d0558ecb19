// SPDX-License-Identifier: MIT
// mistake: `synthetic()` for `datasets::synthetic()`
// compilers: g++ clang++ clang++-14
// expect: Fix: write datasets::synthetic
#include "heddle/heddle.hpp"
#include "heddle/io/synthetic.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
int main() { return datasets::synthetic(Seed{1}, 640, 20, 4).size() == 640 ? 0 : 1; }
#else
int main() { return synthetic(Seed{1}, 640, 20, 4).size() == 640 ? 0 : 1; }
#endif
