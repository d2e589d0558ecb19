// SPDX-License-Identifier: MIT
// Room: compute. BatchNorm2d on a card: sums of each channel by several blocks, then a pass over its values; whole, or in phases.
// Sees: graph/layers/batch_norm, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: ForwardCallIn<CudaMemory>, BackwardCallIn<CudaMemory>.  Out: Kernel<BatchNorm2d, CudaCompute>.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>

#include "heddle/compute/cuda/channels.hpp"
#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/vectors.hpp"
#include "heddle/graph/layers/batch_norm.hpp"

namespace heddle::compute_room {

/// Where mean and variance of a channel come from: the sums of this grain, running ones, what all grains told, or what the forward has left.
enum class Moments : int { of_grain, running, told, left };

/// From what the values of a channel are told apart before they are summed and squared.
enum class Origin : int { first_value, zero, mean_of_told };

/// Sums of x - o and of its square, with the origin o of a channel. Its first value v keeps the digits of a variance beside a large mean: since
/// (v - mean)^2 is at most n times the variance, what is taken from the sum of squares is at most n times what remains, and that in double.
struct SumChannelMoments {
  static constexpr const char* name = "SumChannelMoments";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B, class Value>
  HEDDLE_DEVICE void operator()(B& b, Channels all, Origin origin, double all_values, const Value* input, const float* told, double* shares) const {
    const Team<true, B> team(b);
    const ShareOfChannel<B> own(b, all);
    const float off = origin == Origin::first_value ? as_float(input[own.first()])
                      : origin == Origin::zero      ? 0.0F
                                                    : static_cast<float>(static_cast<double>(told[own.channel()]) / all_values);
    TwoSums sums;
    own.each([&](std::int64_t at, int width) {
      const Pack<float> x = own.of(input, at, width);
      for (int e = 0; e < Pack<float>::count; ++e) {
        if (e >= width) continue;
        const double apart = static_cast<double>(x.values[e]) - static_cast<double>(off);
        sums.first += apart;
        sums.second += apart * apart;
      }
    });
    sums.leave(b, team, shares);
  }
};

/// tells (channels) = one of the two sums, a block a channel.
struct TellChannels {
  static constexpr const char* name = "TellChannels";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, int count, bool squares, const double* shares, float* tells) const {
    const Team<true, B> team(b);
    const TwoSums sums = TwoSums::of(b, team, shares, b.index(), count);
    if (b.thread() == 0) tells[b.index()] = static_cast<float>(squares ? sums.second : sums.first);
  }
};

/// y = (x - mean) inverse weight + bias; mean and variance are left in every row if `statistics` is not null. `mean` and `variance` are those of each
/// channel, or sums over `count` values where all grains told them.
struct NormaliseChannels {
  static constexpr const char* name = "NormaliseChannels";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B, class Value>
  HEDDLE_DEVICE void operator()(B& b, Channels all, Moments from, double count, float epsilon, const Value* input, const Value* weight,
                                const Value* bias, const float* means, const float* variances, const double* shares, Value* output,
                                float* statistics) const {
    const Team<true, B> team(b);
    const ShareOfChannel<B> own(b, all);
    const std::int64_t c = own.channel();
    float mean = 0, variance = 0;
    if (from == Moments::of_grain) {
      const TwoSums sums = TwoSums::of(b, team, shares, c, all.shares);
      const double off = sums.first / count, spread = (sums.second - sums.first * off) / count;
      mean = static_cast<float>(static_cast<double>(as_float(input[own.first()])) + off);
      variance = static_cast<float>(spread < 0 ? 0 : spread);
    } else if (from == Moments::told) {
      mean = static_cast<float>(static_cast<double>(means[c]) / count);
      variance = static_cast<float>(static_cast<double>(variances[c]) / count);
    } else {
      const std::int64_t at = from == Moments::left ? 2 * c : c;
      mean = means[at];
      variance = variances[at];
    }
    const float inverse = 1.0F / std::sqrt(variance + epsilon), w = as_float(weight[c]), add = as_float(bias[c]);
    own.each([&](std::int64_t at, int width) {
      Pack<float> x = own.of(input, at, width);
      for (float& value : x.values) value = (value - mean) * inverse * w + add;
      own.put(x, output, at, width);
    });
    if (statistics == nullptr) return;
    own.each_row([&](std::int64_t row) {
      statistics[(row * all.channels + c) * 2] = mean;
      statistics[(row * all.channels + c) * 2 + 1] = variance;
    });
  }
};

/// Of a channel of a grain: the sums of gradients of the output times normalised values, and of these gradients.
struct SumChannelGradients {
  static constexpr const char* name = "SumChannelGradients";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B, class Value>
  HEDDLE_DEVICE void operator()(B& b, Channels all, float epsilon, const Value* input, const Value* output_gradient, const float* statistics,
                                double* shares) const {
    const Team<true, B> team(b);
    const ShareOfChannel<B> own(b, all);
    const float mean = statistics[2 * own.channel()], inverse = 1.0F / std::sqrt(statistics[2 * own.channel() + 1] + epsilon);
    TwoSums sums;
    own.each([&](std::int64_t at, int width) {
      const Pack<float> x = own.of(input, at, width), dy = own.of(output_gradient, at, width);
      float along = 0, level = 0;
      for (int e = 0; e < Pack<float>::count; ++e) {
        if (e >= width) continue;
        along += dy.values[e] * ((x.values[e] - mean) * inverse);
        level += dy.values[e];
      }
      sums.first += static_cast<double>(along);
      sums.second += static_cast<double>(level);
    });
    sums.leave(b, team, shares);
  }
};

/// A block a channel: the gradients of weight and bias, and n times mean and unbiased variance, which are those of `together` values; n is 0 where
/// running statistics were read, since these are not made then. Both sums are told if `tells` is not null.
struct PutChannelSums {
  static constexpr const char* name = "PutChannelSums";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, int count, double n, double together, const double* shares, const float* statistics, float* weight, float* bias,
                                float* mean, float* variance, bool add, float* tells) const {
    const Team<true, B> team(b);
    const std::int64_t c = b.index();
    const TwoSums sums = TwoSums::of(b, team, shares, c, count);
    if (b.thread() != 0) return;
    const auto along = static_cast<float>(sums.first), level = static_cast<float>(sums.second);
    if (tells != nullptr) {
      tells[2 * c] = along;
      tells[2 * c + 1] = level;
    }
    if (weight == nullptr) return;
    const auto put = [add](float sum, float& target) { target = add ? target + sum : sum; };
    put(along, weight[c]);
    put(level, bias[c]);
    put(n == 0 ? 0.0F : static_cast<float>(n * static_cast<double>(statistics[2 * c])), mean[c]);
    put(n == 0 || together <= 1 ? 0.0F : static_cast<float>(n * (together / (together - 1)) * static_cast<double>(statistics[2 * c + 1])),
        variance[c]);
  }
};

/// dx = weight inverse (dy - mean of dy - x^ mean of dy x^), with x^ = (x - mean) inverse; of running statistics weight inverse dy. `told` has both
/// sums of each channel where all grains told them; each counts a `share` of them.
struct PullBackChannels {
  static constexpr const char* name = "PullBackChannels";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B, class Value>
  HEDDLE_DEVICE void operator()(B& b, Channels all, bool trains, double share, float epsilon, const Value* input, const Value* output_gradient,
                                const Value* weight, const float* statistics, const double* shares, const float* told, Value* input_gradient) const {
    const Team<true, B> team(b);
    const ShareOfChannel<B> own(b, all);
    const std::int64_t c = own.channel();
    float along = 0, level = 0;
    if (told != nullptr) {
      along = told[2 * c];
      level = told[2 * c + 1];
    } else if (trains) {
      const TwoSums sums = TwoSums::of(b, team, shares, c, all.shares);
      along = static_cast<float>(sums.first);
      level = static_cast<float>(sums.second);
    }
    const auto each = static_cast<float>(share);
    const float mean = statistics[2 * c], inverse = 1.0F / std::sqrt(statistics[2 * c + 1] + epsilon), factor = as_float(weight[c]) * inverse;
    own.each([&](std::int64_t at, int width) {
      Pack<float> dy = own.of(output_gradient, at, width);
      if (trains) {
        const Pack<float> x = own.of(input, at, width);
        for (int e = 0; e < Pack<float>::count; ++e) dy.values[e] -= each * level + (x.values[e] - mean) * inverse * (each * along);
      }
      for (float& gradient : dy.values) gradient *= factor;
      own.put(dy, input_gradient, at, width);
    });
  }
};

/// The functions of one type of BatchNorm2d, which differ by its epsilon alone. Of a grain that trains the forward reads the input twice and the
/// backward both operands twice, each time in one kernel over all channels.
///
/// Law     deterministic: the number of blocks depends on extents alone
/// Errors  R36; rows may be 0
/// Tested  compute/cuda/batch_norm_test
template <class L> struct CudaBatchNormOf {
  static constexpr bool backward_in_parts = true;
  static constexpr Bytes scratch(const Leaf& leaf) { return Channels::scratch(leaf); }

  template <class Value = float> static void forward(const ForwardCallIn<CudaMemory>& call) {
    if (!call.context.trains) return normalise<Value>(call, Moments::running, call.parameters[2], call.parameters[3], 0, call.statistics);
    sum_moments<Value>(call, Origin::first_value, 0);
    normalise<Value>(call, Moments::of_grain, nullptr, nullptr, Channels(*call.leaf, call.rows).count(), call.statistics);
  }
  template <class Value = float> static void backward(const BackwardCallIn<CudaMemory>& call) {
    const Channels all(*call.leaf, call.rows);
    sum_gradients<Value>(call, all.count());
    if (call.input_gradient != nullptr) pull_back<Value>(call, 1 / all.count(), nullptr);
  }

 protected:
  template <class Value> static void sum_moments(const ForwardCallIn<CudaMemory>& call, Origin origin, double all_values) {
    const Channels all(*call.leaf, call.rows);
    launch<SumChannelMoments>(call.space.queue->stream, all.extents(), all, origin, all_values, values_at<Value>(call.input),
                              origin == Origin::mean_of_told ? call.told[0] : nullptr, static_cast<double*>(call.workspace));
  }
  template <class Value>
  static void normalise(const ForwardCallIn<CudaMemory>& call, Moments from, const float* means, const float* variances, double count,
                        float* statistics) {
    const Channels all(*call.leaf, call.rows);
    launch<NormaliseChannels>(call.space.queue->stream, all.extents(), all, from, count, L::epsilon, values_at<Value>(call.input),
                              values_at<Value>(call.parameters[0]), values_at<Value>(call.parameters[1]), means, variances,
                              static_cast<const double*>(call.workspace), values_at<Value>(call.output), statistics);
  }
  /// Both sums of each channel, and what they are needed for beside the gradient of the input.
  template <class Value> static void sum_gradients(const BackwardCallIn<CudaMemory>& call, double together) {
    const Channels all(*call.leaf, call.rows);
    float* const* const to = call.parameter_gradients;
    if (all.rows == 0) {
      for (int p = 0; p < 4 && to != nullptr && !call.add; ++p) CudaCompute::zero(call.space, to[p], all.channels);
      if (call.tells != nullptr) CudaCompute::zero(call.space, call.tells, 2 * all.channels);
      return;
    }
    const bool puts = to != nullptr || call.tells != nullptr;
    if (!puts && !call.context.trains) return;
    auto* const shares = static_cast<double*>(call.workspace);
    launch<SumChannelGradients>(call.space.queue->stream, all.extents(), all, L::epsilon, values_at<Value>(call.input),
                                values_at<Value>(call.output_gradient), call.statistics, shares);
    if (!puts) return;
    launch<PutChannelSums>(call.space.queue->stream, all.a_warp_each(), all.shares, call.context.trains ? all.count() : 0, together,
                           static_cast<const double*>(shares), call.statistics, to == nullptr ? nullptr : to[0], to == nullptr ? nullptr : to[1],
                           to == nullptr ? nullptr : to[2], to == nullptr ? nullptr : to[3], call.add, call.tells);
  }
  template <class Value> static void pull_back(const BackwardCallIn<CudaMemory>& call, double share, const float* told) {
    const Channels all(*call.leaf, call.rows);
    launch<PullBackChannels>(call.space.queue->stream, all.extents(), all, call.context.trains, share, L::epsilon, values_at<Value>(call.input),
                             values_at<Value>(call.output_gradient), values_at<Value>(call.parameters[0]), call.statistics,
                             static_cast<const double*>(call.workspace), told, values_at<Value>(call.input_gradient));
  }
};

/// In phases: of 2 replicas each tells the sum of each channel, then of squares; backward two sums of gradients.
template <class L> struct CudaSynchronisedBatchNormOf : CudaBatchNormOf<L> {
  using Whole = CudaBatchNormOf<L>;
  static void sums(const ForwardCallIn<CudaMemory>& call) { tell(call, Origin::zero); }
  static void squares(const ForwardCallIn<CudaMemory>& call) { tell(call, Origin::mean_of_told); }
  static void normalise(const ForwardCallIn<CudaMemory>& call) {
    if (call.told == nullptr)
      Whole::template normalise<float>(call, Moments::left, call.statistics, call.statistics + 1, 0, nullptr);
    else
      Whole::template normalise<float>(call, Moments::told, call.told[0], call.told[1], all_values(call), call.statistics);
  }
  static void gradient_sums(const BackwardCallIn<CudaMemory>& call) { Whole::template sum_gradients<float>(call, all_values(call)); }
  static void pull_back(const BackwardCallIn<CudaMemory>& call) { Whole::template pull_back<float>(call, 1 / all_values(call), call.told[0]); }

  static constexpr ForwardPhaseIn<CudaMemory> forward_phases[3] = {&CudaSynchronisedBatchNormOf::sums, &CudaSynchronisedBatchNormOf::squares,
                                                                   &CudaSynchronisedBatchNormOf::normalise};
  static constexpr BackwardPhaseIn<CudaMemory> backward_phases[2] = {&CudaSynchronisedBatchNormOf::gradient_sums,
                                                                     &CudaSynchronisedBatchNormOf::pull_back};

 private:
  template <class Call> [[nodiscard]] static double all_values(const Call& call) {
    return static_cast<double>(call.context.rows_together) * static_cast<double>(Channels(*call.leaf, call.rows).values);
  }
  static void tell(const ForwardCallIn<CudaMemory>& call, Origin origin) {
    const Channels all(*call.leaf, call.rows);
    if (all.rows == 0) return CudaCompute::zero(call.space, call.tells, all.channels);
    Whole::template sum_moments<float>(call, origin, all_values(call));
    launch<TellChannels>(call.space.queue->stream, all.a_warp_each(), all.shares, origin == Origin::mean_of_told,
                         static_cast<const double*>(call.workspace), call.tells);
  }
};

}  // namespace heddle::compute_room

namespace heddle {

/// BatchNorm2d on CudaCompute or what derives from it; the code does not depend on Channels. With Synchronised it is Synchronised's as well, in
/// phases.
///
/// Errors  R36; rows may be 0
/// Tested  compute/cuda/batch_norm_test
template <std::int64_t Channels, class... Options, std::derived_from<compute_room::CudaCompute> C>
struct Kernel<graph_room::BatchNorm2d<Channels, Options...>, C> : compute_room::CudaBatchNormOf<graph_room::BatchNorm2d<Channels, Options...>> {
  using TakesBFloat16 = Kernel;
};
template <std::int64_t Channels, class... Options, std::derived_from<compute_room::CudaCompute> C>
requires graph_room::BatchNorm2d<Channels, Options...>::synchronised struct Kernel<graph_room::BatchNorm2d<Channels, Options...>, C>
    : compute_room::CudaSynchronisedBatchNormOf<graph_room::BatchNorm2d<Channels, Options...>> {
};

}  // namespace heddle
