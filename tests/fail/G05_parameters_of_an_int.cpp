// SPDX-License-Identifier: MIT
// expect: \[heddle\.G05\] A type is no layer\.
// expect-g++: int is no layer: it is no class\. Fix: name a layer\.
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

#ifdef HEDDLE_REPAIRED
using Asked = Linear<4, 4>;
#else
using Asked = int;
#endif

static_assert(parameters<Asked> == 20 && flops<Asked> > core_room::Flops{0});
static_assert(output_spec<Asked>.shape == Shape{4} && output_spec<Asked> == Spec{Shape{4}});
