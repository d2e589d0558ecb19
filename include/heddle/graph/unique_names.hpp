// SPDX-License-Identifier: MIT
// Room: graph. No two layers with parameters have the same name, however their names came about.
// Sees: core, graph/graph, graph/named.  Does not see: policies, devices, memory.
// In: traced leaves.  Out: ok, or G04 with both layers.
#pragma once

#include <cstddef>
#include <string_view>

#include "heddle/core/rule.hpp"
#include "heddle/graph/graph.hpp"
#include "heddle/graph/named.hpp"

namespace heddle::graph_room {

/// G04: two of the leaves with parameters have one path, as where a type says another label than it is traced by. `Most` leaves have room. Layers
/// without parameters are in no state_dict: the ReLUs of two Unnumbered parts may both be '1'.
/// Tested  graph/unique_names_test
template <int Most> [[nodiscard]] constexpr Diagnosis check_unique_names(const TracedLeaf* leaves, int count) {
  std::string_view paths[std::size_t{Most + 1}]{};
  bool wanted[std::size_t{Most + 1}]{};
  for (int i = 0; i < count; ++i) {
    paths[i] = leaves[i].path.view();
    wanted[i] = leaves[i].leaf.parameter_count > 0;
  }
  int earlier = 0;
  const int twice = SortedLabels<Most>{paths, wanted}.first_twice(earlier);
  if (twice < 0) return {};
  return Diagnosis{Code{'G', 4}, ""} << "two layers are named '" << paths[twice] << "' in a state_dict: " << leaves[earlier].leaf.spelled.view()
                                     << " and " << leaves[twice].leaf.spelled.view() << ". Fix: rename one of them.";
}

}  // namespace heddle::graph_room
