// SPDX-License-Identifier: MIT
// Room: compute. LayerNorm and RMSNorm on a card: a warp or a block a vector, with the statistics that the forward has left.
// Sees: graph/layers/norm, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: ForwardCallIn<CudaMemory>, BackwardCallIn<CudaMemory>.  Out: Kernel<LayerNorm, CudaCompute>, Kernel<RMSNorm, CudaCompute>.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>

#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/vectors.hpp"
#include "heddle/graph/layers/norm.hpp"

namespace heddle::compute_room {

/// y = (x - mean) inverse weight + bias, where x is first made as the sum of two terms if they are given. A vector is read once if it fits into
/// registers: 1024 elements of a warp, 8192 of a block.
template <bool Centred, class Way> struct NormForward {
  static constexpr const char* name = "NormForward";
  static constexpr bool cooperative = true;
  static constexpr int each = Pack<float>::count;

  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t vectors, std::int64_t features, float epsilon, const float* input, const float* weight,
                                const float* bias, float* output, float* statistics, const float* first, const float* second, float* sum) const {
    const Team<Way::whole, B> team(b);
    const Places<Way> places(team, features, features % each == 0);
    const auto n = static_cast<float>(features);
    for (std::int64_t v = team.first(); v < vectors; v += team.teams()) {
      Pack<float> x[Way::packs]{};
      const float* const from = (sum != nullptr ? sum : input) + v * features;
      const auto again = [&](int k, const FourPlaces& at) {
        if (!places.one_tile()) x[k] = at.of(from);
      };
      float mean = 0;
      places.each([&](int k, const FourPlaces& at) {
        if (sum != nullptr) {
          const Pack<float> one = at.of(first + v * features), other = at.of(second + v * features);
          for (int e = 0; e < each; ++e) x[k].values[e] = one.values[e] + other.values[e];
          at.put(x[k], sum + v * features);
        } else {
          x[k] = at.of(from);
        }
        for (int e = 0; e < each && Centred; ++e) mean += at.has(e) ? x[k].values[e] : 0.0F;
      });
      if constexpr (Centred) mean = team.template folded<Added>(mean) / n;
      float squares = 0;
      places.each([&](int k, const FourPlaces& at) {
        again(k, at);
        for (int e = 0; e < each; ++e) squares += at.has(e) ? (x[k].values[e] - mean) * (x[k].values[e] - mean) : 0.0F;
      });
      const float inverse = 1.0F / std::sqrt(team.template folded<Added>(squares) / n + epsilon);
      places.each([&](int k, const FourPlaces& at) {
        again(k, at);
        const Pack<float> w = at.of(weight);
        const Pack<float> add = bias != nullptr ? at.of(bias) : Pack<float>{};
        for (int e = 0; e < each; ++e) x[k].values[e] = (x[k].values[e] - mean) * inverse * w.values[e] + add.values[e];
        at.put(x[k], output + v * features);
      });
      if (statistics == nullptr || team.thread() != 0) continue;
      if constexpr (Centred) statistics[2 * v] = mean;
      statistics[Centred ? 2 * v + 1 : v] = inverse;
    }
  }
};

/// The gradients of input and parameters, each if its pointer is not null, from one reading of both operands. Sums of the parameters over the vectors
/// that a block has go to its row of `sums` (blocks, features, or twice as many with a bias): first by each team, then over the warps of the block.
///
/// Law     bits of the gradient of the input are those of a vector, bits of sums those of the vectors and the number of blocks
template <bool Centred, class Way> struct NormBackward {
  static constexpr const char* name = "NormBackward";
  static constexpr bool cooperative = true;
  static constexpr int each = Pack<float>::count;
  using Registers = Pack<float>[Way::packs];

  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t vectors, std::int64_t features, bool has_bias, const float* input, const float* output_gradient,
                                const float* weight, const float* statistics, float* input_gradient, float* sums) const {
    const Team<Way::whole, B> team(b);
    const Places<Way> places(team, features, features % each == 0);
    const auto n = static_cast<float>(features);
    float* const own = sums != nullptr ? sums + b.index() * (has_bias ? 2 : 1) * features : nullptr;
    Registers x{}, dy{}, weights{}, biases{};
    for (std::int64_t v = team.first(); v < vectors; v += team.teams()) {
      const float mean = Centred ? statistics[2 * v] : 0.0F;
      const float inverse = statistics[Centred ? 2 * v + 1 : v];
      const auto read = [&](int k, const FourPlaces& at) {
        x[k] = at.of(input + v * features);
        dy[k] = at.of(output_gradient + v * features);
        for (float& value : x[k].values) value = (value - mean) * inverse;
      };
      float along = 0, level = 0;
      if (input_gradient != nullptr) {
        places.each([&](int k, const FourPlaces& at) {
          read(k, at);
          const Pack<float> w = at.of(weight);
          for (int e = 0; e < each; ++e) {
            const float g = at.has(e) ? dy[k].values[e] * w.values[e] : 0.0F;
            along += at.has(e) ? g * x[k].values[e] : 0.0F;
            level += g;
          }
        });
        along = team.template folded<Added>(along) / n;
        level = Centred ? team.template folded<Added>(level) / n : 0.0F;
      }
      const bool fresh = v == team.first();
      places.each([&](int k, const FourPlaces& at) {
        if (input_gradient == nullptr || !places.one_tile()) read(k, at);
        if (sums != nullptr) {
          if (!places.one_tile()) take(at, own, features, has_bias, fresh, weights[k], biases[k]);
          for (int e = 0; e < each; ++e) {
            weights[k].values[e] += dy[k].values[e] * x[k].values[e];
            biases[k].values[e] += dy[k].values[e];
          }
          if (!places.one_tile()) leave(at, own, features, has_bias, weights[k], biases[k]);
        }
        if (input_gradient == nullptr) return;
        const Pack<float> w = at.of(weight);
        Pack<float> made;
        for (int e = 0; e < each; ++e) made.values[e] = inverse * (dy[k].values[e] * w.values[e] - level - x[k].values[e] * along);
        at.put(made, input_gradient + v * features);
      });
    }
    if (sums == nullptr) return;
    if constexpr (!Way::whole) {
      float* const all = b.template shared<float>(warps_of_a_block * static_cast<int>(features));
      fold(b, team, places, weights, all, own);
      if (has_bias) fold(b, team, places, biases, all, own + features);
    } else if (places.one_tile()) {
      places.each([&](int k, const FourPlaces& at) { leave(at, own, features, has_bias, weights[k], biases[k]); });
    }
  }

 private:
  /// Sums of a vector of several tiles lie in memory between two vectors: each element is of one thread.
  HEDDLE_DEVICE static void take(const FourPlaces& at, const float* own, std::int64_t features, bool has_bias, bool fresh, Pack<float>& weights,
                                 Pack<float>& biases) {
    weights = fresh ? Pack<float>{} : at.of(own);
    biases = fresh || !has_bias ? Pack<float>{} : at.of(own + features);
  }
  HEDDLE_DEVICE static void leave(const FourPlaces& at, float* own, std::int64_t features, bool has_bias, const Pack<float>& weights,
                                  const Pack<float>& biases) {
    at.put(weights, own);
    if (has_bias) at.put(biases, own + features);
  }
  /// to = the sums of the warps of a block, in their order. `all` (warps, features) may be used again at once.
  template <BlockOfThreads B, class T>
  HEDDLE_DEVICE static void fold(B& b, const T& team, const Places<Way>& places, const Registers& of_warp, float* all, float* to) {
    const int n = places.elements();
    places.each([&](int k, const FourPlaces& at) { at.put(of_warp[k], all + team.warp() * n); });
    b.sync();
    for (int j = b.thread(); j < n; j += b.threads()) {
      float sum = all[j];
      for (int w = 1; w < warps_of_a_block; ++w) sum += all[w * n + j];
      to[j] = sum;
    }
    b.sync();
  }
};

/// weights and biases (features) = or += the sums over rows of `sums` (rows, features, or twice as many with biases). A block has 32 columns: its 8
/// warps share the rows, and their sums are added in the order of the warps.
struct FoldNormSums {
  static constexpr const char* name = "FoldNormSums";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t rows, std::int64_t features, const float* sums, float* weights, float* biases, bool add) const {
    const std::int64_t columns = biases != nullptr ? 2 * features : features;
    const int warp = b.thread() / warp_threads, warps = b.threads() / warp_threads;
    const std::int64_t j = std::int64_t{b.index()} * warp_threads + b.thread() % warp_threads;
    float* const all = b.template shared<float>(b.threads());
    float sum = 0;
    for (std::int64_t r = warp; r < rows && j < columns; r += warps) sum += sums[r * columns + j];
    all[b.thread()] = sum;
    b.sync();
    if (warp != 0 || j >= columns) return;
    for (int w = 1; w < warps; ++w) sum += all[w * warp_threads + b.thread()];
    float* const to = j < features ? weights + j : biases + (j - features);
    *to = (add ? *to : 0.0F) + sum;
  }
};

/// A norm over vectors of `features`, as NormKernel of Eigen. 4096 vectors of 768 have 256 blocks of 8 warps, each with 2 vectors, and the parameters
/// 256 rows of sums, which are 1,572,864 bytes with a bias.
///
/// Law     deterministic: the number of blocks depends on extents alone
/// Errors  R36; rows may be 0
/// Tested  compute/cuda/norm_test
template <bool Centred> struct CudaNorm {
  /// Rows of sums. More of them would only make the second kernel longer, and longer vectors need fewer for the same work.
  [[nodiscard]] static constexpr std::int64_t most_rows_of_sums(std::int64_t features) {
    constexpr std::int64_t elements = std::int64_t{1} << 20;
    return std::clamp<std::int64_t>(elements / features, 32, 256);
  }
  [[nodiscard]] static constexpr Bytes scratch(const Leaf& leaf) {
    const std::int64_t features = leaf.in.shape.last();
    return Bytes{most_rows_of_sums(features) * features * leaf.parameter_count * static_cast<std::int64_t>(sizeof(float))};
  }

  static void forward(const ForwardCallIn<CudaMemory>& call, float epsilon, const AddendsIn<CudaMemory>& made = {}) {
    const std::int64_t n = call.leaf->in.shape.last(), vectors = call.rows * (call.leaf->in.elements() / n);
    const float* const bias = call.leaf->parameter_count == 2 ? call.parameters[1] : nullptr;
    with_team(n, [&](auto way) {
      launch<NormForward<Centred, decltype(way)>>(call.space.queue->stream, extents_of_teams(way, vectors), vectors, n, epsilon, call.input,
                                                  call.parameters[0], bias, call.output, call.statistics, made.a, made.b, made.sum);
    });
  }
  static void backward(const BackwardCallIn<CudaMemory>& call) {
    const std::int64_t n = call.leaf->in.shape.last(), vectors = call.rows * (call.leaf->in.elements() / n);
    with_team(n, [&](auto way) {
      if (call.parameter_gradients != nullptr)
        with_sums(call, way, n, vectors);
      else if (call.input_gradient != nullptr)
        launch_backward(call, way, extents_of_teams(way, vectors), n, vectors, nullptr);
    });
  }

 private:
  template <class Way>
  static void launch_backward(const BackwardCallIn<CudaMemory>& call, Way, const Extents& extents, std::int64_t n, std::int64_t vectors,
                              float* sums) {
    const float* const weight = call.input_gradient != nullptr ? call.parameters[0] : nullptr;
    launch<NormBackward<Centred, Way>>(call.space.queue->stream, extents, vectors, n, call.leaf->parameter_count == 2, call.input,
                                       call.output_gradient, weight, call.statistics, call.input_gradient, sums);
  }
  template <class Way> static void with_sums(const BackwardCallIn<CudaMemory>& call, Way way, std::int64_t n, std::int64_t vectors) {
    auto* const sums = static_cast<float*>(call.workspace);
    Extents extents = extents_of_teams(way, vectors, most_rows_of_sums(n));
    if (!Way::whole) extents.shared_bytes += (static_cast<std::size_t>(warps_of_a_block * n) * sizeof(float) + 15) / 16 * 16;
    launch_backward(call, way, extents, n, vectors, sums);
    const int arrays = call.leaf->parameter_count;
    launch<FoldNormSums>(call.space.queue->stream,
                         Extents{(arrays * n + warp_threads - 1) / warp_threads, team_block_threads, team_block_threads * sizeof(float)},
                         extents.blocks, n, static_cast<const float*>(sums), call.parameter_gradients[0],
                         arrays == 2 ? call.parameter_gradients[1] : nullptr, call.add);
  }
};

/// The kernel of a norm L.
template <class L, bool Centred> struct CudaNormKernel {
  using Norm = CudaNorm<Centred>;
  static constexpr bool backward_in_parts = true;
  static constexpr Bytes scratch(const Leaf& leaf) { return Norm::scratch(leaf); }
  static void forward(const ForwardCallIn<CudaMemory>& call) { Norm::forward(call, L::epsilon); }
  static void forward_of_sum(const ForwardCallIn<CudaMemory>& call, const AddendsIn<CudaMemory>& sum) { Norm::forward(call, L::epsilon, sum); }
  static void backward(const BackwardCallIn<CudaMemory>& call) { Norm::backward(call); }
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
};

/// RMSNorm, as LayerNorm.
///
/// Errors  R36; rows may be 0
/// Tested  compute/cuda/norm_test
template <std::int64_t Features, class... Options, std::derived_from<compute_room::CudaCompute> C>
struct Kernel<graph_room::RMSNorm<Features, Options...>, C> : compute_room::CudaNormKernel<graph_room::RMSNorm<Features, Options...>, false> {
  using TakesSum = Kernel;
};

}  // namespace heddle
