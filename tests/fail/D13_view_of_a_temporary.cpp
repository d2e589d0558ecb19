// SPDX-License-Identifier: MIT
// expect: \[heddle\.D13\] a view is asked of a temporary and would outlive it\. Fix: give the data set, its order or the file a name first\.
#include "heddle/io/synthetic.hpp"

using namespace heddle;

int main() {
  const auto data = datasets::synthetic(Seed{1}, 4, 4, 2);
  const auto rows = data.shuffled(Seed{1}, 0);
#ifdef HEDDLE_REPAIRED
  const std::span<const std::uint32_t> order = rows.order();
#else
  const std::span<const std::uint32_t> order = data.shuffled(Seed{1}, 0).order();
#endif
  return order.size() == rows.order().size() ? 0 : 1;
}
