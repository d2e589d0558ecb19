// SPDX-License-Identifier: MIT
// What a step of a broken plan would take is asked in vain, and its refusal stays one error.
// expect: \[heddle\.G01\] A layer takes another shape than the layer before it gives\.
// expect-g++: layer 2 `2`: Linear<60, 10> takes 60 features
#include "heddle/cost/simulate.hpp"
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

#ifdef HEDDLE_REPAIRED
using Head = Linear<50, 10>;
#else
using Head = Linear<60, 10>;
#endif

struct Mlp : Sequential<Linear<784, 50>, ReLU, Head> {};
using Trained = Plan<Mlp, CrossEntropy, Adam, Batch<64>, DataParallel<4>>;

static_assert(bubble<Trained>(Machine{}) < 0.2 && step_seconds<Trained>(Machine{}) > 7);
double seconds() { return simulate(Trained::training, Machine{}).step.value; }
