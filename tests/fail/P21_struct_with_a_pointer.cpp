// SPDX-License-Identifier: MIT
// expect: \[heddle\.P21\] A view is given where numbers are to be held\.
// expect-g++: Distributed is given Gradient, which holds no numbers but looks at those of others
#include <array>
#include <cstddef>

#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

struct Gradient {
  int layer = 0;
#ifdef HEDDLE_REPAIRED
  std::array<float, 4> values{};
#else
  float* values = nullptr;
#endif
};
const Distributed<Gradient, Partial<axis::data>> gradient{Gradient{}};
