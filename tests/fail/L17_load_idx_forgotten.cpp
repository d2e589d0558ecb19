// SPDX-License-Identifier: MIT
// expect: \[heddle\.L17\] datasets::load_idx\(\) stands in a header that is not included\. Fix: add #include <heddle/io/gzip\.hpp>, which needs zlib
// \(-lz\)\.
#include "heddle/heddle.hpp"
#ifdef HEDDLE_REPAIRED
#include "heddle/io/gzip.hpp"
#else

#endif

using namespace heddle;

int main() {
  auto data = datasets::load_idx("/usr/share/datasets/fashion-mnist");
  return data.size() > 0 ? 0 : 1;
}
