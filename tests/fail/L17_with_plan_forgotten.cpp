// SPDX-License-Identifier: MIT
// expect: \[heddle\.L17\] with_plan\(\) stands in a header that is not included\. Fix: add #include <heddle/run/with_plan\.hpp>
#include "heddle/heddle.hpp"
#ifdef HEDDLE_REPAIRED
#include "heddle/run/with_plan.hpp"
#else

#endif

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;
using Spread = Plan<Net, CrossEntropy, Adam, Batch<64>, DataParallel<2>>;

using Set = PlanSet<Mine, Spread>;

int main() {
  return with_plan<Set>(2, [](auto plan) { return devices<decltype(plan)>; });
}
