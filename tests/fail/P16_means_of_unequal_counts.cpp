// SPDX-License-Identifier: MIT
// expect: \[heddle\.P16\] A mean of means does not weigh its rows equally\.
// expect-g++: means of 32 and 16 rows are averaged as if they had as many
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// transformers #34191: gradient accumulation as the mean of the means of micro-batches.
#ifdef HEDDLE_REPAIRED
using Last = MeanOf<32>;
#else
using Last = MeanOf<16>;
#endif

auto both(MeanOf<32> first, Last last) { return average(first, last); }
