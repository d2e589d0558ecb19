// SPDX-License-Identifier: MIT
// mistake: the header of `prove()` is not included
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.L17\] prove\(\) stands in a header that is not included\. Fix: add #include <heddle/backend/field_threads\.hpp>\.
#include "heddle/heddle.hpp"
#ifdef HEDDLE_REPAIRED
#include "heddle/backend/field_threads.hpp"
#else

#endif

using namespace heddle;

struct Model : Sequential<Linear<20, 64>, ReLU, Linear<64, 10>> {};
using Mine = Plan<Model, CrossEntropy, Adam, Batch<8>, DataParallel<2>>;

int main() {
  const auto proof = prove<Mine>({.seed = Seed{3}});
  if (!proof.ok() || !proof.bounded() || proof.draws < 1) return 1;
  return proof ? 0 : static_cast<int>(proof.line().size());
}
