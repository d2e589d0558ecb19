// SPDX-License-Identifier: MIT
// expect: \[heddle\.P14\] A value is not whole where a whole one is taken\.
// expect-g++: a function of plain numbers takes a whole value, but this one is a sum over data that is not yet taken\. Fix: call
// all_reduce<axis::data> first\.
#include <cmath>

#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

#ifdef HEDDLE_REPAIRED
using Loss = Distributed<float, Sum<axis::data>>;
#else
using Loss = Distributed<float, Partial<axis::data>>;
#endif
float entropy(Loss loss) { return std::log(loss); }
