// SPDX-License-Identifier: MIT
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.L17\] summary\(\) stands in a header that is not included\. Fix: add #include <heddle/report/summary\.hpp>
#include "heddle/heddle.hpp"
#ifdef HEDDLE_REPAIRED
#include "heddle/report/summary.hpp"
#else

#endif
#include <cstdio>
#include <iostream>
#include <string>

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;
using Spread = Plan<Net, CrossEntropy, Adam, Batch<64>, DataParallel<2>>;

int main() {
  std::cout << summary<Mine>() << summary<Mine>().size();
  const std::string text = summary<Mine>();
  return std::puts(summary<Mine>().c_str()) < static_cast<int>(text.size());
}
