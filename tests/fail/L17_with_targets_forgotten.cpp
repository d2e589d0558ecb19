// SPDX-License-Identifier: MIT
// expect: \[heddle\.L17\] datasets::with_targets\(\) stands in a header that is not included\. Fix: add #include <heddle/io/several_targets\.hpp>\.
#include "heddle/heddle.hpp"
#include "heddle/io/synthetic.hpp"
#ifdef HEDDLE_REPAIRED
#include "heddle/io/several_targets.hpp"
#else

#endif

using namespace heddle;

int main() {
  auto data = datasets::with_targets(datasets::synthetic(Seed{1}, 640, 20, 4), std::vector<float>(640), 1);
  for (auto batch : data.shuffled(Seed{1}, 0).batches<64>())
    if (batch.rows != 64) return 1;
  return data.all().rows == 640 ? 0 : 1;
}
