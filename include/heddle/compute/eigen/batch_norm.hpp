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
      normalise(call, c, mean, inverse_of(variance, epsilon));
      leave(call, c, mean, variance);
    }
  }
  void backward(const BackwardCall& call, float epsilon) const {
    float* const* const sums = call.parameter_gradients;
    for (int p = 0; p < 4 && sums != nullptr && rows == 0 && !call.add; ++p) EigenCompute::zero(sums[p], channels);
    for (std::int64_t c = 0; c < channels && rows > 0; ++c) {
      const GradientSums of = gradient_sums(call, c, epsilon);
      if (sums != nullptr) put_sums(call, c, of, count());
      if (call.input_gradient == nullptr) continue;
      pull_back(call, c, call.statistics[c * 2], inverse_of(call.statistics[c * 2 + 1], epsilon), of, 1 / count());
    }
  }

  // ---- phases of Synchronised: the sums of this grain first, then those of all rows
  void tell_sums(const ForwardCall& call) const {
    for (std::int64_t c = 0; c < channels; ++c) call.tells[c] = static_cast<float>(over_channel(call.input, c, [](float x) { return x; }));
  }
  void tell_squares(const ForwardCall& call) const {
    for (std::int64_t c = 0; c < channels; ++c) {
      const float mean = mean_of_all(call.told[0][c], call.context);
      call.tells[c] = static_cast<float>(over_channel(call.input, c, [&](float x) { return (x - mean) * (x - mean); }));
    }
  }
  void normalise_by_all(const ForwardCall& call, float epsilon) const {
    for (std::int64_t c = 0; c < channels && rows > 0; ++c) {
      const bool again = call.told == nullptr;
      const float mean = again ? call.statistics[c * 2] : mean_of_all(call.told[0][c], call.context);
      const float variance = again ? call.statistics[c * 2 + 1] : mean_of_all(call.told[1][c], call.context);
      normalise(call, c, mean, inverse_of(variance, epsilon));
      if (!again) leave(call, c, mean, variance);
    }
  }
  void tell_gradients(const BackwardCall& call, float epsilon) const {
    float* const* const sums = call.parameter_gradients;
    for (int p = 0; p < 4 && sums != nullptr && rows == 0 && !call.add; ++p) EigenCompute::zero(sums[p], channels);
    if (rows == 0 && call.tells != nullptr) EigenCompute::zero(call.tells, 2 * channels);
    for (std::int64_t c = 0; c < channels && rows > 0; ++c) {
      const GradientSums of = gradient_sums(call, c, epsilon);
      if (sums != nullptr) put_sums(call, c, of, all_values(call.context));
      if (call.tells == nullptr) continue;
      call.tells[2 * c] = of.along;
      call.tells[2 * c + 1] = of.level;
    }
  }
  void pull_back_by_all(const BackwardCall& call, float epsilon) const {
    const double each = 1 / all_values(call.context);
    for (std::int64_t c = 0; c < channels && rows > 0; ++c)
      pull_back(call, c, call.statistics[c * 2], inverse_of(call.statistics[c * 2 + 1], epsilon), {call.told[0][2 * c], call.told[0][2 * c + 1]},
                each);
  }

 private:
  /// Of a channel of a grain: the sums of gradients of the output times normalised values, and of these gradients. Where each gradient is 2 and the
  /// values have mean 0, along is 0 and level twice their number.
  struct GradientSums {
    float along = 0;
    float level = 0;
  };
  [[nodiscard]] double all_values(const CallContext& context) const {
    return static_cast<double>(context.rows_together) * static_cast<double>(values);
  }
  [[nodiscard]] float mean_of_all(float sum, const CallContext& context) const {
    return static_cast<float>(static_cast<double>(sum) / all_values(context));
  }
  void normalise(const ForwardCall& call, std::int64_t c, float mean, float inverse) const {
    const float weight = call.parameters[0][c];
    const float bias = call.parameters[1][c];
    each_block(c, [&](std::int64_t at, std::int64_t left) {
      FloatBlock x;
      x.load(call.input + at, left);
      for_lanes([&](int l) { x.values[l] = (x.values[l] - mean) * inverse * weight + bias; });
      x.store(call.output + at, left);
    });
  }
  void leave(const ForwardCall& call, std::int64_t c, float mean, float variance) const {
    for (std::int64_t r = 0; r < rows && call.statistics != nullptr; ++r) {
      call.statistics[(r * channels + c) * 2] = mean;
      call.statistics[(r * channels + c) * 2 + 1] = variance;
    }
  }
  [[nodiscard]] GradientSums gradient_sums(const BackwardCall& call, std::int64_t c, float epsilon) const {
    const float mean = call.statistics[c * 2];
    const float inverse = inverse_of(call.statistics[c * 2 + 1], epsilon);
    return {static_cast<float>(over_channel(call.input, call.output_gradient, c, [&](float x, float dy) { return dy * ((x - mean) * inverse); })),
            static_cast<float>(over_channel(call.output_gradient, c, [](float dy) { return dy; }))};
  }
  /// The gradients of weight and bias, and n times mean and unbiased variance, which are those of `together` values.
  void put_sums(const BackwardCall& call, std::int64_t c, const GradientSums& of, double together) const {
    float* const* const sums = call.parameter_gradients;
    const double n = call.context.trains ? count() : 0;  // running statistics that are read are not made
    put(of.along, sums[0][c], call.add);
    put(of.level, sums[1][c], call.add);
    put(n == 0 ? 0 : static_cast<float>(n * static_cast<double>(call.statistics[c * 2])), sums[2][c], call.add);
    put(n == 0 || together <= 1 ? 0 : static_cast<float>(n * (together / (together - 1)) * static_cast<double>(call.statistics[c * 2 + 1])),
        sums[3][c], call.add);
  }
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
  void pull_back(const BackwardCall& call, std::int64_t c, float mean, float inverse, const GradientSums& of, double share) const {
    const float factor = call.parameters[0][c] * inverse;
    const auto each = static_cast<float>(share);
    each_block(c, [&](std::int64_t at, std::int64_t left) {
      FloatBlock x;
      FloatBlock dy;
      dy.load(call.output_gradient + at, left);
      if (call.context.trains) {
        x.load(call.input + at, left);
        for_lanes([&](int l) { dy.values[l] -= each * of.level + (x.values[l] - mean) * inverse * (each * of.along); });
      }
      for_lanes([&](int l) { dy.values[l] *= factor; });
      dy.store(call.input_gradient + at, left);
    });
  }
};

/// The functions of one type of BatchNorm2d, which differ by its epsilon alone: BatchNorm2d<3> and BatchNorm2d<8> run the same code.
template <class L> struct BatchNormOf {
  static constexpr bool backward_in_parts = true;
  static void forward(const ForwardCall& call) { of(call).forward(call, L::epsilon); }
  static void backward(const BackwardCall& call) { of(call).backward(call, L::epsilon); }

 protected:
  template <class Call> [[nodiscard]] static BatchNormKernel of(const Call& call) { return {*call.leaf, call.rows}; }
};
/// In phases: of 2 replicas each tells the sum of each channel, then of squares; backward two sums of gradients.
template <class L> struct SynchronisedBatchNormOf : BatchNormOf<L> {
  static void sums(const ForwardCall& call) { SynchronisedBatchNormOf::of(call).tell_sums(call); }
  static void squares(const ForwardCall& call) { SynchronisedBatchNormOf::of(call).tell_squares(call); }
  static void normalise(const ForwardCall& call) { SynchronisedBatchNormOf::of(call).normalise_by_all(call, L::epsilon); }
  static void gradient_sums(const BackwardCall& call) { SynchronisedBatchNormOf::of(call).tell_gradients(call, L::epsilon); }
  static void pull_back(const BackwardCall& call) { SynchronisedBatchNormOf::of(call).pull_back_by_all(call, L::epsilon); }
  static constexpr ForwardPhase forward_phases[] = {&SynchronisedBatchNormOf::sums, &SynchronisedBatchNormOf::squares,
                                                    &SynchronisedBatchNormOf::normalise};
  static constexpr BackwardPhase backward_phases[] = {&SynchronisedBatchNormOf::gradient_sums, &SynchronisedBatchNormOf::pull_back};
};

}  // namespace heddle::compute_room

namespace heddle {

/// BatchNorm2d on EigenCompute or what derives from it; the code does not depend on Channels. With Synchronised it is Synchronised's as well, in
/// phases.
///
/// Errors  none; rows may be 0
/// Tested  compute/eigen/batch_norm_test
template <std::int64_t Channels, class... Options, std::derived_from<compute_room::EigenCompute> C>
struct Kernel<graph_room::BatchNorm2d<Channels, Options...>, C> : compute_room::BatchNormOf<graph_room::BatchNorm2d<Channels, Options...>> {};
template <std::int64_t Channels, class... Options, std::derived_from<compute_room::EigenCompute> C>
requires graph_room::BatchNorm2d<Channels, Options...>::synchronised struct Kernel<graph_room::BatchNorm2d<Channels, Options...>, C>
    : compute_room::SynchronisedBatchNormOf<graph_room::BatchNorm2d<Channels, Options...>> {
};

}  // namespace heddle
