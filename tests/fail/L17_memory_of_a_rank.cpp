// SPDX-License-Identifier: MIT
// expect: \[heddle\.L17\] peak_memory\(\) of a Rank stands in a header that is not included\. Fix: add #include <heddle/run/by_rank\.hpp>
#include "heddle/heddle.hpp"
#ifdef HEDDLE_REPAIRED
#include "heddle/run/by_rank.hpp"
#else

#endif

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;
using Spread = Plan<Net, CrossEntropy, Adam, Batch<64>, DataParallel<2>>;

static_assert(peak_memory<Spread>(Rank{1}) > 0_B);
int main() { return peak_memory<Spread>(Rank{1}) == peak_memory<Spread>() ? 0 : 1; }
