// SPDX-License-Identifier: MIT
// mistake: a `Batch` that is known at run time only
// compilers: g++ clang++ clang++-14
// errors-g++: 2
// expect-g++: \'rows\' is not a constant expression
// expect-clang: non-type template argument is not a constant expression
#include "heddle/heddle.hpp"

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};

void train([[maybe_unused]] const int rows) {
#ifdef HEDDLE_REPAIRED
  using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Single>;
#else
  using Mine = Plan<Net, CrossEntropy, Adam, Batch<rows>, Single>;
#endif
}
