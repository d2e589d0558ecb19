// SPDX-License-Identifier: MIT
// expect: \[heddle\.C01\] A stage needs more memory than the plan allows\.
// expect-g++: stage 0 needs [0-9,]+ bytes, the plan allows 1000 bytes\.
#include "heddle/heddle.hpp"

#include "heddle/cost/search/auto_plan.hpp"

using namespace heddle;
using namespace heddle::extending;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};
struct Cluster {
  static constexpr Machine machine{.per_flop = 1e-9};
};

#ifdef HEDDLE_REPAIRED
using Trained = Auto<ForDevices<2>, Cluster, Mlp, CrossEntropy, Adam, Batch<64>, Memory<2_MB>>;
#else
using Trained = Auto<ForDevices<2>, Cluster, Mlp, CrossEntropy, Adam, Batch<64>, Memory<1_KB>>;
#endif
static_assert(devices<Trained> == 2);
