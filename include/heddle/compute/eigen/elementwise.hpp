// SPDX-License-Identifier: MIT
// Room: compute. Every layer given by two functions of one float, also a user's own.
// Sees: graph/leaf, seams/concepts, compute/eigen.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: Kernel<ElementwiseLayer, EigenCompute>.
#pragma once

#include <concepts>
#include <cstdint>
#include <limits>

#include "heddle/compute/eigen/eigen.hpp"

namespace heddle::compute_room {

/// One loop over blocks for all elements, the tail included: the same code and the same bits in every position.
///
/// Errors  none; rows may be 0, the target may be the source
/// Tested  compute/eigen/elementwise_test
template <ElementwiseLayer L> struct ElementwiseKernel {
  static void forward(const ForwardCall& call) { map(call.input, call.output, call.rows * call.leaf->in.elements()); }
  static void backward(const BackwardCall& call) {
    if (call.input_gradient == nullptr) return;
    const Saves saves = call.leaf->saves;
    const float* const saved = saves == Saves::output ? call.output : saves == Saves::nothing ? nullptr : call.input;
    pull_back(saved, call.output_gradient, call.input_gradient, call.rows * call.leaf->in.elements());
  }
  static void forward_in_tail(const Tail& tail, std::int64_t begin, std::int64_t end) { map(tail.made + begin, tail.output + begin, end - begin); }
  static void backward_in_tail(const Tail& tail, std::int64_t begin, std::int64_t end) {
    pull_back(tail.saved == nullptr ? nullptr : tail.saved + begin, tail.made + begin, tail.output + begin, end - begin);
  }

 private:
  // Out of line, so that no call is compiled to other code: in a tail an element has the bits that it has by itself.
  [[gnu::noinline]] static void map(const float* from, float* to, std::int64_t n) {
    for (std::int64_t i = 0; i < n; i += block_elements) {
      FloatBlock x;
      x.load(from + i, n - i);
      for_lanes([&](int l) { x.values[l] = L::forward(x.values[l]); });
      x.store(to + i, n - i);
    }
  }
  [[gnu::noinline]] static void pull_back(const float* saved, const float* from, float* to, std::int64_t n) {
    for (std::int64_t i = 0; i < n; i += block_elements) {
      FloatBlock s;
      FloatBlock gradient;
      if (saved != nullptr)
        s.load(saved + i, n - i);
      else  // a backward that reads it all the same is found by gradcheck
        for_lanes([&](int l) { s.values[l] = std::numeric_limits<float>::quiet_NaN(); });
      gradient.load(from + i, n - i);
      for_lanes([&](int l) { gradient.values[l] = L::backward(s.values[l], gradient.values[l]); });
      gradient.store(to + i, n - i);
    }
  }
};

}  // namespace heddle::compute_room

namespace heddle {

template <graph_room::ElementwiseLayer L, std::derived_from<compute_room::EigenCompute> C> struct Kernel<L, C> : compute_room::ElementwiseKernel<L> {
  using RunsInTail = Kernel;
};

}  // namespace heddle
