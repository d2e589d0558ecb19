// SPDX-License-Identifier: MIT
// Room: run. Where the elements of one rank's part lie in the whole tensor, run by run.
// Sees: core/shape.  Does not see: policies, programs, threads.
// In: the shape of the whole, a dimension, a part.  Out: runs of consecutive elements in both.
#pragma once

#include <cstdint>

#include "heddle/core/shape.hpp"

namespace heddle::run_room {

/// Calls visit(offset in the part, offset in the whole, elements) for each run of part `part` of `parts` equal parts along `dimension`.
/// A dimension below 0 is the whole tensor in one run.
///
/// Tested  run/slices_test
template <class Visit> void each_run(const Shape& whole, int dimension, int parts, int part, Visit visit) {
  if (dimension < 0) return visit(std::int64_t{0}, std::int64_t{0}, whole.elements());
  std::int64_t before = 1;
  std::int64_t after = 1;
  for (int d = 0; d < whole.dimensions; ++d) (d < dimension ? before : after) *= d == dimension ? 1 : whole.sizes[d];
  const std::int64_t row = whole.sizes[dimension] * after;
  const std::int64_t own = row / parts;
  for (std::int64_t i = 0; i < before; ++i) visit(i * own, i * row + part * own, own);
}

}  // namespace heddle::run_room
