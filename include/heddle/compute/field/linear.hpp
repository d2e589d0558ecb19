// SPDX-License-Identifier: MIT
// Room: compute. Linear in the field: the same products and sums, modulo a prime.
// Sees: graph/layers/linear, seams/concepts, compute/field.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: FieldKernel<Linear>.
#pragma once

#include <cstdint>

#include "heddle/compute/field/field.hpp"
#include "heddle/graph/layers/linear.hpp"

namespace heddle::compute_room {

/// target (rows, columns) = or += sum over k of a(row, k) b(column, k), from an element, with the strides of a product of matrices.
/// The forward of Linear<4, 3> has the strides 4, 1, 4 and 1, and depth 4.
struct FieldProduct {
  const float* a;
  const float* b;
  std::int64_t row_of_a, k_of_a, column_of_b, k_of_b;  // strides [elements]
  std::int64_t depth;

  [[nodiscard]] float at(std::int64_t row, std::int64_t column, std::uint64_t first) const {
    FieldSum sum{first};
    for (std::int64_t k = 0; k < depth; ++k) sum.add(Field::read(a[row * row_of_a + k * k_of_a]), Field::read(b[column * column_of_b + k * k_of_b]));
    return sum.element();
  }
};

/// Computes Linear<In, Out> in exact arithmetic: forward of 2 rows of Linear<6, 4> takes 8 sums of 6 products, and 4 biases a row.
///
/// Tested  compute/field/linear_test
struct FieldLinear {
  static constexpr bool of_heddle = true;
  static constexpr bool backward_in_parts = true;

  /// Y = X W^T + b.
  static void forward(const ForwardCall& call) {
    const std::int64_t in = call.leaf->in.shape.last();
    const std::int64_t out = call.leaf->out.shape.last();
    const FieldProduct product{call.input, call.parameters[0], in, 1, in, 1, in};
    for (std::int64_t r = 0; r < vectors(*call.leaf, call.rows); ++r)
      for (std::int64_t o = 0; o < out; ++o)
        call.output[r * out + o] = product.at(r, o, call.leaf->parameter_count == 2 ? Field::read(call.parameters[1][o]) : 0);
  }
  /// dW (Out, In) = dY^T X, db = column sums of dY, dX = dY W.
  static void backward(const BackwardCall& call) {
    const std::int64_t in = call.leaf->in.shape.last();
    const std::int64_t out = call.leaf->out.shape.last();
    const std::int64_t rows = vectors(*call.leaf, call.rows);
    if (call.parameter_gradients != nullptr) {
      const FieldProduct product{call.output_gradient, call.input, 1, out, 1, in, rows};
      float* const weights = call.parameter_gradients[0];
      for (std::int64_t o = 0; o < out; ++o)
        for (std::int64_t i = 0; i < in; ++i) weights[o * in + i] = product.at(o, i, call.add ? Field::read(weights[o * in + i]) : 0);
      for (std::int64_t o = 0; o < out && call.leaf->parameter_count == 2; ++o) {
        float sum = call.add ? call.parameter_gradients[1][o] : 0;
        for (std::int64_t r = 0; r < rows; ++r) sum = FieldArithmetic::plus(sum, call.output_gradient[r * out + o]);
        call.parameter_gradients[1][o] = sum;
      }
    }
    if (call.input_gradient == nullptr) return;
    const FieldProduct product{call.output_gradient, call.parameters[0], out, 1, 1, in, out};
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t i = 0; i < in; ++i) call.input_gradient[r * in + i] = product.at(r, i, 0);
  }

 private:
  [[nodiscard]] static std::int64_t vectors(const Leaf& leaf, std::int64_t rows) { return rows * (leaf.in.elements() / leaf.in.shape.last()); }
};

}  // namespace heddle::compute_room

namespace heddle {

template <std::int64_t In, std::int64_t Out, class Bias> struct FieldKernel<graph_room::Linear<In, Out, Bias>> : compute_room::FieldLinear {};

}  // namespace heddle
