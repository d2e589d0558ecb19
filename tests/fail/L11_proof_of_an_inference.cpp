// SPDX-License-Identifier: MIT
// compilers: g++ clang++ nvcc
// slow: nvcc
// expect: \[heddle\.L11\] An Inference trains nothing\.
// expect-g++: prove is given an Inference, which makes no step\. Fix: give it the Plan that trains the model\.
#include "heddle/backend/field_threads.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;

struct Model : Sequential<Linear<20, 16>, ReLU, Linear<16, 10>> {};
#ifdef HEDDLE_REPAIRED
using Mine = Plan<Model, CrossEntropy, Adam, Batch<8>, DataParallel<2>>;
#else
using Mine = Inference<Model, Batch<8>, DataParallel<2>>;
#endif

int main() { return prove<Mine>() ? 0 : 1; }
