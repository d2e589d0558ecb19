// SPDX-License-Identifier: MIT
// Whatever is asked of a model, one error says that it is no plan.
// compilers: g++ clang++ clang++-14
// expect: \[heddle\.L06\] A question is asked of what is no plan\.
// expect-g++: Mlp is no Plan, but what a Plan names as its model\. Fix: name the Plan<\.\.\.> itself\.
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Linear<784, 50>, ReLU, Linear<50, 10>> {};

#ifdef HEDDLE_REPAIRED
using Asked = Plan<Mlp, CrossEntropy, Adam, Batch<64>, DataParallel<4>>;
#else
using Asked = Mlp;
#endif

static_assert(devices<Asked> == 4 && peak_memory<Asked>() < 2_MB && peak_memory<Asked>(device<3>) < 2_MB);
static_assert(traffic<Asked>().gradients().on(axis::data).total_payload == 24 * Bytes{39'760});
static_assert(extending::is_reproducible<Asked> && check<Asked>().ok() && extending::lower<Asked>().chunks == 1);
