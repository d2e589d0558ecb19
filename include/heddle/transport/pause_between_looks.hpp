// SPDX-License-Identifier: MIT
// Room: transport. How a process waits for another one that it cannot be woken by: it looks, and sleeps in between the longer it has waited.
// Sees: nothing.  Does not see: ranks, messages, MPI.
// In: how long it has waited.  Out: sleep_after, pause_between_looks.
#pragma once

#include <algorithm>
#include <chrono>
#include <thread>

#include "heddle/core/language.hpp"

namespace heddle::transport_room {

/// How long a process that has waited so long for another one sleeps before it looks again; 0: it only lets others have the core.
/// Most waits of a step end while it still looks without a pause. After 2 ms it sleeps for a thousandth of what it has waited, 20 us to 1 ms: it
/// takes a tenth of a core, and less the longer it waits, and sees the other one a few percent later at most. After 50 ms it sleeps 50 us.
///
/// Tested  transport/pause_between_looks_test
[[nodiscard]] constexpr std::chrono::nanoseconds sleep_after(std::chrono::nanoseconds waited) {
  using namespace std::chrono_literals;
  return waited < 2ms ? 0ns : std::clamp<std::chrono::nanoseconds>(waited / 1000, 20us, 1ms);
}

/// Between two looks. Who has waited long is probably waiting for somebody who needs the core, or is gone.
inline void pause_between_looks(std::chrono::nanoseconds waited) {
  const auto pause = sleep_after(waited);
  if (pause.count() > 0)
    std::this_thread::sleep_for(pause);
  else
    std::this_thread::yield();
}

}  // namespace heddle::transport_room
