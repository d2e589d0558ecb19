// SPDX-License-Identifier: MIT
// expect: \[heddle\.P15\] A sum is taken for a mean, or has the wrong divisor\.
// expect-g++: along context that is the wrong divisor
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// Megatron-LM #673: a loss divided by a count that was also summed over the context ranks.
#ifdef HEDDLE_REPAIRED
using Tokens = Distributed<float, Sum<axis::data>>;
#else
using Tokens = Distributed<float, Sum<axis::data, axis::context>>;
#endif

auto mean(Distributed<float, Sum<axis::data>> loss, Tokens tokens) { return loss / tokens; }
