// SPDX-License-Identifier: MIT
// Room: graph. The loss of a classifier: softmax and negative log likelihood in one.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: logits and class numbers.  Out: a LossDescription.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/graph/loss.hpp"

namespace heddle::inline graph_room {

/// log(sum_j exp(x_j)) - x_target, mean over rows and positions, as torch.nn.CrossEntropyLoss with the classes last.
///
/// Shape   logits (B, ..., Classes), targets (B, ...) class numbers from 0: a row has one for each position, for example of a sequence
/// Errors  G03 if the last dimension of the output is not at least 2 float32 classes
/// Tested  graph/losses/cross_entropy_test, compute/eigen/losses_test
struct CrossEntropy {
  using Target = std::int32_t;

  static constexpr std::string_view name() { return "CrossEntropy"; }
  static constexpr Diagnosis accepts(const Spec& output) {
    if (output.dtype != DType::f32) {
      return Diagnosis{Code{'G', 3}, name()} << " takes float32 but the model gives " << name_of(output.dtype)
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
};

}  // namespace heddle::inline graph_room
