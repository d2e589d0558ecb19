// SPDX-License-Identifier: MIT
// expect: \[heddle\.L17\] datasets::synthetic_tokens\(\) stands in a header that is not included\. Fix: add #include <heddle/io/synthetic\.hpp>\.
#include "heddle/heddle.hpp"
#ifdef HEDDLE_REPAIRED
#include "heddle/io/synthetic.hpp"
#else

#endif

using namespace heddle;

int main() {
  auto data = datasets::synthetic_tokens(Seed{1}, 2000, 64);
  return data.size() > 0 ? 0 : 1;
}
