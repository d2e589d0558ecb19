// SPDX-License-Identifier: MIT
// Room: compute. Softmax and LogSoftmax on a card: a warp or a block a vector of the last dimension.
// Sees: graph/layers/softmax, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: ForwardCallIn<CudaMemory>, BackwardCallIn<CudaMemory>.  Out: Kernel<Softmax, CudaCompute>, Kernel<LogSoftmax, CudaCompute>, sum_of_powers.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>

#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/vectors.hpp"
#include "heddle/graph/layers/softmax.hpp"

namespace heddle::compute_room {

/// exp(x - most), also where both are -infinity: what is masked out has no share. The power is made in any case, so that no branch stands before it.
[[nodiscard]] HEDDLE_DEVICE inline float power_of(float x, float most) {
  const float power = std::exp(x - most);
  return x == -infinity ? 0.0F : power;
}
/// By what a sum of powers beside one largest element becomes that beside another, which is no smaller.
[[nodiscard]] HEDDLE_DEVICE inline float factor_between(float most, float larger) { return most == larger ? 1.0F : std::exp(most - larger); }

/// Of a vector (2, 2, -infinity) the largest element is 2 and the sum of exp(x - 2) is 2. Where all elements are -infinity the sum is 0; a NaN makes
/// it NaN.
struct SumOfPowers {
  float most;
  double sum;
};

/// Reads a vector once and leaves the last tile in `x`; also(x, place) is told every element. A thread adds up to 32 powers in float, and these sums
/// in double.
///
/// Law     bits depend on the vector and on how it is shared alone
template <class Value, class Way, class Team, class Also>
[[nodiscard]] HEDDLE_DEVICE SumOfPowers sum_of_powers(const Team& team, const Places<Way>& places, const Value* from, TileValues<Value, Way>& x,
                                                      const Also& also) {
  float most = -infinity;
  double sum = 0;
  for (int begin = 0; begin < places.elements(); begin += places.tile()) {
    const float before = most;
    read_tile<Value, Way>(places, begin, from, x);
    places.of_tile(begin, [&](int k, const FourPlaces& at) {
      const Pack<float> four = as_floats(x[k]);
      for (int e = 0; e < Pack<float>::count; ++e) {
        if (!at.has(e)) continue;
        if (four.values[e] > most) most = four.values[e];
        also(four.values[e], at.place(e));
      }
    });
    float powers = 0;
    places.of_tile(begin, [&](int k, const FourPlaces& at) {
      const Pack<float> four = as_floats(x[k]);
      for (int e = 0; e < Pack<float>::count; ++e)
        if (at.has(e)) powers += power_of(four.values[e], most);
    });
    sum = sum * static_cast<double>(factor_between(before, most)) + static_cast<double>(powers);
  }
  const float all = team.template folded<Larger>(most);
  return {all, team.template folded<Added>(sum * static_cast<double>(factor_between(most, all)))};
}

/// y = exp(x - m) / sum of exp(x - m), or x - m - log of the sum, with the largest element m.
template <class Value, bool Logarithm, class Way> struct SoftmaxForward {
  static constexpr const char* name = "SoftmaxForward";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, std::int64_t vectors, std::int64_t n, const Value* input, Value* output) const {
    const Team<Way::whole, B> team(b);
    const Places<Way> places(team, n, n % Pack<float>::count == 0);
    for (std::int64_t v = team.first(); v < vectors; v += team.teams()) {
      TileValues<Value, Way> x{};
      const Value* const from = input + v * n;
      const SumOfPowers of = sum_of_powers(team, places, from, x, [](float, int) {});
      const auto share = static_cast<float>(1 / of.sum);  // infinite where all is masked out, so that 0 times it is NaN
      const auto log_sum = static_cast<float>(std::log(of.sum));
      places.each_tile([&](int begin) {
        if (!places.one_tile()) read_tile<Value, Way>(places, begin, from, x);
        places.of_tile(begin, [&](int k, const FourPlaces& at) {
          Pack<float> made = as_floats(x[k]);
          for (float& value : made.values) value = Logarithm ? value - of.most - log_sum : power_of(value, of.most) * share;
          at.put(made, output + v * n);
        });
      });
    }
  }
};

/// dx_i = y_i (dy_i - sum_j dy_j y_j); of the logarithm dx_i = dy_i - exp(y_i) sum_j dy_j.
template <class Value, bool Logarithm, class Way> struct SoftmaxBackward {
  static constexpr const char* name = "SoftmaxBackward";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t vectors, std::int64_t n, const Value* output, const Value* output_gradient,
                                Value* input_gradient) const {
    const Team<Way::whole, B> team(b);
    const Places<Way> places(team, n, n % Pack<float>::count == 0);
    for (std::int64_t v = team.first(); v < vectors; v += team.teams()) {
      Pack<float> y[Way::packs]{}, dy[Way::packs]{};
      const auto read = [&](int k, const FourPlaces& at) {
        y[k] = at.of(output + v * n);
        dy[k] = at.of(output_gradient + v * n);
      };
      double sum = 0;
      places.each([&](int k, const FourPlaces& at) {
        read(k, at);
        for (int e = 0; e < Pack<float>::count; ++e)
          if (at.has(e)) sum += static_cast<double>(dy[k].values[e]) * (Logarithm ? 1.0 : static_cast<double>(y[k].values[e]));
      });
      const auto all = static_cast<float>(team.template folded<Added>(sum));
      places.each([&](int k, const FourPlaces& at) {
        if (!places.one_tile()) read(k, at);
        for (int e = 0; e < Pack<float>::count; ++e) {
          const float own = y[k].values[e], gradient = dy[k].values[e];
          dy[k].values[e] = Logarithm ? gradient - std::exp(own) * all : own * (gradient - all);
        }
        at.put(dy[k], input_gradient + v * n);
      });
    }
  }
};

/// Each vector of the last dimension by itself, as SoftmaxKernel of Eigen: (8, 64) has 8 vectors a row, which are one block's.
///
/// Errors  R36; rows may be 0. A vector with a NaN, or of -infinity alone, is NaN throughout, as PyTorch's
/// Tested  compute/cuda/softmax_test
template <bool Logarithm> struct CudaSoftmax {
  template <class Value = float> static void forward(const ForwardCallIn<CudaMemory>& call) {
    const std::int64_t n = call.leaf->in.shape.last(), vectors = call.rows * (call.leaf->in.elements() / n);
    with_team(n, [&](auto way) {
      launch<SoftmaxForward<Value, Logarithm, decltype(way)>>(call.space.queue->stream, extents_of_teams(way, vectors), vectors, n,
                                                              values_at<Value>(call.input), values_at<Value>(call.output));
    });
  }
  template <class Value = float> static void backward(const BackwardCallIn<CudaMemory>& call) {
    if (call.input_gradient == nullptr) return;
    const std::int64_t n = call.leaf->in.shape.last(), vectors = call.rows * (call.leaf->in.elements() / n);
    with_team(n, [&](auto way) {
      launch<SoftmaxBackward<Value, Logarithm, decltype(way)>>(call.space.queue->stream, extents_of_teams(way, vectors), vectors, n,
                                                               values_at<Value>(call.output), values_at<Value>(call.output_gradient),
                                                               values_at<Value>(call.input_gradient));
    });
  }
};

}  // namespace heddle::compute_room

namespace heddle {

template <std::derived_from<compute_room::CudaCompute> C> struct Kernel<graph_room::Softmax, C> : compute_room::CudaSoftmax<false> {
  using TakesBFloat16 = Kernel;
};
template <std::derived_from<compute_room::CudaCompute> C> struct Kernel<graph_room::LogSoftmax, C> : compute_room::CudaSoftmax<true> {
  using TakesBFloat16 = Kernel;
};

}  // namespace heddle
