// SPDX-License-Identifier: MIT
// Room: compute. Concat in the field: the very elements, moved.
// Sees: graph/layers/concat, seams/concepts, compute/field.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: FieldKernel<ConcatAlong>.
#pragma once

#include <cstdint>

#include "heddle/compute/field/field.hpp"
#include "heddle/graph/layers/concat.hpp"

namespace heddle::compute_room {

/// Element by element, by the place that it has in both: not the loops of the kernel that trains.
///
/// Law     what is joined is a part of the whole for any split of another dimension
/// Tested  compute/field/concat_test
template <int D> struct FieldConcat {
  static constexpr bool of_heddle = true;

  static void forward(const ForwardCall& call) {
    each(*call.leaf, call.rows,
         [&](std::int64_t joined, bool second, std::int64_t apart) { call.output[joined] = second ? call.second[apart] : call.input[apart]; });
  }
  static void backward(const BackwardCall& call) {
    if (call.input_gradient == nullptr) return;
    each(*call.leaf, call.rows, [&](std::int64_t joined, bool second, std::int64_t apart) {
      if (second == (call.operand == 1)) call.input_gradient[apart] = call.output_gradient[joined];
    });
  }

 private:
  /// Calls visit(number in the whole, whether it is of the second value, number there) for each element of the output.
  template <class Visit> static void each(const Leaf& leaf, std::int64_t rows, const Visit& visit) {
    const int along = graph_room::ConcatAlong<D>::dimension(leaf.out.shape);
    std::int64_t inner = 1;  // elements from one place along the dimension to the next
    for (int d = along + 1; d < leaf.out.shape.dimensions; ++d) inner *= leaf.out.shape.sizes[d];
    const std::int64_t all = leaf.out.shape.sizes[along], before = leaf.in.shape.sizes[along];
    for (std::int64_t i = 0; i < rows * leaf.out.elements(); ++i) {
      const std::int64_t place = i / inner % all;
      const bool second = place >= before;
      const std::int64_t own = second ? all - before : before;
      visit(i, second, (i / inner / all * own + (second ? place - before : place)) * inner + i % inner);
    }
  }
};

}  // namespace heddle::compute_room

namespace heddle {

template <int D> struct FieldKernel<graph_room::ConcatAlong<D>> : compute_room::FieldConcat<D> {};

}  // namespace heddle
