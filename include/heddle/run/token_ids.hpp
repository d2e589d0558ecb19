// SPDX-License-Identifier: MIT
// Room: run. Token ids of a batch are looked at before a step begins, so that a wrong one costs nothing.
// Sees: graph, seams/error, run/examples.  Does not see: policies, kernels, any backend.
// In: a Graph and a batch.  Out: nothing, or R09 in one sentence.
#pragma once

#include <cstdint>

#include "heddle/core/written.hpp"
#include "heddle/graph/token_ids.hpp"
#include "heddle/run/examples.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// Positions are those of the input of one sample, row-major. Rows of another shape are left to D07.
///
/// Errors  R09 an id that the vocabulary does not have
/// Tested  run/token_ids_test
template <class Target> void refuse_other_tokens(const Graph& graph, const Examples<Target, std::int32_t>& batch) {
  const std::int64_t vocabulary = vocabulary_of(graph);
  if (batch.input_features != graph.input.elements()) return;
  for (std::int64_t row = 0; row < batch.rows; ++row)
    for (std::int64_t i = 0; i < batch.input_features; ++i) {
      const std::int32_t id = batch.input(row)[i];
      if (is_token(id, vocabulary)) continue;
      throw Error(Code{'R', 9}, written({"row ", row, " of the batch has token id ", id, " at position ", i, ", but the vocabulary has ", vocabulary,
                                         " tokens. Fix: use ids from 0 to ", vocabulary - 1, "."}));
    }
}
/// Floats and bytes are no ids.
template <class Target, class Input> void refuse_other_tokens(const Graph&, const Examples<Target, Input>&) {}

}  // namespace heddle::run_room
