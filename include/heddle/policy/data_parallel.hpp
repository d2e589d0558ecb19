// SPDX-License-Identifier: MIT
// Room: policy. Turns DataParallel<N> into a batch split along axis data; the reduction of gradients follows from it.
// Sees: graph, mesh, core.  Does not see: memory, processes, MPI, CUDA.
// In: a Graph and the size of axis data.  Out: a claim and a batch split.
#pragma once

#include "heddle/core/an_object.hpp"
#include "heddle/policy/layout.hpp"

namespace heddle::policy_room {

/// Replicates the model and splits the batch; gradients are summed over the replicas once per step.
///
/// Shape   batch (B, ...) becomes (B/N, ...) per rank; parameters keep their shape
/// Moves   2 (N-1)/N x gradient bytes per rank and step                                        [bytes]
/// Errors  B01 if B does not divide and no remedy is named, B02 if B < N; RankLost at run time
/// Source  sources.md#allreduce
/// Tested  policy/data_parallel_test, equivalence/data_parallel_test
template <int Replicas> struct DataParallel {
  static constexpr void answer(const Graph&, Layout& layout) {
    layout.claim(axis::data, Replicas);
    layout.splits_batch(axis::data);
  }
};
inline constexpr int made_as_an_object = -2147483647;
template <> struct DataParallel<made_as_an_object> : AnObject { using AnObject::AnObject; };  // L16
template <class First, class... More> DataParallel(const First&, const More&...) -> DataParallel<made_as_an_object>;

}  // namespace heddle::policy_room

namespace heddle {
using policy_room::DataParallel;
}  // namespace heddle
