// SPDX-License-Identifier: MIT
// Room: policy. Turns Sharded<N, What> into a batch split along axis shard, and says what of each unit a rank keeps only its slice of.
// Sees: graph, mesh, core.  Does not see: memory, processes, MPI, CUDA.
// In: a Graph, the size of axis shard, what is sharded.  Out: a claim, a batch split, an answer for storage.
#pragma once

#include "heddle/policy/layout.hpp"

namespace heddle::inline policy_room {

/// Sharded<N, OptimizerState>: each rank steps its slice and gathers the parameters once a step (ZeRO-1).
/// Tested  policy/sharded_test, equivalence/sharded_test
struct OptimizerState {
  static constexpr Sharding sharding{false, false, true};
};
/// Sharded<N, Gradients>: a unit's gradient is also reduced to its slice as soon as its backward has run (ZeRO-2).
/// Tested  policy/sharded_test, equivalence/sharded_test
struct Gradients {
  static constexpr Sharding sharding{false, true, true};
};
/// Sharded<N, Parameters>: a unit's parameters are also gathered before use and dropped after it (ZeRO-3, FSDP).
/// Tested  policy/sharded_test, equivalence/sharded_test
struct Parameters {
  static constexpr Sharding sharding{true, true, true};
};

/// Splits the batch, and keeps of optimizer states, gradients and parameters only the slice of this rank.
/// A unit is a block of the outermost Repeat or a leaf outside; it is one flat buffer, padded so that every N divides it.
/// Where sums are reproducible over several grains a rank, gradients stay whole until the last micro-batch.
///
/// Shape   batch (B, ...) becomes (B/N, ...) per rank; a unit of U bytes becomes U/N per rank
/// Moves   (N-1)/N x parameter bytes x 2 (OptimizerState), 1 + M (Gradients), 2 M + M (Parameters), M micro-batches   [bytes]
/// Errors  M05 if N does not divide 64; B01, B02 as DataParallel; RankLost at run time
/// Source  sources.md#zero
/// Tested  policy/sharded_test, equivalence/sharded_test, oracle/zero_test
template <int N, class What = Parameters> struct Sharded {
  static constexpr void answer(const Graph&, Layout& layout) {
    layout.claim(axis::shard, N);
    layout.splits_batch(axis::shard);
    layout.keeps_slices(axis::shard, What::sharding);
  }
};

}  // namespace heddle::inline policy_room
