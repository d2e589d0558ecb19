// SPDX-License-Identifier: MIT
// expect: \[heddle\.P17\] A norm is not reduced over the axes on which parameters are split\.
// expect-g++: clip is given float as the norm, which does not say over which axes it was taken
#include <vector>

#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

// RLinf PR #1558: a norm that is too small by the square root of the number of ranks.
auto clipped(const Distributed<std::vector<float>, Replicate>& gradients) {
#ifdef HEDDLE_REPAIRED
  return clip(gradients, squared_norm(gradients), 1.0F);
#else
  return clip(gradients, 0.5F, 1.0F);
#endif
}
