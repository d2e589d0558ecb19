// SPDX-License-Identifier: MIT
// Room: cost. What a machine costs: seconds per message, per byte, per floating-point operation.
// Sees: core.  Does not see: plans, processes, threads.
// In: measured or assumed numbers.  Out: Machine.
#pragma once

#include "heddle/core/rooms.hpp"

namespace heddle::cost_room {

/// The alpha-beta model; all in seconds. A machine of zero latency and infinite links shows the shape of a schedule alone. With alpha 50e-6 and beta
/// 1e-9 a message of 1,000 bytes takes 51 microseconds.
/// Source  sources.md#collectives
struct Machine {
  double alpha = 0;     ///< per message
  double beta = 0;      ///< per byte
  double per_flop = 1;  ///< per floating-point operation of one device
};

}  // namespace heddle::cost_room

namespace heddle::extending {
using cost_room::Machine;
}  // namespace heddle::extending
