// SPDX-License-Identifier: MIT
// mistake: `peak_memory<Mine>(r)` with a plain number
// expect: \[heddle\.L07\] a device is asked for by a plain number\. Fix: write Rank\{r\}, or device<0> if the number is known at build\.
#include "heddle/backend/cpu_threads.hpp"

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, DataParallel<2>>;

int main() {
  for (int r = 0; r < devices<Mine>; ++r)
#ifdef HEDDLE_REPAIRED
    if (peak_memory<Mine>(Rank{r}) > 2_MiB) return 1;
#else
    if (peak_memory<Mine>(r) > 2_MiB) return 1;
#endif
}
