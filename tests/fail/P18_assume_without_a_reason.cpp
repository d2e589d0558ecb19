// SPDX-License-Identifier: MIT
// expect: \[heddle\.P18\] A collective is called with something that it cannot work on\.
// expect-g++: assume_reduced has no reason. Fix: say in a literal why the sum is taken already
#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

auto loss(Distributed<float, Partial<axis::data>> local) {
#ifdef HEDDLE_REPAIRED
  return assume_reduced<axis::data>(local, "the loss of the vendor library is reduced inside");
#else
  return assume_reduced<axis::data>(local);
#endif
}
