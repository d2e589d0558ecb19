// SPDX-License-Identifier: MIT
// Room: compute. BatchNorm2d: each channel of a grain by itself, with the statistics that the forward has left, or running ones.
// Sees: graph/layers/batch_norm, seams/concepts, compute/eigen.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: Kernel<BatchNorm2d, EigenCompute>.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>

#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/compute/eigen/norm.hpp"
#include "heddle/graph/layers/batch_norm.hpp"

namespace heddle::compute_room {

/// One grain of images. 4 rows of (3, 5, 5) have 3 channels of 25 values a row, 100 values each.
///
/// Law     bits depend on the values of a grain alone; each row of a channel is summed by blocks, rows one after another in double
/// Errors  none; rows may be 0
/// Tested  compute/eigen/batch_norm_test
struct BatchNormKernel {
  std::int64_t channels, values, rows;

  BatchNormKernel(const Leaf& leaf, std::int64_t rows_given)
      : channels(leaf.in.shape.sizes[0]), values(leaf.in.elements() / channels), rows(rows_given) {}

  void forward(const ForwardCall& call, float epsilon) const {
    if (rows == 0) return;
    const bool trains = call.context.trains;
    for (std::int64_t c = 0; c < channels; ++c) {
      float mean = trains ? 0 : call.parameters[2][c];
      float variance = trains ? 0 : call.parameters[3][c];
      if (trains) {
        mean = static_cast<float>(over_channel(call.input, c, [](float x) { return x; }) / count());
        variance = static_cast<float>(over_channel(call.input, c, [&](float x) { return (x - mean) * (x - mean); }) / count());
      }
      const float inverse = inverse_of(variance, epsilon);
      const float weight = call.parameters[0][c];
      const float bias = call.parameters[1][c];
      each_block(c, [&](std::int64_t at, std::int64_t left) {
        FloatBlock x;
        x.load(call.input + at, left);
        for_lanes([&](int l) { x.values[l] = (x.values[l] - mean) * inverse * weight + bias; });
        x.store(call.output + at, left);
      });
      for (std::int64_t r = 0; r < rows && call.statistics != nullptr; ++r) {
        call.statistics[(r * channels + c) * 2] = mean;
        call.statistics[(r * channels + c) * 2 + 1] = variance;
      }
    }
  }
  void backward(const BackwardCall& call, float epsilon) const {
    float* const* const sums = call.parameter_gradients;
    for (int p = 0; p < 4 && sums != nullptr && rows == 0 && !call.add; ++p) EigenCompute::zero(sums[p], channels);
    for (std::int64_t c = 0; c < channels && rows > 0; ++c) {
      const float mean = call.statistics[c * 2];
      const float variance = call.statistics[c * 2 + 1];
      const float inverse = inverse_of(variance, epsilon);
      const float along =
          static_cast<float>(over_channel(call.input, call.output_gradient, c, [&](float x, float dy) { return dy * ((x - mean) * inverse); }));
      const float level = static_cast<float>(over_channel(call.output_gradient, c, [](float dy) { return dy; }));
      if (sums != nullptr) {
        const double n = call.context.trains ? count() : 0;  // running statistics that are read are not made
        put(along, sums[0][c], call.add);
        put(level, sums[1][c], call.add);
        put(n == 0 ? 0 : static_cast<float>(n * static_cast<double>(mean)), sums[2][c], call.add);
        put(n <= 1 ? 0 : static_cast<float>(n * (n / (n - 1)) * static_cast<double>(variance)), sums[3][c], call.add);
      }
      if (call.input_gradient != nullptr) pull_back(call, c, mean, inverse, along, level);
    }
  }

 private:
  [[nodiscard]] double count() const { return static_cast<double>(rows) * static_cast<double>(values); }
  [[nodiscard]] static float inverse_of(float variance, float epsilon) { return 1.0F / std::sqrt(variance + epsilon); }
  static void put(float sum, float& target, bool add) { target = add ? target + sum : sum; }

  /// visit(first element, elements of the row that are left there), block by block of a channel.
  template <class Visit> void each_block(std::int64_t c, const Visit& visit) const {
    for (std::int64_t r = 0; r < rows; ++r)
      for (std::int64_t i = 0; i < values; i += block_elements) visit((r * channels + c) * values + i, values - i);
  }
  /// The sum over a channel of term(x), or of term(x, dy).
  template <class Term> [[nodiscard]] double over_channel(const float* from, std::int64_t c, const Term& term) const {
    double sum = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      const float* const row = from + (r * channels + c) * values;
      FloatBlock x;
      sum += static_cast<double>(sum_of(
          values, [&](std::int64_t i) { x.load(row + i, values - i); }, [&](int l) { return term(x.values[l]); }));
    }
    return sum;
  }
  template <class Term> [[nodiscard]] double over_channel(const float* first, const float* second, std::int64_t c, const Term& term) const {
    double sum = 0;
    for (std::int64_t r = 0; r < rows; ++r) {
      const std::int64_t begin = (r * channels + c) * values;
      FloatBlock x;
      FloatBlock y;
      const auto load = [&](std::int64_t i) {
        x.load(first + begin + i, values - i);
        y.load(second + begin + i, values - i);
      };
      sum += static_cast<double>(sum_of(values, load, [&](int l) { return term(x.values[l], y.values[l]); }));
    }
    return sum;
  }
  /// dx = weight inverse (dy - mean of dy - x^ mean of dy x^), with x^ = (x - mean) inverse; of running statistics weight inverse dy.
  void pull_back(const BackwardCall& call, std::int64_t c, float mean, float inverse, float along, float level) const {
    const float factor = call.parameters[0][c] * inverse;
    const auto each = static_cast<float>(1 / count());
    each_block(c, [&](std::int64_t at, std::int64_t left) {
      FloatBlock x;
      FloatBlock dy;
      dy.load(call.output_gradient + at, left);
      if (call.context.trains) {
        x.load(call.input + at, left);
        for_lanes([&](int l) { dy.values[l] -= each * level + (x.values[l] - mean) * inverse * (each * along); });
      }
      for_lanes([&](int l) { dy.values[l] *= factor; });
      dy.store(call.input_gradient + at, left);
    });
  }
};

}  // namespace heddle::compute_room

namespace heddle {

/// BatchNorm2d on EigenCompute or what derives from it; the code does not depend on Channels.
///
/// Errors  none; rows may be 0
/// Tested  compute/eigen/batch_norm_test
template <std::int64_t Channels, class... Options, std::derived_from<compute_room::EigenCompute> C>
struct Kernel<graph_room::BatchNorm2d<Channels, Options...>, C> {
  static constexpr bool backward_in_parts = true;
  static void forward(const seams_room::ForwardCall& call) {
    compute_room::BatchNormKernel(*call.leaf, call.rows).forward(call, graph_room::BatchNorm2d<Channels, Options...>::epsilon);
  }
  static void backward(const seams_room::BackwardCall& call) {
    compute_room::BatchNormKernel(*call.leaf, call.rows).backward(call, graph_room::BatchNorm2d<Channels, Options...>::epsilon);
  }
};

}  // namespace heddle
