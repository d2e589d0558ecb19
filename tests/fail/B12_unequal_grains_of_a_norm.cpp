// SPDX-License-Identifier: MIT
// expect: \[heddle\.B12\] Two plans do not end with the same bits\.
// expect-g++: no device alone has the numbers of this plan: layer 1 `1` BatchNorm2d<4> normalises the rows of a grain together
// expect-g++: replicas take unequal shares of the batch, so their grains differ\. Fix: compare the plan with DataParallel<2> in the place of
#include "heddle/backend/cpu_threads.hpp"
#include "heddle/heddle.hpp"
#include "heddle/run/verify.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Replicas = DataParallel<2>;
#else
using Replicas = WeightedDataParallel<3, 1>;
#endif
struct Net : Sequential<Input<4, 2, 2>, BatchNorm2d<4>, Flatten, Linear<16, 4>> {};
using Trained = Plan<Net, CrossEntropy, SGD, Batch<8>, Replicas>;

void compare(const Examples<std::int32_t>& batch) { (void)verify<Trained, CpuThreads>(batch); }
