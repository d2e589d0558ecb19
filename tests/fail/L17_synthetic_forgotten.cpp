// SPDX-License-Identifier: MIT
// mistake: the header of `datasets::synthetic()` is not included
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.L17\] datasets::synthetic\(\) stands in a header that is not included\. Fix: add #include <heddle/io/synthetic\.hpp>\.
#include "heddle/heddle.hpp"
#ifdef HEDDLE_REPAIRED
#include "heddle/io/synthetic.hpp"
#else

#endif

using namespace heddle;

int main() {
  auto data = datasets::synthetic(Seed{1}, 640, 20, 4);
  for (auto batch : data.shuffled(Seed{1}, 0).batches<64>())
    if (batch.rows != 64 || batch.slice(0, 1).target(0)[0] > data.classes()) return 1;
  return data.all().rows == data.labels_of_a_row() ? 0 : 1;
}
