// SPDX-License-Identifier: MIT
// mistake: `data.shuffled(Seed{1})` without the epoch
// expect: \[heddle\.D18\] shuffled\(\) is not told the epoch, without which every epoch has one order\. Fix: write shuffled\(Seed\{1\}, epoch\)\.
#include "heddle/io/synthetic.hpp"

using namespace heddle;

int main() {
  const auto data = datasets::synthetic(Seed{1}, 128, 20, 4);
  std::int64_t rows = 0;
  for (int epoch = 0; epoch < 2; ++epoch)
#ifdef HEDDLE_REPAIRED
    for (const auto& batch : data.shuffled(Seed{1}, epoch).batches<64>()) rows += batch.rows;
#else
    for (const auto& batch : data.shuffled(Seed{1}).batches<64>()) rows += batch.rows;
#endif
  return rows == 256 ? 0 : 1;
}
