// SPDX-License-Identifier: MIT
// expect: \[heddle\.G26\] A model has no parameter of this name\.
// expect-g++: Mlp has no parameter `linear1\.wieght`; nearest: `linear1\.weight`\. Fix: name a parameter of its state_dict
#include "heddle/heddle.hpp"

using namespace heddle;

struct Mlp : Sequential<Named<"linear1", Linear<784, 50>>, ReLU, Named<"linear2", Linear<50, 10>>> {};

#ifdef HEDDLE_REPAIRED
static_assert(extending::parameter_shape<Mlp, "linear1.weight"> == extending::Shape{50, 784});
#else
static_assert(extending::parameter_shape<Mlp, "linear1.wieght"> == extending::Shape{50, 784});
#endif
