// SPDX-License-Identifier: MIT
// Room: graph. Dropout: in training each element is 0 with a probability, and divided by that of the others if it stays.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the Spec of the input.  Out: Leaf.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "heddle/graph/leaf.hpp"
#include "heddle/graph/spelled.hpp"

namespace heddle::graph_room {

/// In training y = x / (1 - p) or 0, the latter with probability p = Numerator / Denominator, as torch.nn.Dropout; otherwise y = x. Dropout<1, 10>
/// has p = 0.1. A probability is two whole numbers, since not every compiler takes 0.1 among template arguments. Which elements are 0 follows from
/// the seed of the trainer, the step, the layer and the place of the element in the batch: it is the same on any number of devices, and the backward
/// draws it again instead of keeping it. It is not what PyTorch draws.
///
/// Shape   any (...) stays as it is; any split of its dimensions passes through
/// Errors  G25 if p is not a fraction of two whole numbers, from 0 to below 1
/// Source  sources.md#dropout
/// Tested  graph/layers/dropout_test, compute/eigen/dropout_test, compute/field/dropout_test, golden/dropout_test, equivalence/dropout_test
template <auto Numerator, auto Denominator = 1> struct Dropout {
  using KernelLayer = Dropout;
  static constexpr bool is_fraction = std::integral<std::remove_cv_t<decltype(Numerator)>> && std::integral<std::remove_cv_t<decltype(Denominator)>>;

  /// Elements whose 32 random bits are below it are 0.
  static constexpr std::uint64_t threshold() { return (static_cast<std::uint64_t>(Numerator) << 32U) / static_cast<std::uint64_t>(Denominator); }
  /// 1 / (1 - p)
  static constexpr float scale() { return static_cast<float>(static_cast<double>(Denominator) / static_cast<double>(Denominator - Numerator)); }

  static constexpr Leaf describe(Spec in) {
    Leaf leaf = elementwise("Dropout", in, 2, Saves::nothing);
    leaf.input_part_reads_saved = false;
    if constexpr (!is_fraction) {
      leaf.fault =
          Diagnosis{Code{'G', 25}, "Dropout names a probability that is no fraction of two whole numbers. Fix: write Dropout<1, 10> for 0.1."};
    } else {
      leaf.spelled = graph_room::spelled("Dropout", static_cast<std::int64_t>(Numerator), static_cast<std::int64_t>(Denominator));
      if (Denominator < 1 || Numerator < 0 || Numerator >= Denominator || Denominator > (std::int64_t{1} << 31))
        leaf.fault = Diagnosis{Code{'G', 25}, leaf.spelled.view()}
                     << " has a probability that is not from 0 to below 1. Fix: write a numerator below the denominator: Dropout<1, 10> for 0.1.";
    }
    return leaf;
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Dropout;
}  // namespace heddle
