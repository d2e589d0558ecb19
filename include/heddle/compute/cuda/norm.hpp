// SPDX-License-Identifier: MIT
// Room: compute. LayerNorm and RMSNorm on a card: a warp or a block a vector, with the statistics that the forward has left.
// Sees: graph/layers/norm, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: ForwardCallIn<CudaMemory>, BackwardCallIn<CudaMemory>.  Out: Kernel<LayerNorm, CudaCompute>, Kernel<RMSNorm, CudaCompute>.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <type_traits>

#include "heddle/compute/cuda/column_sums.hpp"
#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/vectors.hpp"
#include "heddle/graph/layers/norm.hpp"

namespace heddle::compute_room {

/// y = (x - mean) inverse weight + bias, where x is first made as the sum of two terms if they are given. A warp has a vector in bfloat16 in its
/// registers; one of floats is read anew for each step, from a cache that has it: in registers it would keep other warps from running.
template <class Value, bool Centred, class Way> struct NormForward {
  static constexpr const char* name = "NormForward";
  static constexpr bool cooperative = true;
  static constexpr int each = Pack<float>::count, most_threads = team_block_threads, blocks_at_once = Way::loops ? 4 : 2;

  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t vectors, std::int64_t features, float epsilon, const Value* input, const Value* weight,
                                const Value* bias, Value* output, float* statistics, const Value* first, const Value* second, Value* sum) const {
    const Team<Way::whole, B> team(b);
    const Places<Way> places(team, features, features % each == 0);
    const auto n = static_cast<float>(features);
    for (std::int64_t v = team.first(); v < vectors; v += team.teams()) {
      HeldVector<Value, Way> held((sum != nullptr ? sum : input) + v * features);
      if (sum == nullptr) {
        held.load(places);
      } else {
        HeldVector<Value, Way> terms(first + v * features), others(second + v * features);
        terms.load(places);
        others.load(places);
        places.each([&](int k, const FourPlaces& at) {
          Pack<float> made = terms.of(k, at);
          const Pack<float> other = others.of(k, at);
          for (int e = 0; e < each; ++e) made.values[e] += other.values[e];
          at.put(made, sum + v * features);
          held.keep(k, made);
        });
      }
      float mean = 0;
      if constexpr (Centred) {
        places.each([&](int k, const FourPlaces& at) {
          const Pack<float> x = held.of(k, at);
          for (int e = 0; e < each; ++e) mean += at.has(e) ? x.values[e] : 0.0F;
        });
        mean = team.template folded<Added>(mean) / n;
      }
      float squares = 0;
      places.each([&](int k, const FourPlaces& at) {
        const Pack<float> x = held.of(k, at);
        for (int e = 0; e < each; ++e) squares += at.has(e) ? (x.values[e] - mean) * (x.values[e] - mean) : 0.0F;
      });
      const float inverse = 1.0F / std::sqrt(team.template folded<Added>(squares) / n + epsilon);
      places.each([&](int k, const FourPlaces& at) {
        Pack<float> x = held.of(k, at);
        const Pack<float> w = at.of(weight);
        const Pack<float> add = bias != nullptr ? at.of(bias) : Pack<float>{};
        for (int e = 0; e < each; ++e) x.values[e] = (x.values[e] - mean) * inverse * w.values[e] + add.values[e];
        at.put(x, output + v * features);
      });
      if (statistics == nullptr || team.thread() != 0) continue;
      if constexpr (Centred) statistics[2 * v] = mean;
      statistics[Centred ? 2 * v + 1 : v] = inverse;
    }
  }
};

/// What the forward has left of a vector: of (1, 3) the mean 2 and 1 / sqrt(1 + epsilon).
template <bool Centred> struct NormOfVector {
  float mean, inverse;
  HEDDLE_DEVICE NormOfVector(const float* statistics, std::int64_t vector)
      : mean(Centred ? statistics[2 * vector] : 0.0F), inverse(statistics[Centred ? 2 * vector + 1 : vector]) {}
  [[nodiscard]] HEDDLE_DEVICE float of(float x) const { return (x - mean) * inverse; }
};

/// The gradient of the input.
///
/// Law     its bits are those of a vector
template <class Value, bool Centred, class Way> struct NormBackward {
  static constexpr const char* name = "NormBackward";
  static constexpr bool cooperative = true;
  static constexpr int each = Pack<float>::count, most_threads = team_block_threads, blocks_at_once = Way::loops ? 4 : 2;

  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t vectors, std::int64_t features, const Value* input, const Value* output_gradient,
                                const Value* weight, const float* statistics, Value* input_gradient) const {
    const Team<Way::whole, B> team(b);
    const Places<Way> places(team, features, features % each == 0);
    const auto n = static_cast<float>(features);
    for (std::int64_t v = team.first(); v < vectors; v += team.teams()) {
      const NormOfVector<Centred> norm(statistics, v);
      HeldVector<Value, Way> inputs(input + v * features), gradients(output_gradient + v * features);
      inputs.load(places);
      gradients.load(places);
      float along = 0, level = 0;
      places.each([&](int k, const FourPlaces& at) {
        const Pack<float> x = inputs.of(k, at), dy = gradients.of(k, at), w = at.of(weight);
        for (int e = 0; e < each; ++e) {
          const float g = at.has(e) ? dy.values[e] * w.values[e] : 0.0F;
          along += at.has(e) ? g * norm.of(x.values[e]) : 0.0F;
          level += g;
        }
      });
      along = team.template folded<Added>(along) / n;
      level = Centred ? team.template folded<Added>(level) / n : 0.0F;
      places.each([&](int k, const FourPlaces& at) {
        const Pack<float> x = inputs.of(k, at), w = at.of(weight);
        Pack<float> dy = gradients.of(k, at);
        for (int e = 0; e < each; ++e) dy.values[e] = norm.inverse * (dy.values[e] * w.values[e] - level - norm.of(x.values[e]) * along);
        at.put(dy, input_gradient + v * features);
      });
    }
  }
};
/// Terms of the gradient of the weight, dy times the normed x, and if the norm has a bias those of its gradient, dy itself: both of one reading.
template <bool Centred, bool HasBias> struct NormTerms {
  static constexpr int sums = HasBias ? 2 : 1;
  template <int Width, class Value>
  [[nodiscard]] HEDDLE_DEVICE static NumbersOfThread<sums * Width> of(std::int64_t row, std::int64_t at, const Value* input,
                                                                      const Value* output_gradient, const float* statistics) {
    const NormOfVector<Centred> norm(statistics, row);
    const NumbersOfThread<Width> x = neighbours_at<Width>(input + at), dy = neighbours_at<Width>(output_gradient + at);
    NumbersOfThread<sums * Width> terms;
    for (int k = 0; k < Width; ++k) {
      terms.values[k] = dy.values[k] * norm.of(x.values[k]);
      if constexpr (HasBias) terms.values[Width + k] = dy.values[k];
    }
    return terms;
  }
};

/// How a warp has a vector of up to 1024 values: whole packs of bfloat16 in its registers.
using WarpOfNorm = TeamWay<false, 2, true>;
using WarpOfPacks = TeamWay<false, 8, false, true>;
/// way(TeamWay<...>{}) for norms of n elements: a warp has a vector of up to 1024, a block one that is longer. A lane has the same elements in the
/// same order in both ways of a warp.
template <class Value, class Way> void with_team_of_norm(std::int64_t n, const Way& way) {
  if (n > 8 * warp_threads * Pack<float>::count) return way(TeamWay<true, 2>{});
  if constexpr (!std::is_same_v<Value, float>)
    if (is_whole_packs(n)) return way(WarpOfPacks{});
  way(WarpOfNorm{});
}

/// A norm over vectors of `features`, as NormKernel of Eigen. 4096 vectors of 768 have 512 blocks of 8 warps, each with a vector; gradients of
/// parameters are sums of columns.
///
/// Law     deterministic: the order of every sum depends on extents alone, so bfloat16 has the sums of the same floats
/// Errors  R36; rows may be 0
/// Tested  compute/cuda/norm_test
template <bool Centred> struct CudaNorm {
  template <class Value> static void forward(const ForwardCallIn<CudaMemory>& call, float epsilon, const AddendsIn<CudaMemory>& made = {}) {
    const std::int64_t n = call.leaf->in.shape.last(), vectors = call.rows * (call.leaf->in.elements() / n);
    const Value* const bias = call.leaf->parameter_count == 2 ? values_at<Value>(call.parameters[1]) : nullptr;
    with_team_of_norm<Value>(n, [&](auto way) {
      launch<NormForward<Value, Centred, decltype(way)>>(call.space.queue->stream, extents_of_teams(way, vectors), vectors, n, epsilon,
                                                         values_at<Value>(call.input), values_at<Value>(call.parameters[0]), bias,
                                                         values_at<Value>(call.output), call.statistics, values_at<Value>(made.a),
                                                         values_at<Value>(made.b), values_at<Value>(made.sum));
    });
  }
  template <class Value> static void backward(const BackwardCallIn<CudaMemory>& call) {
    const std::int64_t n = call.leaf->in.shape.last(), vectors = call.rows * (call.leaf->in.elements() / n);
    const cudaStream_t stream = call.space.queue->stream;
    const Value *const x = values_at<Value>(call.input), *const dy = values_at<Value>(call.output_gradient);
    if (call.parameter_gradients != nullptr) sums_of_parameters(call, vectors, n, x, dy);
    if (call.input_gradient == nullptr) return;
    with_team_of_norm<Value>(n, [&](auto way) {
      launch<NormBackward<Value, Centred, decltype(way)>>(stream, extents_of_teams(way, vectors), vectors, n, x, dy,
                                                          values_at<Value>(call.parameters[0]), call.statistics,
                                                          values_at<Value>(call.input_gradient));
    });
  }

 private:
  template <class Value>
  static void sums_of_parameters(const BackwardCallIn<CudaMemory>& call, std::int64_t vectors, std::int64_t n, const Value* x, const Value* dy) {
    float* const* const to = call.parameter_gradients;
    const auto queue = [&](auto terms, float* of_bias) {
      sums_of_terms<decltype(terms)>(call.space.queue->stream, vectors, n, is_whole_packs(n), {to[0], of_bias, call.add, call.workspace}, x, dy,
                                     call.statistics);
    };
    if constexpr (Centred)  // the other norm has no bias
      if (call.leaf->parameter_count == 2) return queue(NormTerms<true, true>{}, to[1]);
    queue(NormTerms<Centred, false>{}, nullptr);
  }
};

/// The kernel of a norm L.
template <class L, bool Centred> struct CudaNormKernel {
  using Norm = CudaNorm<Centred>;
  static constexpr bool backward_in_parts = true;
  static constexpr Bytes scratch(const Leaf& leaf) { return leaf.parameter_count * column_sums_scratch(leaf.in.shape.last()); }
  template <class Value = float> static void forward(const ForwardCallIn<CudaMemory>& call) { Norm::template forward<Value>(call, L::epsilon); }
  template <class Value = float> static void forward_of_sum(const ForwardCallIn<CudaMemory>& call, const AddendsIn<CudaMemory>& sum) {
    Norm::template forward<Value>(call, L::epsilon, sum);
  }
  template <class Value = float> static void backward(const BackwardCallIn<CudaMemory>& call) { Norm::template backward<Value>(call); }
};

}  // namespace heddle::compute_room

namespace heddle {

/// LayerNorm on CudaCompute or what derives from it; the code does not depend on Features.
///
/// Errors  R36; rows may be 0
/// Tested  compute/cuda/norm_test
template <std::int64_t Features, class... Options, std::derived_from<compute_room::CudaCompute> C>
struct Kernel<graph_room::LayerNorm<Features, Options...>, C> : compute_room::CudaNormKernel<graph_room::LayerNorm<Features, Options...>, true> {
  using TakesSum = Kernel;
  using TakesBFloat16 = Kernel;
};

/// RMSNorm, as LayerNorm.
///
/// Errors  R36; rows may be 0
/// Tested  compute/cuda/norm_test
template <std::int64_t Features, class... Options, std::derived_from<compute_room::CudaCompute> C>
struct Kernel<graph_room::RMSNorm<Features, Options...>, C> : compute_room::CudaNormKernel<graph_room::RMSNorm<Features, Options...>, false> {
  using TakesSum = Kernel;
  using TakesBFloat16 = Kernel;
};

}  // namespace heddle
