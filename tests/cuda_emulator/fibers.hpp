// SPDX-License-Identifier: MIT
// Room: tests. Fibers: functions with stacks of their own, of which one runs at a time on a thread of the host.
// Sees: nothing.  Does not see: kernels, cards.
// In: a function.  Out: Fiber, fiber, go_on, pause, abandon.
#pragma once

#include <cstddef>

namespace cuda_emulator {

struct Fiber;

/// The fiber with this number of the calling thread: fiber(0) is made when it is first asked for and used again for ever.
[[nodiscard]] Fiber& fiber(std::size_t number);
/// What the fiber does the next time that it goes on; it has ended what it did before.
void give(Fiber& fiber, void (*body)(void*), void* argument);
/// Runs the fiber until it pauses or its body has returned.
void go_on(Fiber& fiber);
/// Called by a body: back to whoever let it go on.
void pause_fiber();
/// The fiber paused and never goes on: it begins anew with what it is given next.
void abandon(Fiber& fiber);

}  // namespace cuda_emulator
