// SPDX-License-Identifier: MIT
// Room: cost. Bytes of parameters, gradients and optimizer states per device, by the formulas of ZeRO.
// Sees: policy/layout.  Does not see: programs, processes, kernels.
// In: bytes per parameter of each kind, elements, ranks, what is sliced.  Out: bytes.
#pragma once

#include "heddle/policy/layout.hpp"

namespace heddle::cost_room {

/// Bytes that training keeps of one parameter. Float32 with Adam keeps 4 + 4 + 8 = 16 bytes.
struct BytesPerParameter {
  double parameters = 4;
  double gradients = 4;
  double states = 8;
};

/// float32 throughout: Adam keeps two moments.
inline constexpr BytesPerParameter full_precision_adam{4, 4, 8};
/// 16-bit parameters and gradients; float32 parameters and two moments with the optimizer (K = 12).
inline constexpr BytesPerParameter mixed_precision_adam{2, 2, 12};

/// Bytes of one of `ranks` devices that slice `what` between them.
///
/// Errors  none
/// Source  sources.md#zero
/// Tested  oracle/zero_test
[[nodiscard]] constexpr double model_state_bytes(const BytesPerParameter& kinds, double elements, int ranks, const Sharding& what) {
  const auto kept = [&](double bytes, bool sliced) { return bytes * elements / (sliced ? ranks : 1); };
  return kept(kinds.parameters, what.parameters) + kept(kinds.gradients, what.gradients) + kept(kinds.states, what.states);
}

}  // namespace heddle::cost_room
