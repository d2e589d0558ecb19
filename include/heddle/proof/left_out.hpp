// SPDX-License-Identifier: MIT
// Room: proof. Targets of a draw that the loss leaves out.
// Sees: graph/loss.  Does not see: plans, threads, any backend.
// In: which targets a loss counts, a target that was drawn.  Out: or_left_out.
#pragma once

#include <cstdint>

#include "heddle/graph/loss.hpp"

namespace heddle::proof_room {

/// Target `i` of a draw: of a loss that leaves targets out every fourth is one of these, but not the first, since a step needs one that counts.
///
/// Tested  proof/left_out_test
template <class LeavesOut> [[nodiscard]] std::int32_t or_left_out(LeavesOut leaves_out, std::int64_t i, std::int64_t label) {
  for (std::int32_t target = -1; i % 4 == 3 && target > -4096; --target)
    if (leaves_out(target)) return target;
  return static_cast<std::int32_t>(label);
}

}  // namespace heddle::proof_room
