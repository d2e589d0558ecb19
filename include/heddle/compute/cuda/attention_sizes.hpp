// SPDX-License-Identifier: MIT
// Room: compute. Extents of SelfAttention on a card, and which queries and keys a block has.
// Sees: graph/leaf, compute/cuda.  Does not see: policies, programs.
// In: a Leaf and rows.  Out: AttentionSizes, AttentionPlace, HeadRows, queue_attention_gradients.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>

#include "heddle/compute/cuda/block.hpp"
#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/dropout.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/graph/leaf.hpp"

namespace heddle::compute_room {

inline constexpr int attention_threads = 128;
inline constexpr int attention_tile = 64;   // positions of a tile, queries or keys
inline constexpr int attention_chunk = 32;  // features that are in shared memory at once
inline constexpr float attention_lowest = -std::numeric_limits<float>::infinity();

/// Some positions of one head: features of the first lie at `from`, those of the next `stride` values behind. A last tile of 70 positions has 6.
template <class Value> struct HeadRows {
  const Value* from;
  std::int64_t stride;
  int count;

  [[nodiscard]] HEDDLE_DEVICE HeadRows tile(int begin, int most = attention_tile) const {
    return {from + begin * stride, stride, count - begin < most ? count - begin : most};
  }
};

/// Which tile of which head a block makes, and which part of its features. Of 3 tiles, 2 heads and 1 part block 7 makes tile 1 of head 0 of
/// sequence 1.
struct AttentionPlace {
  std::int64_t sequence;
  int head, part, tile;
};

/// Extents of one call, all from the leaf: where heads are split it is smaller. 2 rows of (5, 24) through SelfAttention<Heads<4>> are 2 sequences of
/// 5 positions, 4 heads of 2 features, and as many of keys and values.
struct AttentionSizes {
  std::int64_t width, out, sequences;
  int positions, heads, features, key_values;
  bool causal;
  float scale;

  [[nodiscard]] static AttentionSizes of(const Leaf& leaf, std::int64_t rows, bool causal) {
    const std::int64_t positions = leaf.in.shape.sizes[leaf.in.shape.dimensions - 2], width = leaf.in.shape.last(), out = leaf.out.shape.last();
    const std::int64_t heads = leaf.statistics.last(), features = out / heads;
    return {width,
            out,
            rows * (leaf.in.elements() / (positions * width)),
            static_cast<int>(positions),
            static_cast<int>(heads),
            static_cast<int>(features),
            static_cast<int>((width - out) / (2 * features)),
            causal,
            static_cast<float>(1 / std::sqrt(static_cast<double>(features)))};
  }
  [[nodiscard]] HEDDLE_HOST_DEVICE int tiles() const { return (positions + attention_tile - 1) / attention_tile; }
  [[nodiscard]] HEDDLE_HOST_DEVICE int chunks() const { return (features + attention_chunk - 1) / attention_chunk; }
  /// A block has sums for so many chunks of features; of a larger head several blocks make the same weights, each for a part of the features.
  [[nodiscard]] HEDDLE_HOST_DEVICE int parts(int chunks_of_block) const { return (chunks() + chunks_of_block - 1) / chunks_of_block; }
  [[nodiscard]] HEDDLE_HOST_DEVICE int shared_by() const { return heads / key_values; }

  [[nodiscard]] HEDDLE_DEVICE AttentionPlace place(int block, int all_heads, int chunks_of_block) const {
    const int tile = block % tiles(), rest = block / tiles(), all_parts = parts(chunks_of_block);
    return {rest / all_parts / all_heads, rest / all_parts % all_heads, rest % all_parts, tile};
  }
  /// Where elements of position 0 begin: of the input and its gradient, of the output and its gradient, and of the statistics.
  [[nodiscard]] HEDDLE_DEVICE std::int64_t query_at(std::int64_t sequence, int head) const {
    return sequence * positions * width + std::int64_t{head} * features;
  }
  [[nodiscard]] HEDDLE_DEVICE std::int64_t key_at(std::int64_t sequence, int key_value) const { return query_at(sequence, heads + key_value); }
  [[nodiscard]] HEDDLE_DEVICE std::int64_t value_at(std::int64_t sequence, int key_value) const {
    return query_at(sequence, heads + key_values + key_value);
  }
  [[nodiscard]] HEDDLE_DEVICE std::int64_t output_at(std::int64_t sequence, int head) const {
    return sequence * positions * out + std::int64_t{head} * features;
  }
  [[nodiscard]] HEDDLE_DEVICE std::int64_t statistic_at(std::int64_t sequence, int head) const { return sequence * positions * heads + head; }
  /// A query sees the keys below this number. Positions behind the end, with which a last tile is filled, neither see nor are seen.
  [[nodiscard]] HEDDLE_DEVICE int seen(int query) const {
    if (query >= positions) return 0;
    return causal ? query + 1 : positions;
  }
  /// Keys that some of a tile of queries see.
  [[nodiscard]] HEDDLE_DEVICE int seen_by_tile(int first_query) const {
    return first_query + attention_tile < positions ? seen(first_query + attention_tile - 1) : positions;
  }
};

/// Queues both kernels of a backward.
///
/// Errors  R36
template <class Queries, class Keys, class Value>
void queue_attention_gradients(const CudaQueue& queue, const AttentionSizes& e, const MaskOfCall& drop, const Value* input, const Value* output,
                               const Value* output_gradient, const float* statistics, Value* input_gradient) {
  launch<Queries>(queue.stream, Queries::extents(e), e, drop, queue.numbers, input, output, output_gradient, statistics, input_gradient);
  launch<Keys>(queue.stream, Keys::extents(e), e, drop, queue.numbers, input, output, output_gradient, statistics, input_gradient);
}

}  // namespace heddle::compute_room
