// SPDX-License-Identifier: MIT
// Room: compute. The forward of SelfAttention on a card: a block has a tile of queries of one head and passes over the tiles of keys.
// Sees: compute/cuda.  Does not see: policies, programs.
// In: packed queries, keys and values on a card.  Out: AttentionForward, queue_attention_forward.
#pragma once

#include <cmath>
#include <cstdint>

#include "heddle/compute/cuda/attention_tiles.hpp"
#include "heddle/compute/cuda/cuda.hpp"

namespace heddle::compute_room {

/// The outputs of 64 queries, in registers until the last key: what is summed is scaled down whenever a larger score is found. Of 150 positions a
/// head has 3 blocks, which read 9 tiles of keys, 6 of them under Causal.
///
/// Source  sources.md#flash-attention
/// Tested  compute/cuda/attention_forward_test, compute/cuda/attention_test
template <class Value, int Chunks, bool Drops> struct AttentionForward {
  static constexpr const char* name = "AttentionForward";
  static constexpr bool cooperative = true;

  [[nodiscard]] HEDDLE_HOST_DEVICE static bool keeps_queries(const AttentionSizes& e) { return e.chunks() <= 2; }
  [[nodiscard]] static Extents extents(const AttentionSizes& e) {
    const std::size_t numbers = Drops ? attention_tile * sizeof(std::uint64_t) : 0;
    return {e.sequences * e.heads * e.parts(Chunks) * e.tiles(), attention_threads, attention_shared(keeps_queries(e) ? e.chunks() : 1) + numbers};
  }

  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, AttentionSizes e, MaskOfCall drop, const CudaNumbers* live, const Value* input, Value* output,
                                float* statistics) const {
    AttentionPlace here = e.place(b.index(), e.heads, Chunks);
    if (e.causal) here.tile = e.tiles() - 1 - here.tile;  // those that see most keys begin first
    const bool kept = keeps_queries(e);
    const AttentionTiles<B> t{b, e, kept ? e.chunks() : 1};
    const int first = here.tile * attention_tile, key_value = here.head / e.shared_by();
    const HeadRows<Value> queries = HeadRows<Value>{input + e.query_at(here.sequence, here.head), e.width, e.positions}.tile(first);
    const HeadRows<Value> keys{input + e.key_at(here.sequence, key_value), e.width, e.positions};
    const HeadRows<Value> values{input + e.value_at(here.sequence, key_value), e.width, e.positions};
    const std::int64_t output_at = e.output_at(here.sequence, here.head) + first * e.out;
    std::uint64_t* numbers = nullptr;
    if constexpr (Drops) {
      numbers = b.template shared<std::uint64_t>(attention_tile);
      t.count_weights(drop, output_at, queries.count, numbers);
      b.sync();
    }
    if (kept) t.keep(queries);
    Queries q;
    for (int key = 0; key < e.seen_by_tile(first); key += attention_tile) {
      const HeadRows<Value> now = keys.tile(key);
      if constexpr (Drops) t.template draw<false>(drop, live->step, numbers, queries.count, key, now.count);
      AttentionScores scores;
      t.products(scores, queries, now, kept);
      weigh(b, t, e, queries.count, first, key, scores, q);
      for_each_chunk<Chunks>([&](auto n) {
        constexpr int chunk = decltype(n)::value;
        t.gather(q.sums[chunk], queries.count, values.tile(key), (here.part * Chunks + chunk) * attention_chunk);
      });
    }
    finish(b, queries.count, q);
    for_each_chunk<Chunks>([&](auto n) {
      constexpr int chunk = decltype(n)::value;
      t.write(output + output_at, e.out, queries.count, (here.part * Chunks + chunk) * attention_chunk, q.sums[chunk]);
    });
    if (here.part == 0 && statistics != nullptr && t.column(0) == 0)
      for (int i = 0; i < attention_rows; ++i)
        if (t.row(i) < queries.count)
          statistics[e.statistic_at(here.sequence, here.head) + (first + t.row(i)) * e.heads] = q.most[i] + std::log(q.powers[i]);
  }

 private:
  /// What a thread has of its 8 queries: the largest score so far, its share of the sum of powers, and 2 features of each chunk.
  struct Queries {
    float most[attention_rows], powers[attention_rows]{};
    AttentionFeatures sums[Chunks]{};
    HEDDLE_DEVICE Queries() {
      for (float& m : most) m = attention_lowest;
    }
  };
  /// The 16 threads of a row have its sum.
  template <BlockOfThreads B> HEDDLE_DEVICE static void finish(B& b, int count, Queries& q) {
    for (int i = 0; i < attention_rows; ++i) {
      if (!AttentionTiles<B>::any_has(i, count)) break;
      for (int d = 8; d > 0; d /= 2) q.powers[i] += b.shuffle_xor(q.powers[i], d);
      scale(q, i, 1.0F / q.powers[i]);
    }
  }
  HEDDLE_DEVICE static void scale(Queries& q, int i, float factor) {
    for_each_chunk<Chunks>([&](auto n) {
      q.sums[decltype(n)::value][i][0] *= factor;
      q.sums[decltype(n)::value][i][1] *= factor;
    });
  }
  /// weights = exp(scale scores - most) of keys that `count` queries see, and 0 of others; what was summed under a smaller `most` is scaled down.
  template <BlockOfThreads B>
  HEDDLE_DEVICE static void weigh(B& b, const AttentionTiles<B>& t, const AttentionSizes& e, int count, int query, int key, AttentionScores& scores,
                                  Queries& q) {
    for (int i = 0; i < attention_rows; ++i) {
      if (!AttentionTiles<B>::any_has(i, count)) break;
      const int seen = e.seen(query + t.row(i)) - key;
      float most = q.most[i];
      for (int j = 0; j < attention_columns; ++j) {
        scores[i][j] *= e.scale;
        if (t.column(j) < seen) most = Most::of(scores[i][j], most);  // of a NaN and `most` it is `most`
      }
      for (int d = 8; d > 0; d /= 2) most = Most::of(most, b.shuffle_xor(most, d));
      const float shift = most == attention_lowest ? 0.0F : most;  // all scores so far are -inf: their powers are 0, and no NaN
      const float smaller = q.most[i] == most ? 1.0F : std::exp(q.most[i] - shift);
      q.most[i] = most;
      q.powers[i] *= smaller;
      scale(q, i, smaller);
      for (int j = 0; j < attention_columns; ++j) {
        float weight = 0;
        if (t.column(j) < seen) {
          weight = std::exp(scores[i][j] - shift);
          q.powers[i] += weight;
          if constexpr (Drops) weight *= t.weight(i, j);
        }
        t.weight(i, j) = weight;
      }
    }
  }
};

/// Errors  R36
template <class Value, bool Drops>
void queue_attention_forward(const CudaQueue& queue, const AttentionSizes& e, const MaskOfCall& drop, const Value* input, Value* output,
                             float* statistics) {
  with_chunks_of_block<Value>(e.chunks(), [&](auto chunks) {
    using K = AttentionForward<Value, decltype(chunks)::value, Drops>;
    launch<K>(queue.stream, K::extents(e), e, drop, queue.numbers, input, output, statistics);
  });
}

}  // namespace heddle::compute_room
