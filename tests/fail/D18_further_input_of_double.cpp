// SPDX-License-Identifier: MIT
// expect: \[heddle\.D18\] an input has floats, std::int32_t token ids or std::uint8_t bytes\. Fix: give a std::vector of them, and the number of
// elements of a row\.
#include <vector>

#include "heddle/heddle.hpp"
#include "heddle/run/examples.hpp"

using namespace heddle;

#ifdef HEDDLE_REPAIRED
using Number = float;
#else
using Number = double;
#endif

Examples<std::int32_t> of(const std::vector<float>& inputs, const std::vector<std::int32_t>& labels, const std::vector<Number>& second) {
  return examples(inputs, labels, 4).with_input(second, 2);
}
int main() {}
