// SPDX-License-Identifier: MIT
// mistake: `for (auto batch : data)`
// compilers: g++ clang++ clang++-14
// slow: clang++-14
// expect: \[heddle\.D18\] a data set gives its rows in batches\. Fix: write for \(auto batch : data\.in_order\(\)\.batches<64>\(\)\)
#include "heddle/io/synthetic.hpp"

using namespace heddle;

std::int64_t rows_of(const datasets::Dataset& data) {
  std::int64_t rows = 0;
#ifdef HEDDLE_REPAIRED
  for (auto batch : data.in_order().batches<64>()) rows += batch.rows;
#else
  for (auto batch : data) rows += batch.rows;
#endif
  return rows;
}
