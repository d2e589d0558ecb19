// SPDX-License-Identifier: MIT
// slow: clang++
// expect: \[heddle\.D13\] a view is asked of a temporary and would outlive it\. Fix: give the data set, its order or the file a name first\.
#include "heddle/io/safetensors.hpp"

using namespace heddle;
using namespace heddle::extending;

int main() {
  const TensorFile file = TensorFile::read("model.safetensors");
#ifdef HEDDLE_REPAIRED
  const auto weight = file.get<float>("weight");
#else
  const auto weight = TensorFile::read("model.safetensors").get<float>("weight");
#endif
  return weight.empty() ? 1 : 0;
}
