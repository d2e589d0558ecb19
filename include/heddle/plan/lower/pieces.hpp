// SPDX-License-Identifier: MIT
// Room: plan. The pieces in which a bucket is stepped: each of one group of parameters.
// Sees: graph, plan/lower/units, plan/program.  Does not see: options, memory, instructions, processes, threads.
// In: Graph, ParameterGroups, FlatPlaces, buckets.  Out: StepPiece.
#pragma once

#include <cstdint>

#include "heddle/plan/lower/unit_order.hpp"
#include "heddle/plan/lower/units.hpp"
#include "heddle/plan/program/program.hpp"

namespace heddle::plan_room {

/// A parameter lies in a bucket with its values, not with a gradient alone.
[[nodiscard]] constexpr bool lies_in(const ParameterPlace& place, const FlatBucket& bucket) {
  return place.role == bucket.role && place.owner_begin < 0 && place.begin >= bucket.begin && place.begin < bucket.end();
}

/// Cuts every bucket that is stepped into pieces of one group, from its first element to its last; a list of as many as there are parameters is long
/// enough. Without groups there is nothing to cut: each bucket is stepped as one.
///
/// Three layers under NoDecay<> in one bucket have 4 pieces: a weight, two biases, two weights, a bias.
/// Tested  plan/lower/pieces_test
constexpr void write_pieces(const Graph& graph, const ParameterGroups& groups, const FlatPlaces& flat, const FlatBucket* buckets, int bucket_count,
                            List<StepPiece>& pieces) {
  if (!groups.any()) return;
  for (int b = 0; b < bucket_count; ++b) {
    const FlatBucket& bucket = buckets[b];
    if (!bucket.steps()) continue;
    StepPiece piece{static_cast<std::int16_t>(b), -1};
    const auto close = [&](std::int64_t end) {
      piece.elements = end - piece.begin;
      if (piece.group >= 0) pieces.append() = piece;
      piece.begin = piece.group >= 0 ? end : 0;
    };
    for (int n = bucket.lowest_node; n <= bucket.highest_node; ++n) {
      if (flat.opens[n] == 0) continue;
      unit_from(graph, n, bucket.highest_node + 1, flat.opens[n] - 1, flat.shared[n]).each(graph, groups, [&](int node, int k) {
        const int p = graph.nodes[node].first_parameter + k;
        if (!lies_in(flat.parameters[p], bucket) || groups.of_parameter[p] == piece.group) return;
        close(flat.parameters[p].begin - bucket.begin);
        piece.group = groups.of_parameter[p];
      });
    }
    close(bucket.elements);
  }
}

}  // namespace heddle::plan_room
