// SPDX-License-Identifier: MIT
// mistake: `Pipeline<2, ...>` for `Pipeline<Balanced<2>, ...>`
// compilers: g++ clang++ clang++-14
// errors-g++: 2
// expect-g++: 'template<class \.\.\. PartsSuchAsBalanced2> struct heddle::policy_room::Pipeline'
// expect-clang: // types: Balanced<2>, not 2
#include "heddle/heddle.hpp"

using namespace heddle;

struct Net : Sequential<Linear<20, 32>, ReLU, Linear<32, 4>> {};
#ifdef HEDDLE_REPAIRED
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>>;
#else
using Mine = Plan<Net, CrossEntropy, Adam, Batch<64>, Pipeline<2, OneFOneB, Microbatches<4>>>;
#endif
