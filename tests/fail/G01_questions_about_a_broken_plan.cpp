// SPDX-License-Identifier: MIT
// Whatever is asked of a broken plan, its refusal stays one error under 15 lines: questions lead straight to the rule, not through the plan.
// compilers: g++ clang++ clang++-14 nvcc
// slow: nvcc
// expect: \[heddle\.G01\] A layer takes another shape than the layer before it gives\.
// expect-g++: layer 2 `linear2`: Linear<60, 10> takes 60 features
#include "heddle/heddle.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Head = Linear<50, 10>;
#else
using Head = Linear<60, 10>;
#endif

struct Mlp : Sequential<Named<"linear1", Linear<784, 50>>, ReLU, Named<"linear2", Head>> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, DataParallel<4>>;
using Applied = Inference<Mlp, Batch<64>, DataParallel<4>>;

static_assert(devices<Trained> == 4);
static_assert(peak_memory<Trained>() < 2_MB && peak_memory<Trained>(device<1>) < 2_MB);
static_assert(traffic<Trained>().gradients().on(axis::data).moved_per_rank() < 2_MB && traffic<Trained>().messages() > 0);
static_assert(extending::lower<Trained>().roles == 1 && extending::is_reproducible<Trained>);
static_assert(devices<Applied> == 4 && peak_memory<Applied>() < 2_MB);
static_assert(parameters<Mlp> > 39'000 && check<Plan<Mlp, CrossEntropy, Adam, Batch<64>, Single>>().number_count < 4);
