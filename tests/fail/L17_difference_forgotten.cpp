// SPDX-License-Identifier: MIT
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.L17\] difference\(\) stands in a header that is not included\. Fix: add #include <heddle/report/difference\.hpp>
#include "heddle/heddle.hpp"
#ifdef HEDDLE_REPAIRED
#include "heddle/report/difference.hpp"
#else

#endif
#include <cstdio>

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;
using Spread = Plan<Net, CrossEntropy, Adam, Batch<64>, DataParallel<2>>;

static_assert(difference<Mine, Spread>().devices() == 1 && difference<Mine, Spread>().moved() > 0_B);

int main() { return std::puts(difference<Mine, Spread>().text().c_str()); }
