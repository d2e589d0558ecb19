// SPDX-License-Identifier: MIT
// Room: compute. Embedding in the field: rows of the table are copied, their gradients added modulo a prime.
// Sees: graph/layers/embedding, seams/concepts, compute/field.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: FieldKernel<Embedding>.
#pragma once

#include <cstdint>

#include "heddle/compute/field/field.hpp"
#include "heddle/graph/layers/embedding.hpp"

namespace heddle::compute_room {

/// Ids are int32 as they are for every backend: no elements of the field. A rank that has a part of the vocabulary gives 0 for other ids.
///
/// Tested  compute/field/embedding_test
struct FieldEmbedding {
  static constexpr bool of_heddle = true;
  static constexpr bool backward_in_parts = true;

  static void forward(const ForwardCall& call) {
    const TableRows table(*call.leaf, call.rows, call.part);
    float* to = call.output;
    for (std::int64_t i = 0; i < table.ids; ++i, to += table.features) {
      if (const std::int64_t row = table.row_of(call.ids[i]); row >= 0)
        FieldCompute::copy(to, call.parameters[0] + row * table.features, table.features);
      else
        FieldCompute::zero(to, table.features);
    }
  }
  static void backward(const BackwardCall& call) {
    const TableRows table(*call.leaf, call.rows, call.part);
    if (call.parameter_gradients == nullptr) return;
    float* const sums = call.parameter_gradients[0];
    if (!call.add) FieldCompute::zero(sums, table.rows * table.features);
    const float* from = call.output_gradient;
    for (std::int64_t i = 0; i < table.ids; ++i, from += table.features)
      if (const std::int64_t row = table.row_of(call.ids[i]); row >= 0 && call.ids[i] != table.padding)
        FieldCompute::add(sums + row * table.features, sums + row * table.features, from, table.features);
  }
};

}  // namespace heddle::compute_room

namespace heddle {

template <std::int64_t Vocabulary, std::int64_t Features, class... Options>
struct FieldKernel<graph_room::Embedding<Vocabulary, Features, Options...>> : compute_room::FieldEmbedding {};

}  // namespace heddle
