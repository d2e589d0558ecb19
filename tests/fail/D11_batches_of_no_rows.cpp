// SPDX-License-Identifier: MIT
// expect: \[heddle\.D11\] a batch has no rows\. Fix: give a number of rows of at least 1\.
#include "heddle/io/synthetic.hpp"

#ifdef HEDDLE_REPAIRED
constexpr int rows = 1;
#else
constexpr int rows = 0;
#endif

int main() { return heddle::datasets::synthetic(heddle::Seed{1}, 4, 4, 2).in_order().batches<rows>().size() == 4 ? 0 : 1; }
