// SPDX-License-Identifier: MIT
// Room: graph. Which element types a leaf may take and give: numbers, token ids that are looked up, bytes that are rescaled.
// Sees: core, graph/leaf.  Does not see: policies, devices, memory.
// In: a Leaf.  Out: ok, or G18, G23 in words that begin with the layer.
#pragma once

#include "heddle/core/rule.hpp"
#include "heddle/graph/leaf.hpp"

namespace heddle::graph_room {

/// Ends the sentence of a layer that computes with bytes or token ids, in G18.
[[nodiscard]] constexpr Diagnosis reads_no_numbers(const Diagnosis& layer, ElementType type) {
  return Diagnosis{layer} << " reads numbers, but what it reads are "
                          << (type == ElementType::uint8
                                  ? "bytes, which another layer rescales. Fix: let it stand behind a Rescaling."
                                  : "token ids, which another layer looks up. Fix: let it stand behind a layer that looks them up.");
}

/// G18: a function of each element is described for bytes or token ids, as what it reads has them; G23: a lookup of no ids, ids that nobody looks up,
/// or an output that is no number; a row of padding that a table has not.
///
/// Tested  graph/type_rules_test
[[nodiscard]] constexpr Diagnosis check_types(const Leaf& leaf) {
  const auto broken = [&](int number) { return Diagnosis{Code{'G', number}, leaf.spelled.view()}; };
  if (leaf.reshapes) return {};
  if (leaf.elementwise && leaf.in.type != ElementType::float32 && leaf.vocabulary == 0) return reads_no_numbers(broken(18), leaf.in.type);
  if (leaf.vocabulary > 0 && leaf.in.type != ElementType::int32)
    return broken(23) << " looks up ids of " << leaf.vocabulary << " tokens, but takes " << name_of(leaf.in.type)
                      << ". Fix: write leaf.in.type = ElementType::int32.";
  if (leaf.vocabulary <= 0 && leaf.in.type == ElementType::int32)
    return broken(23) << " takes int32, but looks nothing up. Fix: say how many ids there are in leaf.vocabulary, or take float32.";
  for (int p = 0; p < leaf.parameter_count; ++p)
    if (const Parameter& here = leaf.parameters[p]; here.padding_row != -1 && (here.padding_row < 0 || here.padding_row >= here.shape.sizes[0]))
      return broken(23) << " says that row " << here.padding_row << " of '" << here.name.view() << "' is of padding, which has "
                        << here.shape.sizes[0] << " rows. Fix: name one from 0 to " << here.shape.sizes[0] - 1 << ", or -1 for none.";
  if (leaf.out.type != ElementType::float32)
    return broken(23) << " says that it gives " << name_of(leaf.out.type) << ", but layers compute float32. Fix: give float32.";
  return {};
}

}  // namespace heddle::graph_room
