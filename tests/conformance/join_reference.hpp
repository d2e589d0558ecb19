// SPDX-License-Identifier: MIT
// Room: tests. What joins two values, index by index.
// Sees: tests/conformance/reference.  Does not see: which backend is tested.
// In: a leaf of two operands with its tensors.  Out: Results.
#pragma once

#include "conformance/reference.hpp"

namespace conformance {

/// Each element goes where its place along the dimension says: those of the second value stand behind those of the first.
template <int D> struct SlowConcat {
  static Leaf leaf(Sizes& sizes) {
    Shape first;
    for (std::int64_t d = 0, all = (D < 0 ? 1 : D + 1) + sizes.below(2); d < all; ++d) first.append(1 + sizes.below(6));
    const int along = ConcatAlong<D>::dimension(first);
    if (along + 1 == first.dimensions) first.sizes[along] = sizes.features();
    Shape second = first;
    second.sizes[along] = sizes.below(2) == 0 ? first.sizes[along] : sizes.features(70);
    return ConcatAlong<D>::describe(Spec{first}, Spec{second});
  }
  static Results run(const Tensors& t, Precision) {
    Results r;
    const int along = ConcatAlong<D>::dimension(t.leaf.in.shape);
    std::int64_t outer = t.rows, inner = 1;
    for (int d = 0; d < along; ++d) outer *= t.leaf.in.shape.sizes[d];
    for (int d = along + 1; d < t.leaf.in.shape.dimensions; ++d) inner *= t.leaf.in.shape.sizes[d];
    const std::int64_t n = t.leaf.in.shape.sizes[along], m = t.leaf.other.shape.sizes[along];
    for (std::int64_t o = 0; o < outer; ++o)
      for (std::int64_t k = 0; k < n + m; ++k)
        for (std::int64_t i = 0; i < inner; ++i) {
          r.output.push_back({k < n ? t.x((o * n + k) * inner + i) : t.also((o * m + k - n) * inner + i), 0});
          (k < n ? r.input_gradient : r.second_gradient).push_back({t.dy((o * (n + m) + k) * inner + i), 0});
        }
    return r;
  }
};
template <int D> struct Slow<ConcatAlong<D>> : SlowConcat<D> {};
template <> struct Slow<Concat> : SlowConcat<graph_room::last_dimension> {};

}  // namespace conformance
