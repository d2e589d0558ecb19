// SPDX-License-Identifier: MIT
// Room: run. Where the elements of one rank's part lie in the whole tensor, run by run.
// Sees: core/shape, graph/signature.  Does not see: policies, programs, threads.
// In: the shape of the whole, how it lies, a part.  Out: runs of consecutive elements in both.
#pragma once

#include <cstdint>

#include "heddle/core/shape.hpp"
#include "heddle/graph/signature.hpp"

namespace heddle::run_room {

/// Calls visit(offset in the part, offset in the whole, elements) for each run of part `part` of `parts` parts of a tensor: along the dimension that
/// is split, each section of it for itself. What is not split is the whole tensor in one run.
///
/// Tested  run/slices_test
template <class Visit> void each_run(const Shape& whole, Laid how, int parts, int part, Visit visit) {
  if (!how.sharded()) return visit(std::int64_t{0}, std::int64_t{0}, whole.elements());
  const int dimension = how.dimension();
  std::int64_t before = 1;
  std::int64_t after = 1;
  for (int d = 0; d < whole.dimensions; ++d) (d < dimension ? before : after) *= d == dimension ? 1 : whole.sizes[d];
  const std::int64_t row = whole.sizes[dimension] * after;
  const std::int64_t share = row / how.shares();
  std::int64_t here = 0;
  std::int64_t there = 0;
  for (std::int64_t i = 0; i < before; ++i)
    for (int s = 0; s < how.sections(); ++s) {
      const std::int64_t section = s == 0 ? share * how.first() : share;
      visit(here, there + part * (section / parts), section / parts);
      here += section / parts;
      there += section;
    }
}

}  // namespace heddle::run_room
