// SPDX-License-Identifier: MIT
// Room: compute. LayerNorm and RMSNorm: each vector of the last dimension by itself, with the statistics that the forward has left.
// Sees: graph/layers/norm, seams/concepts, compute/eigen.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: Kernel<LayerNorm, EigenCompute>, Kernel<RMSNorm, EigenCompute>.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>

#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/graph/layers/norm.hpp"

namespace heddle::compute_room {

/// The sum of a block, in halves: its bits depend on the lanes alone.
[[nodiscard]] inline float sum_of_lanes(const FloatBlock& block) {
  FloatBlock sum = block;
  for (int width = block_elements / 2; width > 0; width /= 2)
    for (int l = 0; l < width; ++l) sum.values[l] += sum.values[l + width];
  return sum.values[0];
}

/// sum over i < n of term(i, lane), by blocks; what lies behind the last element counts nothing.
template <class Load, class Term> [[nodiscard]] float sum_of(std::int64_t n, const Load& load, const Term& term) {
  FloatBlock sum{};
  for (std::int64_t i = 0; i < n; i += block_elements) {
    load(i);
    const std::int64_t left = n - i;
    if (left >= block_elements)
      for_lanes([&](int l) { sum.values[l] += term(l); });
    else
      for (int l = 0; l < left; ++l) sum.values[l] += term(l);
  }
  return sum_of_lanes(sum);
}

/// A norm over vectors of `features`, which a mean is taken from first if it is centred. Of (8, 64) one row has 8 vectors, and of a centred norm
/// 16 statistics: mean and 1 / sqrt(variance + epsilon) of each.
///
/// Errors  none; rows may be 0
/// Tested  compute/eigen/norm_test
template <bool Centred> struct NormKernel {
  static constexpr int statistics = Centred ? 2 : 1;
  std::int64_t features, vectors;

  NormKernel(const Leaf& leaf, std::int64_t rows) : features(leaf.in.shape.last()), vectors(rows * (leaf.in.elements() / features)) {}

  /// Each vector of `sum`, if it is given, is made before it is read: it is still near then.
  void forward(const ForwardCall& call, float epsilon, const Addends* sum = nullptr) const {
    const auto n = static_cast<float>(features);
    const bool has_bias = call.leaf->parameter_count == 2;
    for (std::int64_t v = 0; v < vectors; ++v) {
      const float* const from = call.input + v * features;
      if (sum != nullptr) EigenCompute::add(sum->sum + v * features, sum->a + v * features, sum->b + v * features, features);
      FloatBlock x;
      const auto load = [&](std::int64_t i) { x.load(from + i, features - i); };
      const float mean = Centred ? sum_of(features, load, [&](int l) { return x.values[l]; }) / n : 0.0F;
      const float squares = sum_of(features, load, [&](int l) { return (x.values[l] - mean) * (x.values[l] - mean); });
      const float inverse = 1.0F / std::sqrt(squares / n + epsilon);
      for (std::int64_t i = 0; i < features; i += block_elements) {
        FloatBlock weight;
        FloatBlock bias{};
        load(i);
        weight.load(call.parameters[0] + i, features - i);
        if (has_bias) bias.load(call.parameters[1] + i, features - i);
        for_lanes([&](int l) { x.values[l] = (x.values[l] - mean) * inverse * weight.values[l] + bias.values[l]; });
        x.store(call.output + v * features + i, features - i);
      }
      if (call.statistics == nullptr) continue;
      float* const left = call.statistics + v * statistics;
      if (Centred) left[0] = mean;
      left[statistics - 1] = inverse;
    }
  }
  void backward(const BackwardCall& call) const {
    if (call.parameter_gradients != nullptr) sum_parameters(call);
    for (std::int64_t v = 0; v < vectors && call.input_gradient != nullptr; ++v) pull_back(call, v);
  }

 private:
  [[nodiscard]] float mean_of(const BackwardCall& call, std::int64_t v) const { return Centred ? call.statistics[v * statistics] : 0.0F; }
  [[nodiscard]] float inverse_of(const BackwardCall& call, std::int64_t v) const { return call.statistics[v * statistics + statistics - 1]; }

  /// dw = column sums of dy x^, db = column sums of dy, with x^ = (x - mean) inverse; in the order of the vectors.
  void sum_parameters(const BackwardCall& call) const {
    const bool has_bias = call.leaf->parameter_count == 2;
    for (std::int64_t j = 0; j < features; j += block_elements) {
      FloatBlock weights{};
      FloatBlock biases{};
      for (std::int64_t v = 0; v < vectors; ++v) {
        FloatBlock x;
        FloatBlock dy;
        x.load(call.input + v * features + j, features - j);
        dy.load(call.output_gradient + v * features + j, features - j);
        const float mean = mean_of(call, v);
        const float inverse = inverse_of(call, v);
        for_lanes([&](int l) {
          weights.values[l] += dy.values[l] * ((x.values[l] - mean) * inverse);
          biases.values[l] += dy.values[l];
        });
      }
      put(weights, call.parameter_gradients[0] + j, features - j, call.add);
      if (has_bias) put(biases, call.parameter_gradients[1] + j, features - j, call.add);
    }
  }
  static void put(const FloatBlock& sums, float* target, std::int64_t left, bool add) {
    if (add)
      EigenCompute::add(target, target, sums.values, left < block_elements ? left : block_elements);
    else
      sums.store(target, left);
  }
  /// With g = dy w: dx = inverse (g - mean of g - x^ mean of g x^); not centred, the mean of g is not taken away.
  void pull_back(const BackwardCall& call, std::int64_t v) const {
    const auto n = static_cast<float>(features);
    const float mean = mean_of(call, v);
    const float inverse = inverse_of(call, v);
    FloatBlock x;
    FloatBlock g;
    const auto load = [&](std::int64_t i) {
      FloatBlock weight;
      x.load(call.input + v * features + i, features - i);
      g.load(call.output_gradient + v * features + i, features - i);
      weight.load(call.parameters[0] + i, features - i);
      for_lanes([&](int l) {
        x.values[l] = (x.values[l] - mean) * inverse;
        g.values[l] *= weight.values[l];
      });
    };
    const float along = sum_of(features, load, [&](int l) { return g.values[l] * x.values[l]; }) / n;
    const float level = Centred ? sum_of(features, load, [&](int l) { return g.values[l]; }) / n : 0.0F;
    for (std::int64_t i = 0; i < features; i += block_elements) {
      load(i);
      for_lanes([&](int l) { g.values[l] = inverse * (g.values[l] - level - x.values[l] * along); });
      g.store(call.input_gradient + v * features + i, features - i);
    }
  }
};

}  // namespace heddle::compute_room

namespace heddle {

/// LayerNorm on EigenCompute or what derives from it; the code does not depend on Features.
///
/// Errors  none; rows may be 0
/// Tested  compute/eigen/norm_test
template <std::int64_t Features, class... Options, std::derived_from<compute_room::EigenCompute> C>
struct Kernel<graph_room::LayerNorm<Features, Options...>, C> {
  using TakesSum = Kernel;
  static constexpr bool backward_in_parts = true;
  static void forward(const seams_room::ForwardCall& call) {
    compute_room::NormKernel<true>(*call.leaf, call.rows).forward(call, graph_room::LayerNorm<Features, Options...>::epsilon);
  }
  static void forward_of_sum(const seams_room::ForwardCall& call, const seams_room::Addends& sum) {
    compute_room::NormKernel<true>(*call.leaf, call.rows).forward(call, graph_room::LayerNorm<Features, Options...>::epsilon, &sum);
  }
  static void backward(const seams_room::BackwardCall& call) { compute_room::NormKernel<true>(*call.leaf, call.rows).backward(call); }
};

/// RMSNorm, as LayerNorm.
///
/// Errors  none; rows may be 0
/// Tested  compute/eigen/norm_test
template <std::int64_t Features, class... Options, std::derived_from<compute_room::EigenCompute> C>
struct Kernel<graph_room::RMSNorm<Features, Options...>, C> {
  using TakesSum = Kernel;
  static constexpr bool backward_in_parts = true;
  static void forward(const seams_room::ForwardCall& call) {
    compute_room::NormKernel<false>(*call.leaf, call.rows).forward(call, graph_room::RMSNorm<Features, Options...>::epsilon);
  }
  static void forward_of_sum(const seams_room::ForwardCall& call, const seams_room::Addends& sum) {
    compute_room::NormKernel<false>(*call.leaf, call.rows).forward(call, graph_room::RMSNorm<Features, Options...>::epsilon, &sum);
  }
  static void backward(const seams_room::BackwardCall& call) { compute_room::NormKernel<false>(*call.leaf, call.rows).backward(call); }
};

}  // namespace heddle
