// SPDX-License-Identifier: MIT
// Room: compute. The backward of SelfAttention on a card: one kernel whose blocks have tiles of queries, and one whose blocks have tiles of keys.
// Sees: compute/cuda.  Does not see: policies, programs.
// In: what the forward had and left, and the gradient of its output, on a card.  Out: AttentionQueryGradients, AttentionKeyGradients.
#pragma once

#include <cmath>
#include <cstdint>

#include "heddle/compute/cuda/attention_tiles.hpp"
#include "heddle/compute/cuda/cuda.hpp"

namespace heddle::compute_room {

/// What a block needs to know of 64 queries, in shared memory: log-sums, D_i = dO_i O_i, and the number of key 0 where weights are dropped.
template <bool Drops> struct QueryFacts {
  float* log_sums;
  float* along;
  std::uint64_t* numbers = nullptr;

  static constexpr std::size_t bytes = attention_tile * (2 * sizeof(float) + (Drops ? sizeof(std::uint64_t) : 0));
  template <BlockOfThreads B>
  HEDDLE_DEVICE explicit QueryFacts(B& b) : log_sums(b.template shared<float>(attention_tile)), along(b.template shared<float>(attention_tile)) {
    if constexpr (Drops) numbers = b.template shared<std::uint64_t>(attention_tile);
  }
  /// Those of `count` queries from `first` on. Each warp has every fourth of them, so a warp reads features that lie behind one another.
  template <BlockOfThreads B, class Value>
  HEDDLE_DEVICE void find(B& b, const AttentionTiles<B>& t, const AttentionSizes& e, const MaskOfCall& drop, std::int64_t sequence, int head,
                          int first, int count, const Value* output, const Value* output_gradient, const float* statistics) const {
    const std::int64_t at = e.output_at(sequence, head) + first * e.out;
    const int lane = b.thread() % warp_threads;
    for (int i = b.thread() / warp_threads; i < count; i += attention_threads / warp_threads) {
      float sum = 0;
      for (int f = lane; f < e.features; f += warp_threads)
        sum = std::fma(as_float(output_gradient[at + i * e.out + f]), as_float(output[at + i * e.out + f]), sum);
      sum = warp_fold<Sum>(b, sum);
      if (lane == 0) {
        along[i] = sum;
        log_sums[i] = statistics[e.statistic_at(sequence, head) + (first + i) * e.heads];
      }
    }
    if constexpr (Drops) t.count_weights(drop, at, count, numbers);
    b.sync();
  }
};

/// With P the weights again and dP = dO V^T, dropped alike: dS = P (dP - D) scale, and dQ = dS K of 64 queries, summed over the tiles of keys in
/// their order.
///
/// Source  sources.md#flash-attention
/// Tested  compute/cuda/attention_backward_test, compute/cuda/attention_test
template <class Value, int Chunks, bool Drops> struct AttentionQueryGradients {
  static constexpr const char* name = "AttentionQueryGradients";
  static constexpr bool cooperative = true;

  [[nodiscard]] static Extents extents(const AttentionSizes& e) {
    return {e.sequences * e.heads * e.parts(Chunks) * e.tiles(), attention_threads, attention_shared(1) + QueryFacts<Drops>::bytes};
  }
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, AttentionSizes e, MaskOfCall drop, const CudaNumbers* live, const Value* input, const Value* output,
                                const Value* output_gradient, const float* statistics, Value* input_gradient) const {
    AttentionPlace here = e.place(b.index(), e.heads, Chunks);
    if (e.causal) here.tile = e.tiles() - 1 - here.tile;  // those that see most keys begin first
    const AttentionTiles<B> t{b, e};
    const QueryFacts<Drops> facts{b};
    const int first = here.tile * attention_tile, key_value = here.head / e.shared_by();
    const HeadRows<Value> queries = HeadRows<Value>{input + e.query_at(here.sequence, here.head), e.width, e.positions}.tile(first);
    const HeadRows<Value> slopes = HeadRows<Value>{output_gradient + e.output_at(here.sequence, here.head), e.out, e.positions}.tile(first);
    const HeadRows<Value> keys{input + e.key_at(here.sequence, key_value), e.width, e.positions};
    const HeadRows<Value> values{input + e.value_at(here.sequence, key_value), e.width, e.positions};
    facts.find(b, t, e, drop, here.sequence, here.head, first, queries.count, output, output_gradient, statistics);
    AttentionFeatures sums[Chunks]{};
    for (int key = 0; key < e.seen_by_tile(first); key += attention_tile) {
      const HeadRows<Value> now = keys.tile(key);
      if constexpr (Drops) t.template draw<false>(drop, live->step, facts.numbers, queries.count, key, now.count);
      AttentionScores scores, weight_slopes;
      t.products(scores, queries, now);
      t.products(weight_slopes, slopes, values.tile(key));
      for (int i = 0; i < attention_rows; ++i) {
        const float log_sum = facts.log_sums[t.row(i)], along = facts.along[t.row(i)];
        const int seen = e.seen(first + t.row(i)) - key;
        for (int j = 0; j < attention_columns; ++j) {
          float slope = 0;
          if (t.column(j) < seen) {
            if constexpr (Drops) weight_slopes[i][j] *= t.weight(i, j);
            slope = std::exp(e.scale * scores[i][j] - log_sum) * (weight_slopes[i][j] - along) * e.scale;
          }
          t.weight(i, j) = slope;
        }
      }
      for_each_chunk<Chunks>([&](auto n) {
        constexpr int chunk = decltype(n)::value;
        t.gather(sums[chunk], queries.count, now, (here.part * Chunks + chunk) * attention_chunk);
      });
    }
    Value* const target = input_gradient + e.query_at(here.sequence, here.head) + first * e.width;
    for_each_chunk<Chunks>([&](auto n) {
      constexpr int chunk = decltype(n)::value;
      t.write(target, e.width, queries.count, (here.part * Chunks + chunk) * attention_chunk, sums[chunk]);
    });
  }
};

/// With the same dS: dV = P^T dO and dK = dS^T Q of 64 keys, summed over the heads that share them and the tiles of their queries in their order.
///
/// Source  sources.md#flash-attention, sources.md#grouped-query
/// Tested  compute/cuda/attention_backward_test, compute/cuda/attention_test
template <class Value, int Chunks, bool Drops> struct AttentionKeyGradients {
  static constexpr const char* name = "AttentionKeyGradients";
  static constexpr bool cooperative = true;

  [[nodiscard]] static Extents extents(const AttentionSizes& e) {
    return {e.sequences * e.key_values * e.parts(Chunks) * e.tiles(), attention_threads, attention_shared(1) + QueryFacts<Drops>::bytes};
  }
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, AttentionSizes e, MaskOfCall drop, const CudaNumbers* live, const Value* input, const Value* output,
                                const Value* output_gradient, const float* statistics, Value* input_gradient) const {
    const AttentionPlace here = e.place(b.index(), e.key_values, Chunks);
    const AttentionTiles<B> t{b, e};
    const QueryFacts<Drops> facts{b};
    const int first = here.tile * attention_tile, part = here.part * Chunks * attention_chunk;
    const std::int64_t key_at = e.key_at(here.sequence, here.head), value_at = e.value_at(here.sequence, here.head);
    const HeadRows<Value> keys = HeadRows<Value>{input + key_at, e.width, e.positions}.tile(first);
    const HeadRows<Value> values = HeadRows<Value>{input + value_at, e.width, e.positions}.tile(first);
    AttentionFeatures key_sums[Chunks]{}, value_sums[Chunks]{};
    for (int head = here.head * e.shared_by(); head < (here.head + 1) * e.shared_by(); ++head)
      for (int query = e.causal ? first : 0; query < e.positions; query += attention_tile) {
        const HeadRows<Value> queries = HeadRows<Value>{input + e.query_at(here.sequence, head), e.width, e.positions}.tile(query);
        const HeadRows<Value> slopes = HeadRows<Value>{output_gradient + e.output_at(here.sequence, head), e.out, e.positions}.tile(query);
        facts.find(b, t, e, drop, here.sequence, head, query, queries.count, output, output_gradient, statistics);
        if constexpr (Drops) t.template draw<true>(drop, live->step, facts.numbers, queries.count, first, keys.count);
        AttentionScores scores, weight_slopes;
        t.products(scores, keys, queries);
        t.products(weight_slopes, values, slopes);
        weigh(t, e, facts, query, first, scores, weight_slopes);
        for_each_chunk<Chunks>(
            [&](auto n) { t.gather(value_sums[decltype(n)::value], keys.count, slopes, part + decltype(n)::value * attention_chunk); });
        for (int i = 0; i < attention_rows; ++i)
          for (int j = 0; j < attention_columns; ++j) t.weight(i, j) = weight_slopes[i][j];
        for_each_chunk<Chunks>(
            [&](auto n) { t.gather(key_sums[decltype(n)::value], keys.count, queries, part + decltype(n)::value * attention_chunk); });
      }
    const std::int64_t down = first * e.width;
    for_each_chunk<Chunks>([&](auto n) {
      constexpr int chunk = decltype(n)::value;
      t.write(input_gradient + key_at + down, e.width, keys.count, part + chunk * attention_chunk, key_sums[chunk]);
      t.write(input_gradient + value_at + down, e.width, keys.count, part + chunk * attention_chunk, value_sums[chunk]);
    });
  }

 private:
  /// `slopes` of weights become those of scores; the weights, as they multiply values, go to shared memory.
  template <BlockOfThreads B>
  HEDDLE_DEVICE static void weigh(const AttentionTiles<B>& t, const AttentionSizes& e, const QueryFacts<Drops>& facts, int query, int key,
                                  const AttentionScores& scores, AttentionScores& slopes) {
    for (int j = 0; j < attention_columns; ++j) {
      const float log_sum = facts.log_sums[t.column(j)], along = facts.along[t.column(j)];
      const int seen = e.seen(query + t.column(j)) - key;
      for (int i = 0; i < attention_rows; ++i) {
        float kept = 0, slope = 0;
        if (t.row(i) < seen) {
          const float factor = Drops ? t.weight(i, j) : 1.0F, weight = std::exp(e.scale * scores[i][j] - log_sum);
          kept = weight * factor;
          slope = weight * (factor * slopes[i][j] - along) * e.scale;
        }
        t.weight(i, j) = kept;
        slopes[i][j] = slope;
      }
    }
  }
};

/// Errors  R36
template <class Value, bool Drops>
void queue_attention_backward(const CudaQueue& queue, const AttentionSizes& e, const MaskOfCall& drop, const Value* input, const Value* output,
                              const Value* output_gradient, const float* statistics, Value* input_gradient) {
  with_chunks_of_block<Value>(e.chunks(), [&](auto chunks) {
    constexpr int count = decltype(chunks)::value;
    queue_attention_gradients<AttentionQueryGradients<Value, count, Drops>, AttentionKeyGradients<Value, count, Drops>>(
        queue, e, drop, input, output, output_gradient, statistics, input_gradient);
  });
}

}  // namespace heddle::compute_room
