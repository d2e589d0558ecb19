// SPDX-License-Identifier: MIT
// expect: \[heddle\.L24\] prove is given a plan with Mixed\.
// expect-g++: prove computes with 31-bit numbers, for which the bfloat16 values of Mixed have no room\. Fix: prove the plan without Mixed
#include "heddle/backend/field_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<7, 5>, ReLU, Linear<5, 3>> {};
template <class... Parts> using Of = Plan<Mlp, CrossEntropy, Adam, Batch<8>, DataParallel<2>, Parts...>;

int main() {
#ifdef HEDDLE_REPAIRED
  return prove<Of<>, extending::FieldThreads>().ok() ? 0 : 1;
#else
  return prove<Of<Mixed<BFloat16>>, extending::FieldThreads>().ok() ? 0 : 1;
#endif
}
