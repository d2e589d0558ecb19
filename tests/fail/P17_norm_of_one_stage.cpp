// SPDX-License-Identifier: MIT
// expect: \[heddle\.P17\] A norm is not reduced over the axes on which parameters are split\.
// expect-g++: clip is given the norm of one part: it is not yet summed over stage
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// pytorch #170862: each stage of a pipeline clips by its own norm.
#ifdef HEDDLE_REPAIRED
using Norm = Distributed<SquaredNorm>;
#else
using Norm = Distributed<SquaredNorm, Partial<axis::stage>>;
#endif

auto factor(Norm norm) { return clip_factor(norm, 1.0F); }
