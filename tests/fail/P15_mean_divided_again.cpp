// SPDX-License-Identifier: MIT
// expect: \[heddle\.P15\] A sum is taken for a mean, or has the wrong divisor\.
// expect-g++: Mean<data> is divided by Sum<data>: along data that is the wrong divisor
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// Megatron-LM #906: divided twice.
#ifdef HEDDLE_REPAIRED
using Loss = Distributed<float, Sum<axis::data>>;
#else
using Loss = Distributed<float, Mean<axis::data>>;
#endif

auto mean(Loss loss, Distributed<float, Sum<axis::data>> tokens) { return loss / tokens; }
