// SPDX-License-Identifier: MIT
// Room: core. What Linear(20, 32), Sequential(Linear<20, 32>(), ReLU()) and Batch(64) become: models and plans are types, these are objects.
// Sees: core/language.  Does not see: what is made.
// In: the arguments of a constructor.  Out: L16.
#pragma once

#include <type_traits>

#include "heddle/core/rooms.hpp"

namespace heddle::core_room {

struct AnObject;
/// What is made of an object that was refused adds no error.
template <class... Given> inline constexpr bool is_refused_before = (std::is_base_of_v<AnObject, Given> || ...);

/// Base of the one specialisation of Linear, Sequential, Batch, ... that is deduced from arguments in parentheses. An empty pair of parentheses or
/// braces makes an object of the type that is named before it, which stays what it is.
///
/// Errors  L16
/// Tested  fail/L16_sequential_of_objects, fail/L16_batch_in_parentheses
struct AnObject {
  template <class First, class... More> constexpr explicit AnObject(const First&, const More&...) {
    static_assert(is_refused_before<First, More...>,
                  "[heddle.L16] models and plans are types, but this makes an object. Fix: write < > in place of ( ), as in Linear<20, 32>, "
                  "Sequential<Linear<20, 32>, ReLU> and Batch<64>.");
  }
};

}  // namespace heddle::core_room
