// SPDX-License-Identifier: MIT
// How many operations the graphs of attention have; what they compute is compute/cuda/cudnn_attention_test.
#include "heddle/compute/cuda/cudnn_attention_graph.hpp"

#include <doctest/doctest.h>

#include "compute/cuda/on_card.hpp"

using namespace heddle::compute_room;

TEST_CASE("a mask has four operations, and shared keys two more in the backward") {
  const on_card::Card card;
  const auto operations = [](const AttentionShape& shape, CudnnAttentionWay way) {
    const CudnnGraph made = CudnnAttentionGraph::of(shape, way);
    CHECK(made.taken());
    return made.operations().size();
  };
  CHECK(operations({2, 5, 2, 2, 8, true}, CudnnAttentionWay::forward) == 14);
  CHECK(operations({2, 5, 2, 2, 8, false}, CudnnAttentionWay::forward) == 10);
  CHECK(operations({2, 5, 2, 2, 8, true}, CudnnAttentionWay::backward) == 21);
  CHECK(operations({2, 5, 2, 2, 8, false}, CudnnAttentionWay::backward) == 17);
  CHECK(operations({2, 5, 4, 2, 8, true}, CudnnAttentionWay::forward) == 14);
  CHECK(operations({2, 5, 4, 2, 8, true}, CudnnAttentionWay::backward) == 23);
}
