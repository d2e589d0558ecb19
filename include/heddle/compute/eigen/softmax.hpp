// SPDX-License-Identifier: MIT
// Room: compute. Softmax and LogSoftmax: each vector of the last dimension by itself.
// Sees: graph/layers/softmax, seams/concepts, compute/eigen.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: Kernel<Softmax, EigenCompute>, Kernel<LogSoftmax, EigenCompute>.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>

#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/graph/layers/softmax.hpp"

namespace heddle::compute_room {

/// The largest element of a vector is taken from all before exp, so nothing overflows; sums are double. Of (8, 64) one row has 8 vectors.
///
/// Errors  none; rows may be 0. A vector with a NaN, or of -infinity alone, is NaN throughout, as PyTorch's
/// Tested  compute/eigen/softmax_test
template <bool Logarithm> struct SoftmaxKernel {
  static void forward(const ForwardCall& call) {
    const std::int64_t n = call.leaf->in.shape.last();
    for (std::int64_t at = 0, end = call.rows * call.leaf->in.elements(); at < end; at += n) forward_of(call.input + at, call.output + at, n);
  }
  static void backward(const BackwardCall& call) {
    if (call.input_gradient == nullptr) return;
    const std::int64_t n = call.leaf->in.shape.last();
    for (std::int64_t at = 0, end = call.rows * call.leaf->in.elements(); at < end; at += n)
      backward_of(call.output + at, call.output_gradient + at, call.input_gradient + at, n);
  }

 private:
  static void forward_of(const float* x, float* y, std::int64_t n) {
    const float most = *std::max_element(x, x + n);
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) {
      const float power = std::exp(x[j] - most);
      if constexpr (!Logarithm) y[j] = power;
      sum += static_cast<double>(power);
    }
    if constexpr (Logarithm) {
      const auto log_sum = static_cast<float>(std::log(sum));
      for (std::int64_t j = 0; j < n; ++j) y[j] = x[j] - most - log_sum;
    } else {
      const auto share = static_cast<float>(1 / sum);
      for (std::int64_t j = 0; j < n; ++j) y[j] *= share;
    }
  }
  /// dx_i = y_i (dy_i - sum_j dy_j y_j); of the logarithm dx_i = dy_i - exp(y_i) sum_j dy_j.
  static void backward_of(const float* y, const float* dy, float* dx, std::int64_t n) {
    double sum = 0;
    for (std::int64_t j = 0; j < n; ++j) sum += static_cast<double>(dy[j]) * (Logarithm ? 1.0 : static_cast<double>(y[j]));
    const auto all = static_cast<float>(sum);
    for (std::int64_t j = 0; j < n; ++j) dx[j] = Logarithm ? dy[j] - std::exp(y[j]) * all : y[j] * (dy[j] - all);
  }
};

}  // namespace heddle::compute_room

namespace heddle {

template <std::derived_from<compute_room::EigenCompute> C> struct Kernel<graph_room::Softmax, C> : compute_room::SoftmaxKernel<false> {};
template <std::derived_from<compute_room::EigenCompute> C> struct Kernel<graph_room::LogSoftmax, C> : compute_room::SoftmaxKernel<true> {};

}  // namespace heddle
