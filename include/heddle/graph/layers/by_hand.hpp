// SPDX-License-Identifier: MIT
// Room: graph. Column<L> and Row<L>: a layer that must be split in one way wherever layers are split.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: a layer.  Out: the same layer with one signature left.
#pragma once

#include <string_view>
#include <type_traits>

#include "heddle/core/type_name.hpp"
#include "heddle/graph/layer.hpp"

namespace heddle::graph_room {

/// A leaf with those signatures alone that split what is wanted. Errors  P02 if it has none
[[nodiscard]] constexpr Leaf keep_signatures(Leaf leaf, bool columns) {
  int count = 0;
  for (int i = 0; i < leaf.signature_count; ++i) {
    const Signature s = leaf.signatures[i];
    const bool by_rows = s.output.partial() && (s.input.sharded() || leaf.vocabulary > 0);  // of a table: no rank has a part of the ids
    if (columns ? s.input.replicated() && s.output.sharded() : by_rows) leaf.signatures[count++] = s;
  }
  leaf.signature_count = static_cast<std::int8_t>(count);
  leaf.by_hand = true;
  if (count == 0 && leaf.fault.ok())
    leaf.fault = Diagnosis{Code{'P', 2}, leaf.spelled.view()} << " cannot be split by " << (columns ? "columns" : "rows")
                                                              << ": it states no such signature. Fix: let the policy choose.";
  return leaf;
}

/// A layer that can be split by itself; what places other layers is split layer by layer.
template <class L>
concept SplitByHand = std::is_class_v<L> && DescribesLeaf<L> && !Composite<L>;
/// Stands for Column or Row of anything else. Errors  G25
[[nodiscard]] constexpr Leaf nothing_to_split(std::string_view kind, std::string_view of, const Spec& in) {
  Leaf leaf;
  leaf.kind << kind;
  leaf.spelled << kind << '<' << of << '>';
  leaf.in = leaf.out = in;
  leaf.fault = Diagnosis{Code{'G', 25}, leaf.spelled.view()} << " is to split what is no single layer. Fix: write " << kind
                                                             << " around a layer such as Linear<64, 10>.";
  return leaf;
}

/// L split by its outputs: every rank takes the whole input and gives a part of the features.
///
/// Shape   input (B, In) Replicate, output (B, Out/N) on each of N ranks of axis tensor; without TensorParallel the same as L
/// Errors  P01 if N does not divide, P02 if L states no such split
/// Tested  graph/layers/by_hand_test, policy/tensor_parallel_test
template <class L> struct Column {
  static constexpr Leaf describe(Spec in) { return nothing_to_split("Column", type_name<L>().view(), in); }
};
template <SplitByHand L> struct Column<L> : L {
  using KernelLayer = typename KernelLayerOf<L>::type;
  static constexpr Leaf describe(Spec in) { return keep_signatures(L::describe(in), true); }
};

/// L split by its inputs: every rank takes a part of the features and gives one term of the output; of a whole input it takes its part. Of an
/// Embedding every rank has a part of the vocabulary and takes all ids.
///
/// Shape   input (B, In/N), output (B, Out) Partial, summed at once
/// Errors  P01 if N does not divide, P02 if L states no such split
/// Tested  graph/layers/by_hand_test, policy/tensor_parallel_test
template <class L> struct Row {
  static constexpr Leaf describe(Spec in) { return nothing_to_split("Row", type_name<L>().view(), in); }
};
template <SplitByHand L> struct Row<L> : L {
  using KernelLayer = typename KernelLayerOf<L>::type;
  static constexpr Leaf describe(Spec in) { return keep_signatures(L::describe(in), false); }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Column, graph_room::Row;
}  // namespace heddle
