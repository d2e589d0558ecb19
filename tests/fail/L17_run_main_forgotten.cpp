// SPDX-License-Identifier: MIT
// expect: \[heddle\.L17\] run_main\(\) stands in a header that is not included\. Fix: add #include <heddle/run/run_main\.hpp>
#include "heddle/heddle.hpp"
#ifdef HEDDLE_REPAIRED
#include "heddle/run/run_main.hpp"
#else

#endif

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;
using Spread = Plan<Net, CrossEntropy, Adam, Batch<64>, DataParallel<2>>;

int main() {
  int devices_told = devices<Spread>;
  return run_main([&] { return devices_told - 2; }, {.program = "mine"});
}
