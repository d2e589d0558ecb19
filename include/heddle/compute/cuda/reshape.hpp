// SPDX-License-Identifier: MIT
// Room: compute. Flatten and Unflatten on a card: the same elements under another shape.
// Sees: graph/layers, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: ForwardCallIn<CudaMemory>, BackwardCallIn<CudaMemory>.  Out: Kernel<Flatten, CudaCompute>, Kernel<Unflatten, CudaCompute>.
#pragma once

#include <concepts>
#include <cstdint>

#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/graph/layers/flatten.hpp"
#include "heddle/graph/layers/unflatten.hpp"

namespace heddle::compute_room {

/// A copy on the card, or nothing where both are one array: 8 rows of (28, 28) are one copy of 25,088 bytes.
struct ReshapeOnCard {
  template <class Value = float> static void forward(const ForwardCallIn<CudaMemory>& call) {
    CudaCompute::copy(call.space, values_at<Value>(call.output), values_at<Value>(call.input), call.rows * call.leaf->in.elements());
  }
  template <class Value = float> static void backward(const BackwardCallIn<CudaMemory>& call) {
    if (call.input_gradient != nullptr)
      CudaCompute::copy(call.space, values_at<Value>(call.input_gradient), values_at<Value>(call.output_gradient),
                        call.rows * call.leaf->in.elements());
  }
};

}  // namespace heddle::compute_room

namespace heddle {

/// Tested  compute/cuda/reshape_test
template <std::derived_from<compute_room::CudaCompute> C> struct Kernel<graph_room::Flatten, C> : compute_room::ReshapeOnCard {
  using TakesBFloat16 = Kernel;
};
template <std::int64_t... Sizes, std::derived_from<compute_room::CudaCompute> C>
struct Kernel<graph_room::Unflatten<Sizes...>, C> : compute_room::ReshapeOnCard {
  using TakesBFloat16 = Kernel;
};

}  // namespace heddle
