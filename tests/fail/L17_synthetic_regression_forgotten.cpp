// SPDX-License-Identifier: MIT
// expect: \[heddle\.L17\] datasets::synthetic_regression\(\) stands in a header that is not included\. Fix: add #include <heddle/io/synthetic\.hpp>\.
#include "heddle/heddle.hpp"
#ifdef HEDDLE_REPAIRED
#include "heddle/io/synthetic.hpp"
#else

#endif

using namespace heddle;

int main() {
  auto data = datasets::synthetic_regression(Seed{1}, 640, 8, 1);
  return data.size() > 0 ? 0 : 1;
}
