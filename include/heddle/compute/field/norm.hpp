// SPDX-License-Identifier: MIT
// Room: compute. LayerNorm and RMSNorm in the field: statistics are any functions of a vector, what they normalise is multiplied and summed as it is.
// Sees: graph/layers/norm, seams/concepts, compute/field.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: FieldKernel<LayerNorm>, FieldKernel<RMSNorm>.
#pragma once

#include <cstdint>

#include "heddle/compute/field/field.hpp"
#include "heddle/graph/layers/norm.hpp"

namespace heddle::compute_room {

/// With statistics s that are any functions of a vector x: y_j = w_j h(x_j, s) + b_j for any function h, the same for each feature and vector. The
/// backward reads the statistics that were left, not its own: dw_j = sum of dy_j h(x_j, s), db_j = sum of dy_j, and dx_i is the sum over j of dy_j
/// w_j times any function of i, j, x and s. LayerNorm<6> in one row has 2 statistics and 36 such functions.
///
/// Law     vectors stand alone, so a rank may have some of them; its gradients of parameters are terms of sums
/// Tested  compute/field/norm_test
template <class L> struct FieldNorm {
  static constexpr bool of_heddle = true;
  static constexpr bool backward_in_parts = true;

  static void forward(const ForwardCall& call) {
    const Leaf& leaf = *call.leaf;
    const std::int64_t n = leaf.in.shape.last();
    const std::int64_t count = leaf.statistics.last();
    float own[2]{};
    for (std::int64_t v = 0; v < vectors(leaf, call.rows); ++v) {
      const float* const x = call.input + v * n;
      float* const left = call.statistics == nullptr ? own : call.statistics + v * count;
      const std::uint64_t vector = Field::digest(x, n);
      for (std::int64_t s = 0; s < count; ++s)
        left[s] = Field::write(Field::hash(symbol_of<L>("statistics"), {vector}, {static_cast<std::uint64_t>(s)}));
      const std::uint64_t statistics = Field::digest(left, count);
      for (std::int64_t j = 0; j < n; ++j) {
        FieldSum sum{leaf.parameter_count == 2 ? Field::read(call.parameters[1][j]) : 0};
        sum.add(Field::read(call.parameters[0][j]), normalised(x[j], statistics));
        call.output[v * n + j] = sum.element();
      }
    }
  }
  static void backward(const BackwardCall& call) {
    const Leaf& leaf = *call.leaf;
    const std::int64_t n = leaf.in.shape.last();
    const std::int64_t count = leaf.statistics.last();
    if (call.parameter_gradients != nullptr && !call.add)
      for (int k = 0; k < leaf.parameter_count; ++k) FieldCompute::zero(call.parameter_gradients[k], n);
    for (std::int64_t v = 0; v < vectors(leaf, call.rows); ++v) {
      const float* const x = call.input + v * n;
      const float* const dy = call.output_gradient + v * n;
      const std::uint64_t statistics = Field::digest(call.statistics + v * count, count);
      for (std::int64_t j = 0; j < n && call.parameter_gradients != nullptr; ++j) {
        FieldSum sum{Field::read(call.parameter_gradients[0][j])};
        sum.add(Field::read(dy[j]), normalised(x[j], statistics));
        call.parameter_gradients[0][j] = sum.element();
        if (leaf.parameter_count == 2) call.parameter_gradients[1][j] = FieldArithmetic::plus(call.parameter_gradients[1][j], dy[j]);
      }
      if (call.input_gradient != nullptr) pull_back(call, v, statistics);
    }
  }

 private:
  [[nodiscard]] static std::int64_t vectors(const Leaf& leaf, std::int64_t rows) { return rows * (leaf.in.elements() / leaf.in.shape.last()); }
  [[nodiscard]] static std::uint64_t normalised(float x, std::uint64_t statistics) {
    return Field::hash(symbol_of<L>("normalised"), {Field::read(x), statistics});
  }
  static void pull_back(const BackwardCall& call, std::int64_t v, std::uint64_t statistics) {
    const std::int64_t n = call.leaf->in.shape.last();
    const float* const dy = call.output_gradient + v * n;
    const std::uint64_t vector = Field::digest(call.input + v * n, n);
    for (std::int64_t i = 0; i < n; ++i) {
      FieldSum sum;
      for (std::int64_t j = 0; j < n; ++j) {
        const std::uint64_t slope =
            Field::hash(symbol_of<L>("slope"), {vector, statistics}, {static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j)});
        sum.add(Field::times(Field::read(dy[j]), Field::read(call.parameters[0][j])), slope);
      }
      call.input_gradient[v * n + i] = sum.element();
    }
  }
};

}  // namespace heddle::compute_room

namespace heddle {

template <std::int64_t Features, class... Options>
struct FieldKernel<graph_room::LayerNorm<Features, Options...>> : compute_room::FieldNorm<graph_room::LayerNorm<Features, Options...>> {};
template <std::int64_t Features, class... Options>
struct FieldKernel<graph_room::RMSNorm<Features, Options...>> : compute_room::FieldNorm<graph_room::RMSNorm<Features, Options...>> {};

}  // namespace heddle
