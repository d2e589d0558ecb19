// SPDX-License-Identifier: MIT
// Room: graph. The loss of a classifier: softmax and negative log likelihood in one.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: logits and class numbers.  Out: a LossDescription.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/graph/loss.hpp"

namespace heddle::graph_room {

/// log(sum_j exp(x_j)) - x_target, mean over rows and positions, as torch.nn.CrossEntropyLoss with the classes last.
///
/// Where the last layer gives each rank of axis tensor a part of the classes, the loss takes these parts. A rank tells the others three floats of a
/// position: its largest logit m, sum_j exp(x_j - m) and the target's logit if it has it. One gather of these costs 12 (N-1) bytes a position and
/// N-1 messages; three all-reduces, the second of which waits for the first, would cost 24 (N-1)/N bytes and 6 (N-1) messages: fewer bytes for N > 2,
/// but of both kinds a rank sends next to nothing, so messages count. The parts are added in the order of the ranks, so all ranks have the same bits.
///
/// Shape   logits (B, ..., Classes), targets (B, ...) class numbers from 0: a row has one for each position, for example of a sequence
/// Moves   12 (N-1) x rows x positions where logits lie in parts, whatever the number of classes   [bytes per rank]
/// Errors  G03 if the last dimension of the output is not at least 2 float32 classes
/// Source  sources.md#megatron, sec. 3
/// Tested  graph/losses/cross_entropy_test, compute/eigen/losses_test, equivalence/vocabulary_parallel_test
struct CrossEntropy {
  using Target = std::int32_t;

  static constexpr std::string_view name() { return "CrossEntropy"; }
  static constexpr Diagnosis accepts(const Spec& output) {
    if (output.type != ElementType::float32) {
      return Diagnosis{Code{'G', 3}, name()} << " takes float32 but the model gives " << name_of(output.type)
                                             << ". Fix: end the model with a layer that gives float32.";
    }
    if (output.shape.last() < 2) {
      return Diagnosis{Code{'G', 3}, name()} << " takes at least 2 classes but the model gives " << output.shape.last()
                                             << ". Fix: give the last Linear layer one output per class.";
    }
    return {};
  }
  static constexpr std::int64_t target_features(const Spec& output) { return output.elements() / output.shape.last(); }
  static constexpr std::int64_t flops(const Spec& output) { return 6 * output.elements(); }
  static constexpr Laid splits(const Spec& output) { return laid::shard(output.shape.dimensions - 1); }
  static constexpr std::int64_t terms(const Spec& output) { return 3 * target_features(output); }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::CrossEntropy;
}  // namespace heddle
