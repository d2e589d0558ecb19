// SPDX-License-Identifier: MIT
// Room: run. Token ids of a batch are looked at before a step begins, so that a wrong one costs nothing.
// Sees: graph, seams/error, run/examples.  Does not see: policies, kernels, any backend.
// In: a Graph and a batch.  Out: nothing, or R09 in one sentence.
#pragma once

#include <cstdint>
#include <string>
#include <type_traits>

#include "heddle/core/written.hpp"
#include "heddle/graph/token_ids.hpp"
#include "heddle/run/examples.hpp"
#include "heddle/seams/error.hpp"

namespace heddle::run_room {

/// Ids of one input of the model, row by row.
template <class Target, class Input>
void refuse_other_tokens_of(const Graph& graph, const Examples<Target, Input>& batch, int input, const std::int32_t* ids, std::int64_t features) {
  const std::int64_t vocabulary = vocabulary_of(graph, input);
  if (features != graph.input_of(input).elements()) return;
  for (std::int64_t row = 0; row < batch.rows; ++row)
    for (std::int64_t i = 0; i < features; ++i) {
      const std::int32_t id = ids[batch.source_row(row) * features + i];
      if (is_token(id, vocabulary)) continue;
      throw Error(Code{'R', 9}, written({"row ", row, " of the batch has token id ", id, " at position ", i,
                                         (graph.input_count > 1 ? " of input " + std::to_string(input) : std::string{}), ", but the vocabulary has ",
                                         vocabulary, " tokens. Fix: use ids from 0 to ", vocabulary - 1, "."}));
    }
}

/// Positions are those of the input of one sample, row-major. Rows of another shape are left to D07, inputs of other elements to D33; floats and
/// bytes are no ids.
///
/// Errors  R09 an id that the vocabulary does not have
/// Tested  run/token_ids_test
template <class Target, class Input> void refuse_other_tokens(const Graph& graph, const Examples<Target, Input>& batch) {
  if constexpr (std::is_same_v<Input, std::int32_t>)
    if (graph.input.type == ElementType::int32) refuse_other_tokens_of(graph, batch, 0, batch.inputs, batch.input_features);
  for (int i = 1; i < graph.input_count && i <= batch.more.count; ++i)
    if (const FurtherRows& ids = batch.more.all[i - 1]; ids.type == ElementType::int32 && graph.input_of(i).type == ElementType::int32)
      refuse_other_tokens_of(graph, batch, i, static_cast<const std::int32_t*>(ids.data), ids.features);
}

}  // namespace heddle::run_room
