// SPDX-License-Identifier: MIT
// expect: \[heddle\.P21\] A view is given where numbers are to be held\.
// expect-g++: Distributed is given span<float(, [0-9]+)?>, which holds no numbers but looks at those of others: a collective would change them
#include <span>
#include <vector>

#include "heddle/heddle.hpp"

using namespace heddle;
using namespace heddle::extending;

#ifdef HEDDLE_REPAIRED
using Buffer = std::vector<float>;
#else
using Buffer = std::span<float>;
#endif
auto norms(Communicator auto& comm, const Distributed<Buffer, Partial<axis::data>>& gradient) {
  const auto once = all_reduce<axis::data>(comm, gradient);
  return once.value()[0] + all_reduce<axis::data>(comm, gradient).value()[0];
}
const Distributed<Buffer, Partial<axis::data>> gradient{Buffer{}};
