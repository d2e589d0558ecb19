// SPDX-License-Identifier: MIT
// Room: graph. A name for a layer: its parameters are called "name.weight" instead of "2.weight".
// Sees: core.  Does not see: policies, devices, memory.
// In: a name and a layer type.  Out: Named<"linear1", L>.
#pragma once

#include <string_view>

#include "heddle/core/text.hpp"

namespace heddle::inline graph_room {

/// Names L as a state_dict does.
///
/// Errors  G04 at build if a name is empty, contains a dot or a star, or stands twice among its siblings
/// Tested  graph/named_test
template <Name Label, class L> struct Named {
  static constexpr bool is_composite = true;
  static constexpr auto label = Label;
  template <class Tracer> static constexpr int trace(Tracer& tracer, int value) { return tracer.template named<L>(Label.view(), value); }
};

/// The name of a layer type, empty if it has none.
template <class L> [[nodiscard]] constexpr std::string_view label_of() {
  if constexpr (requires { L::label.view(); })
    return L::label.view();
  else
    return {};
}

/// Can stand in a state_dict, whose names are joined by dots; a star stands for the number of a repetition.
[[nodiscard]] constexpr bool is_name(std::string_view label) { return !label.empty() && label.find_first_of(".*") == std::string_view::npos; }

/// True for "2" and 2: how a sibling without a name would be called.
[[nodiscard]] constexpr bool is_number(std::string_view label, int number) {
  Text<12> digits;
  digits << number;
  return digits.view() == label;
}

}  // namespace heddle::inline graph_room
