// SPDX-License-Identifier: MIT
// mistake: `ProofOptions` without `using namespace heddle::extending`
// compilers: g++ clang++ clang++-14
// slow: clang++-14
// expect: ProofOptions
#include "heddle/backend/field_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
#ifdef HEDDLE_REPAIRED
using namespace heddle::extending;
#else

#endif

struct Net : Sequential<Linear<3, 4>, ReLU, Linear<4, 2>> {};
using Mine = Plan<Net, CrossEntropy, Adam, Batch<4>, Single>;
int main() { return prove<Mine>(ProofOptions{.seed = Seed{2}}) ? 0 : 1; }
