// SPDX-License-Identifier: MIT
// Room: compute. Embedding in the field: rows of the table are copied, their gradients added modulo a prime.
// Sees: graph/layers/embedding, seams/concepts, compute/field.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: FieldKernel<Embedding>.
#pragma once

#include <algorithm>
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
    const std::int64_t features = width(*call.leaf);
    for (std::int64_t i = 0; i < call.rows * call.leaf->in.elements(); ++i) {
      const std::int64_t row = row_of(*call.leaf, call.part, call.ids[i]);
      if (row >= 0)
        FieldCompute::copy(call.output + i * features, call.parameters[0] + row * features, features);
      else
        FieldCompute::zero(call.output + i * features, features);
    }
  }
  static void backward(const BackwardCall& call) {
    const std::int64_t features = width(*call.leaf);
    const std::int64_t ids = call.rows * call.leaf->in.elements();
    if (call.parameter_gradients == nullptr) return;
    float* const sums = call.parameter_gradients[0];
    if (!call.add) FieldCompute::zero(sums, call.leaf->parameters[0].shape.elements());
    for (std::int64_t i = 0; i < ids; ++i)
      if (const std::int64_t row = row_of(*call.leaf, call.part, call.ids[i]); row >= 0 && call.ids[i] != call.leaf->parameters[0].padding_row)
        FieldCompute::add(sums + row * features, sums + row * features, call.output_gradient + i * features, features);
  }

 private:
  [[nodiscard]] static std::int64_t width(const Leaf& leaf) { return leaf.parameters[0].shape.last(); }
  /// In what this rank has of the table; below 0 if another rank has it.
  [[nodiscard]] static std::int64_t row_of(const Leaf& leaf, int part, std::int32_t id) {
    const std::int64_t rows = leaf.parameters[0].shape.sizes[0];
    const std::int64_t row = id - (rows < leaf.vocabulary ? part * rows : 0);
    return row < rows ? std::max<std::int64_t>(row, -1) : -1;
  }
};

}  // namespace heddle::compute_room

namespace heddle {

template <std::int64_t Vocabulary, std::int64_t Features, class... Options>
struct FieldKernel<graph_room::Embedding<Vocabulary, Features, Options...>> : compute_room::FieldEmbedding {};

}  // namespace heddle
