// SPDX-License-Identifier: MIT
// expect: \[heddle\.L17\] datasets::next_token_rows\(\) stands in a header that is not included\. Fix: add #include <heddle/io/sequences\.hpp>\.
#include <cstdint>
#include <vector>

#include "heddle/heddle.hpp"
#ifdef HEDDLE_REPAIRED
#include "heddle/io/sequences.hpp"
#else

#endif

using namespace heddle;

int main() {
  const std::vector<std::int32_t> tokens(2000, 1);
  auto rows = datasets::next_token_rows(tokens, 64, {.length = 16});
  return rows.size() > 0 ? 0 : 1;
}
