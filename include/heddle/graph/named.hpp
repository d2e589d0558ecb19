// SPDX-License-Identifier: MIT
// Room: graph. A name for a layer: its parameters are called "name.weight" instead of "2.weight".
// Sees: core.  Does not see: policies, devices, memory.
// In: a name and a layer type.  Out: Named<"linear1", L>.
#pragma once

#include "heddle/core/text.hpp"

namespace heddle::inline graph {

/// Names L as a state_dict does.
///
/// Errors  G04 at build if a name is empty, contains a dot or a star, or stands twice among its siblings
/// Tested  graph/named_test
template <Name Label, class L> struct Named {
  static constexpr bool is_composite = true;
  static constexpr auto label = Label;
  template <class Tracer> static constexpr int trace(Tracer& tracer, int value) {
    return tracer.template named<L>(Label.view(), value);
  }
};

}  // namespace heddle::inline graph
