// SPDX-License-Identifier: MIT
// Room: policy. Turns WeightedDataParallel<3, 1> into a batch split in which unequal devices take unequal rows.
// Sees: graph, mesh, core.  Does not see: memory, processes, MPI, CUDA.
// In: a Graph and a share for each replica.  Out: a claim, a batch split, shares.
#pragma once

#include "heddle/policy/layout.hpp"

namespace heddle::policy_room {

/// DataParallel for unequal devices: replica i takes Shares[i] of every sum(Shares) rows; 6 and 2 are 3 and 1. Gradients are of the mean over all
/// rows, as ever. Every device has memory for the largest share; sums follow no fixed tree, since replicas have unequal numbers of rows.
///
/// Shape   batch (B, ...) becomes (B Shares[i] / sum(Shares), ...) on replica i; parameters keep their shape
/// Moves   2 (N-1)/N x gradient bytes per rank and step                                        [bytes]
/// Errors  M07 if a share is below 1 or there are more than 16; B01, B02 as DataParallel; B04 with Grain or Reproducible
/// Source  sources.md#allreduce
/// Tested  policy/weighted_data_parallel_test, equivalence/tolerance_test
template <int... Shares> struct WeightedDataParallel {
  static constexpr void answer(const Graph&, Layout& layout) {
    layout.claim(axis::data, static_cast<int>(sizeof...(Shares)));
    layout.splits_batch(axis::data);
    constexpr int shares[sizeof...(Shares) + 1] = {Shares..., 0};
    layout.splits_unevenly(shares, static_cast<int>(sizeof...(Shares)));
  }
};

}  // namespace heddle::policy_room

namespace heddle {
using policy_room::WeightedDataParallel;
}  // namespace heddle
