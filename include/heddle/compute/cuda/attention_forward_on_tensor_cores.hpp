// SPDX-License-Identifier: MIT
// Room: compute. The forward of SelfAttention on tensor cores: each warp has 16 queries of one head, and the block passes over tiles of keys.
// Sees: compute/cuda.  Does not see: policies, programs.
// In: packed queries, keys and values on a card.  Out: AttentionForwardOnTensorCores, queue_attention_forward_on_tensor_cores.
#pragma once

#include <cmath>
#include <cstdint>

#include "heddle/compute/cuda/attention_on_tensor_cores.hpp"
#include "heddle/compute/cuda/cuda.hpp"

namespace heddle::compute_room {

/// As AttentionForward, with products of TF32 or bfloat16: queries, keys, values and weights are rounded as factors, scores and all sums are float32.
/// Scores are multiplied by log2(e) as well, so that weights are powers of 2. Of 150 positions in bfloat16 a head has
/// 3 blocks, which read 15 tiles of keys, 11 of them under Causal.
///
/// Law     results are those of operands that are rounded before; the order of every sum depends on positions and features of a head alone
/// Source  sources.md#flash-attention, sources.md#ptx-mma
/// Tested  compute/cuda/attention_forward_on_tensor_cores_test
template <class Value, bool Drops> struct AttentionForwardOnTensorCores {
  static constexpr const char* name = "AttentionForwardOnTensorCores";
  static constexpr bool cooperative = true;

  [[nodiscard]] static Extents extents(const AttentionSizes& e) {
    return {e.sequences * e.heads * e.tiles(), attention_threads, KeyTiles<Value, false>::bytes};
  }
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, AttentionSizes e, MaskOfCall drop, const CudaNumbers* live, const Value* input, Value* output,
                                float* statistics) const {
    using Tiles = KeyTiles<Value, false>;
    AttentionPlace here = e.place(b.index(), e.heads, e.chunks());
    if (e.causal) here.tile = e.tiles() - 1 - here.tile;  // those that see most keys begin first
    const int lane = b.thread() % warp_threads, own = here.tile * attention_tile + b.thread() / warp_threads * rows_of_warp;
    const std::int64_t output_at = e.output_at(here.sequence, here.head) + own * e.out;
    LeftFactors<Value> queries;
    queries.load(HeadRows<Value>{input + e.query_at(here.sequence, here.head), e.width, e.positions}.tile(own), e.features, lane);
    KeptKeys<Drops> kept;
    kept.begin(drop, e, output_at, lane / 4);
    const std::uint64_t stream = Drops ? drop.stream(live->step) : 0;
    Queries q;
    pass_over_keys<Value, false>(b, e, here, input, [&](int key, const TensorFactor<Value>* keys, const TensorFactor<Value>* values) {
      kept.draw(b, drop, stream, key, passed_positions<Value>);
      WarpScores<Value> scores;
      Tiles::Keys::over_features(b, scores, queries, keys, e.features);
      for (int h = 0; h < 2; ++h) weigh(b, e, h, e.seen(own + lane / 4 + 8 * h) - key, scores, q);
      if constexpr (Drops)
        for (int n = 0; n < passed_positions<Value> / 8; ++n)
          for (int i = 0; i < 4; ++i) scores[n][i] *= kept.of(drop, i / 2, 8 * n + lane % 4 * 2 + i % 2);
      Tiles::Values::over_positions(b, q.sums, scores, values, e.features);
    });
    float factors[2];
    for (int h = 0; h < 2; ++h) {
      for (int d = 1; d < 4; d *= 2) q.powers[h] += b.shuffle_xor(q.powers[h], d);
      factors[h] = 1.0F / q.powers[h];
      const int row = lane / 4 + 8 * h;
      if (statistics != nullptr && lane % 4 == 0 && own + row < e.positions)
        statistics[e.statistic_at(here.sequence, here.head) + (own + row) * e.heads] = (q.most[h] + std::log2(q.powers[h])) * log_of_2;
    }
    write_rows(output + output_at, e.out, e.positions - own, e.features, q.sums, factors, lane);
  }

 private:
  /// What a thread has of its 2 queries: the largest score so far, its share of the sum of powers, and 16 features of each.
  struct Queries {
    float most[2] = {attention_lowest, attention_lowest}, powers[2]{};
    WarpFeatures sums{};
  };
  /// Scores of row h become weights 2^(score - most) of the first `seen` keys, and 0 of others; what was summed under a smaller `most` is scaled
  /// down.
  template <BlockOfThreads B> HEDDLE_DEVICE static void weigh(B& b, const AttentionSizes& e, int h, int seen, WarpScores<Value>& scores, Queries& q) {
    const int column = b.thread() % 4 * 2;
    float most = q.most[h];
    for (int n = 0; n < passed_positions<Value> / 8; ++n)
      for (int s = 0; s < 2; ++s) {
        float& score = scores[n][2 * h + s];
        score *= e.scale * log2_of_e;
        if (8 * n + column + s < seen) most = Most::of(score, most);  // of a NaN and `most` it is `most`
      }
    for (int d = 1; d < 4; d *= 2) most = Most::of(most, b.shuffle_xor(most, d));
    const float shift = most == attention_lowest ? 0.0F : most;  // all scores so far are -inf: their powers are 0, and no NaN
    const float smaller = std::exp2(q.most[h] - shift);
    q.most[h] = most;
    q.powers[h] *= smaller;
    for (auto& sum : q.sums)
      for (int s = 0; s < 2; ++s) sum[2 * h + s] *= smaller;
    for (int n = 0; n < passed_positions<Value> / 8; ++n)
      for (int s = 0; s < 2; ++s) {
        float& weight = scores[n][2 * h + s];
        weight = 8 * n + column + s < seen ? std::exp2(weight - shift) : 0.0F;
        q.powers[h] += weight;
      }
  }
};

/// Errors  R36
template <class Value, bool Drops>
void queue_attention_forward_on_tensor_cores(const CudaQueue& queue, const AttentionSizes& e, const MaskOfCall& drop, const Value* input,
                                             Value* output, float* statistics) {
  using K = AttentionForwardOnTensorCores<Value, Drops>;
  launch<K>(queue.stream, K::extents(e), e, drop, queue.numbers, input, output, statistics);
}

}  // namespace heddle::compute_room
