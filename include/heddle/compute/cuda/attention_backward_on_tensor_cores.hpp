// SPDX-License-Identifier: MIT
// Room: compute. The backward of SelfAttention on tensor cores: a kernel whose warps have 16 queries each, and one whose warps have 16 keys.
// Sees: compute/cuda.  Does not see: policies, programs.
// In: what the forward had and left, and the gradient of its output, on a card.  Out: kernels of the gradients of queries, and of keys and values.
#pragma once

#include <cmath>
#include <cstdint>

#include "heddle/compute/cuda/attention_on_tensor_cores.hpp"
#include "heddle/compute/cuda/attention_sizes.hpp"
#include "heddle/compute/cuda/cuda.hpp"

namespace heddle::compute_room {

/// As AttentionQueryGradients, with products of TF32 or bfloat16: P and dS = P (dP - D) scale are float32 until dS is rounded as a factor of dQ = dS
/// K. D_i = dO_i O_i takes dO as the products do, so that the slopes of a query sum to 0 up to float32.
///
/// Law     as AttentionForwardOnTensorCores
/// Source  sources.md#flash-attention, sources.md#ptx-mma
/// Tested  compute/cuda/attention_backward_on_tensor_cores_test
template <class Value, bool Drops> struct AttentionQueryGradientsOnTensorCores {
  static constexpr const char* name = "AttentionQueryGradientsOnTensorCores";
  static constexpr bool cooperative = true;

  [[nodiscard]] static Extents extents(const AttentionSizes& e) {
    return {e.sequences * e.heads * e.tiles(), attention_threads, KeyTiles<Value, true>::bytes};
  }
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, AttentionSizes e, MaskOfCall drop, const CudaNumbers* live, const Value* input, const Value* output,
                                const Value* output_gradient, const float* statistics, Value* input_gradient) const {
    using Tiles = KeyTiles<Value, true>;
    AttentionPlace here = e.place(b.index(), e.heads, e.chunks());
    if (e.causal) here.tile = e.tiles() - 1 - here.tile;  // those that see most keys begin first
    const int lane = b.thread() % warp_threads, own = here.tile * attention_tile + b.thread() / warp_threads * rows_of_warp;
    const std::int64_t query_at = e.query_at(here.sequence, here.head) + own * e.width;
    const std::int64_t output_at = e.output_at(here.sequence, here.head) + own * e.out;
    const HeadRows<Value> slope_rows{output_gradient + output_at, e.out, e.positions - own};
    LeftFactors<Value> queries, slopes;
    queries.load({input + query_at, e.width, e.positions - own}, e.features, lane);
    slopes.load(slope_rows, e.features, lane);
    float log_sums[2], along[2];
    for (int h = 0; h < 2; ++h) {
      const int row = lane / 4 + 8 * h;
      const bool there = row < slope_rows.count;
      log_sums[h] = there ? statistics[e.statistic_at(here.sequence, here.head) + (own + row) * e.heads] * log2_of_e : 0.0F;
      along[h] = there ? along_of(slope_rows.from + row * e.out, output + output_at + row * e.out, e.features, lane) : 0.0F;
      for (int d = 1; d < 4; d *= 2) along[h] += b.shuffle_xor(along[h], d);
    }
    KeptKeys<Drops> kept;
    kept.begin(drop, e, output_at, lane / 4);
    const std::uint64_t stream = Drops ? drop.stream(live->step) : 0;
    WarpFeatures sums{};
    pass_over_keys<Value, true>(b, e, here, input, [&](int key, const TensorFactor<Value>* keys, const TensorFactor<Value>* values) {
      kept.draw(b, drop, stream, key, passed_positions<Value>);
      WarpScores<Value> scores, weight_slopes;
      Tiles::Keys::over_features(b, scores, queries, keys, e.features);
      Tiles::Values::over_features(b, weight_slopes, slopes, values, e.features);
      for (int n = 0; n < passed_positions<Value> / 8; ++n)
        for (int i = 0; i < 4; ++i) {
          const int h = i / 2, column = 8 * n + lane % 4 * 2 + i % 2;
          const float weight = std::exp2(e.scale * log2_of_e * scores[n][i] - log_sums[h]);
          const bool seen = column < e.seen(own + lane / 4 + 8 * h) - key;
          scores[n][i] = seen ? weight * (kept.of(drop, h, column) * weight_slopes[n][i] - along[h]) * e.scale : 0.0F;
        }
      Tiles::Keys::over_positions(b, sums, scores, keys, e.features);
    });
    write_rows(input_gradient + query_at, e.width, e.positions - own, e.features, sums, {1, 1}, lane);
  }

 private:
  /// The share of one of the four lanes of a row.
  HEDDLE_DEVICE static float along_of(const Value* slope, const Value* output, int features, int lane) {
    float sum = 0;
    for (int f = lane % 4; f < features; f += 4) sum = std::fma(as_factor(slope[f]), as_float(output[f]), sum);
    return sum;
  }
};

/// As AttentionKeyGradients, with products of TF32 or bfloat16: dV = P^T dO and dK = dS^T Q of 64 keys, 16 of each warp.
///
/// Law     as AttentionForwardOnTensorCores
/// Source  sources.md#flash-attention, sources.md#grouped-query, sources.md#ptx-mma
/// Tested  compute/cuda/attention_backward_on_tensor_cores_test
template <class Value, bool Drops> struct AttentionKeyGradientsOnTensorCores {
  static constexpr const char* name = "AttentionKeyGradientsOnTensorCores";
  static constexpr bool cooperative = true;

  [[nodiscard]] static Extents extents(const AttentionSizes& e) {
    return {e.sequences * e.key_values * e.tiles(), attention_threads, 4 * (Tile::words * sizeof(Factor) + passed * sizeof(float))};
  }
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, AttentionSizes e, MaskOfCall drop, const CudaNumbers* live, const Value* input, const Value* output,
                                const Value* output_gradient, const float* statistics, Value* input_gradient) const {
    const AttentionPlace here = e.place(b.index(), e.key_values, e.chunks());
    const int lane = b.thread() % warp_threads, first = here.tile * attention_tile, own = first + b.thread() / warp_threads * rows_of_warp;
    const std::int64_t key_at = e.key_at(here.sequence, here.head) + own * e.width, value_at = e.value_at(here.sequence, here.head) + own * e.width;
    LeftFactors<Value> keys, values;
    keys.load({input + key_at, e.width, e.positions - own}, e.features, lane);
    values.load({input + value_at, e.width, e.positions - own}, e.features, lane);
    Factor* const tiles = b.template shared<Factor>(4 * Tile::words);  // of each buffer queries, then slopes
    float* const facts = b.template shared<float>(4 * passed);         // of each buffer log-sums, then D
    const std::uint64_t stream = Drops ? drop.stream(live->step) : 0;
    const int from = e.causal ? first : 0, each = (e.positions - from + passed - 1) / passed;
    const auto query_of = [&](int i) { return from + i % each * passed; };
    const auto head_of = [&](int i) { return here.head * e.shared_by() + i / each; };
    const auto fetch = [&](int i) {
      Queries next;
      next.load(e, here.sequence, head_of(i), query_of(i), input, output, output_gradient, statistics, b.thread());
      return next;
    };
    const auto store = [&](const Queries& next, int buffer) { next.store(b, tiles + buffer * 2 * Tile::words, facts + buffer * 2 * passed); };
    WarpFeatures key_sums{}, value_sums{};
    pass_over(b, e.shared_by() * each, fetch, store, [&](int i, int buffer) {
      const int query = query_of(i);
      if (own >= e.positions || (e.causal && query + passed <= own)) return;
      const Factor* const queries = tiles + buffer * 2 * Tile::words;
      const Factor* const gradients = queries + Tile::words;
      std::uint32_t kept = 0;
      if constexpr (Drops) kept = drawn(b, e, drop, stream, e.output_at(here.sequence, head_of(i)) + query * e.out, own);
      WarpScores<Value> scores, slopes;
      Tile::over_features(b, scores, keys, queries, e.features);
      Tile::over_features(b, slopes, values, gradients, e.features);
      weigh(b, e, drop, query, own, facts + buffer * 2 * passed, kept, scores, slopes);
      Tile::over_positions(b, value_sums, scores, gradients, e.features);
      Tile::over_positions(b, key_sums, slopes, queries, e.features);
    });
    write_rows(input_gradient + key_at, e.width, e.positions - own, e.features, key_sums, {1, 1}, lane);
    write_rows(input_gradient + value_at, e.width, e.positions - own, e.features, value_sums, {1, 1}, lane);
  }

 private:
  using Factor = TensorFactor<Value>;
  using Tile = PassedTile<Value, true, true>;
  static constexpr int passed = passed_positions<Value>;

  /// A tile of queries and of gradients of their outputs on its way, with the outputs for D and, in 16 or 32 threads, the log-sum of one query.
  struct Queries {
    FetchedTile<Value> queries, slopes, outputs;
    float log_sum = 0;

    HEDDLE_DEVICE void load(const AttentionSizes& e, std::int64_t sequence, int head, int query, const Value* input, const Value* output,
                            const Value* output_gradient, const float* statistics, int thread) {
      const std::int64_t output_at = e.output_at(sequence, head);
      const HeadRows<Value> of_input{input + e.query_at(sequence, head), e.width, e.positions};
      const HeadRows<Value> of_gradient{output_gradient + output_at, e.out, e.positions}, of_output{output + output_at, e.out, e.positions};
      queries.load(of_input.tile(query, passed), e.features, thread);
      slopes.load(of_gradient.tile(query, passed), e.features, thread);
      outputs.load(of_output.tile(query, passed), e.features, thread);
      if (thread < passed && query + thread < e.positions) log_sum = statistics[e.statistic_at(sequence, head) + (query + thread) * e.heads];
    }
    template <BlockOfThreads B> HEDDLE_DEVICE void store(B& b, Factor* tiles, float* facts) const {
      queries.template store<Tile>(tiles, b.thread());
      slopes.template store<Tile>(tiles + Tile::words, b.thread());
      for (int i = 0; i < FetchedTile<Value>::count; ++i) {
        const float along = slopes.along(b, outputs, i);
        if (FetchedTile<Value>::feature(b.thread()) == 0) facts[passed + FetchedTile<Value>::row(b.thread(), i)] = along;
      }
      if (b.thread() < passed) facts[b.thread()] = log_sum * log2_of_e;
    }
  };
  /// Bits of the 16 keys from `key` on for query lane % `passed` of a tile whose output begins at `at`: as many lanes as have a query draw it
  /// together.
  template <BlockOfThreads B>
  HEDDLE_DEVICE static std::uint32_t drawn(B& b, const AttentionSizes& e, const MaskOfCall& drop, std::uint64_t stream, std::int64_t at, int key) {
    const int lane = b.thread() % warp_threads;
    const std::uint64_t number = first_weight(drop, e, at + lane % passed * e.out) + static_cast<std::uint64_t>(key);
    std::uint32_t kept = kept_weights(drop, stream, number, rows_of_warp, lane / passed, warp_threads / passed);
    for (int d = passed; d < warp_threads; d *= 2) kept |= b.shuffle_xor(kept, d);
    return kept;
  }
  /// Scores become weights, as they multiply values, and slopes of weights those of scores. Rows are keys from `key` on, columns are queries; `kept`
  /// has bits of the keys for the query of the lane.
  template <BlockOfThreads B>
  HEDDLE_DEVICE static void weigh(B& b, const AttentionSizes& e, const MaskOfCall& drop, int query, int key, const float* facts, std::uint32_t kept,
                                  WarpScores<Value>& scores, WarpScores<Value>& slopes) {
    const int lane = b.thread() % warp_threads;
    for (int n = 0; n < passed / 8; ++n)
      for (int s = 0; s < 2; ++s) {
        const int column = 8 * n + lane % 4 * 2 + s, seen = e.seen(query + column) - key;
        std::uint32_t of_query = 0;
        if constexpr (Drops) of_query = b.shuffle_from(kept, column);
        for (int h = 0; h < 2; ++h) {
          float &score = scores[n][2 * h + s], &slope = slopes[n][2 * h + s];
          const int row = lane / 4 + 8 * h;
          const float weight = std::exp2(e.scale * log2_of_e * score - facts[column]);
          float factor = 1;
          if constexpr (Drops) factor = (of_query >> static_cast<unsigned>(row) & 1U) != 0 ? drop.scale : 0.0F;
          slope = row < seen ? weight * (factor * slope - facts[passed + column]) * e.scale : 0.0F;
          score = row < seen ? weight * factor : 0.0F;
        }
      }
  }
};

/// Errors  R36
template <class Value, bool Drops>
void queue_attention_backward_on_tensor_cores(const CudaQueue& queue, const AttentionSizes& e, const MaskOfCall& drop, const Value* input,
                                              const Value* output, const Value* output_gradient, const float* statistics, Value* input_gradient) {
  queue_attention_gradients<AttentionQueryGradientsOnTensorCores<Value, Drops>, AttentionKeyGradientsOnTensorCores<Value, Drops>>(
      queue, e, drop, input, output, output_gradient, statistics, input_gradient);
}

}  // namespace heddle::compute_room
