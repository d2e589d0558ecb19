// SPDX-License-Identifier: MIT
// Room: io. Refuses a view of a temporary: the numbers would be gone with the next line.
// Sees: core/language.  Does not see: every other room.
// In: whether what is seen lives.  Out: D13.
#pragma once

#include "heddle/core/rooms.hpp"

namespace heddle::io_room {

/// D13: called by the overload for temporaries of what gives a view, with Lives false; never instantiated but by such a call.
///
/// Tested  io/temporary_view_test, fail/D13_view_of_a_temporary, fail/D13_tensor_of_a_temporary_file
template <bool Lives> constexpr void view_of_a_temporary() {
  static_assert(Lives,
                "[heddle.D13] a view is asked of a temporary and would outlive it. Fix: give the data set, its order or the file a name first.");
}

}  // namespace heddle::io_room
