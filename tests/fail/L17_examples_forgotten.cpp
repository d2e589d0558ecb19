// SPDX-License-Identifier: MIT
// mistake: `examples()` without the header of a backend
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.L17\] examples\(\) stands in a header that is not included\. Fix: add #include <heddle/backend/cpu_threads\.hpp>\.
#include <cstdint>
#include <vector>

#include "heddle/heddle.hpp"
#ifdef HEDDLE_REPAIRED
#include "heddle/run/examples.hpp"
#else

#endif

using namespace heddle;

std::int64_t rows_of(const std::vector<float>& inputs, const std::vector<std::int32_t>& labels) {
  const auto batch = examples(inputs, labels, 20);
  return batch.rows;
}
