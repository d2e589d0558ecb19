// SPDX-License-Identifier: MIT
// mistake: `data.batches()` without the rows of a batch
// expect: \[heddle\.D18\] batches\(\) is not told how many rows a batch has\. Fix: write batches<MyPlan>\(\) of a data set, or batches<64>\(\)\.
#include "heddle/io/synthetic.hpp"

using namespace heddle;

int main() {
  const auto data = datasets::synthetic(Seed{1}, 128, 20, 4);
  std::int64_t rows = 0;
#ifdef HEDDLE_REPAIRED
  for (const auto& batch : data.batches<64>()) rows += batch.rows;
#else
  for (const auto& batch : data.batches()) rows += batch.rows;
#endif
  return rows == 128 ? 0 : 1;
}
