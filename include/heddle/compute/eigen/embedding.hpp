// SPDX-License-Identifier: MIT
// Room: compute. Embedding on the CPU: rows of the table are copied, gradients added to the rows in the order of the ids.
// Sees: graph/layers/embedding, seams/concepts, compute/eigen.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: Kernel<Embedding, EigenCompute>.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <limits>

#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/graph/layers/embedding.hpp"

namespace heddle::compute_room {

/// Zeros for the tokens of other ranks; an id that is no token gives NaN and reads nothing outside the table.
inline void embedding_forward(const ForwardCall& call) {
  const TableRows table(*call.leaf, call.rows, call.part);
  float* to = call.output;
  for (std::int64_t i = 0; i < table.ids; ++i, to += table.features) {
    const std::int64_t row = table.row_of(call.ids[i]);
    if (row >= 0)
      EigenCompute::copy(to, call.parameters[0] + row * table.features, table.features);
    else
      std::fill_n(to, table.features, row == TableRows::elsewhere ? 0.0F : std::numeric_limits<float>::quiet_NaN());
  }
}

/// dW: for each row the sum over the ids that name it, in their order; nothing for that of padding. Ids have no gradient.
inline void embedding_backward(const BackwardCall& call) {
  const TableRows table(*call.leaf, call.rows, call.part);
  if (call.parameter_gradients == nullptr) return;
  float* const sums = call.parameter_gradients[0];
  if (!call.add) EigenCompute::zero(sums, table.rows * table.features);
  const float* from = call.output_gradient;
  for (std::int64_t i = 0; i < table.ids; ++i, from += table.features)
    if (const std::int64_t row = table.row_of(call.ids[i]); row >= 0 && call.ids[i] != table.padding)
      EigenCompute::add(sums + row * table.features, sums + row * table.features, from, table.features);
}

}  // namespace heddle::compute_room

namespace heddle {

/// Embedding on EigenCompute or what derives from it; the code does not depend on its arguments.
///
/// Errors  none; rows may be 0
/// Tested  compute/eigen/embedding_test
template <std::int64_t Vocabulary, std::int64_t Features, class... Options, std::derived_from<compute_room::EigenCompute> C>
struct Kernel<graph_room::Embedding<Vocabulary, Features, Options...>, C> {
  static constexpr bool backward_in_parts = true;
  static void forward(const seams_room::ForwardCall& call) { compute_room::embedding_forward(call); }
  static void backward(const seams_room::BackwardCall& call) { compute_room::embedding_backward(call); }
};

}  // namespace heddle
