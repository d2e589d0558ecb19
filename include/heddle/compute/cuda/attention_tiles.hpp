// SPDX-License-Identifier: MIT
// Room: compute. What the kernels of SelfAttention in float32 share: draws of dropped weights, and products of tiles in shared memory.
// Sees: compute/cuda.  Does not see: policies, programs.
// In: extents, pointers of a card.  Out: AttentionTiles.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <utility>

#include "heddle/compute/cuda/attention_sizes.hpp"
#include "heddle/compute/cuda/dropout.hpp"
#include "heddle/compute/cuda/values.hpp"
#include "heddle/core/random.hpp"

namespace heddle::compute_room {

inline constexpr int attention_rows = 8;  // of a tile of weights, that a thread has
inline constexpr int attention_columns = 4;
inline constexpr int attention_pitch = attention_chunk + 4;          // floats from one row of a chunk to the next
inline constexpr int attention_weights_pitch = attention_tile + 16;  // and of weights
using AttentionScores = float[attention_rows][attention_columns];
using AttentionFeatures = float[attention_rows][2];

/// Bytes of a block's tiles: 38,912, and 48,128 if two chunks of the left operand are kept.
[[nodiscard]] constexpr std::size_t attention_shared(int kept) {
  return static_cast<std::size_t>(attention_tile * ((kept + 1) * attention_pitch + attention_weights_pitch)) * sizeof(float);
}

/// Calls body(std::integral_constant<int, n>) for each n below Count, unrolled: what n indexes stays in registers.
template <int... N, class Body> HEDDLE_DEVICE void for_each_chunk(std::integer_sequence<int, N...>, const Body& body) {
  (body(std::integral_constant<int, N>{}), ...);
}
template <int Count, class Body> HEDDLE_DEVICE void for_each_chunk(const Body& body) {
  for_each_chunk(std::make_integer_sequence<int, Count>{}, body);
}

/// Calls body(std::integral_constant<int, chunks>) with the chunks of features for which a block has sums: of a head of 80 features 4, of one of 256
/// also 4, since sums for more do not fit in the registers of a thread. Values in bfloat16 come here where tensor cores do not take their heads, and
/// have 4 alone: the chunks of a block change no bit, and compilers have a third as much to do.
template <class Value, class Body> void with_chunks_of_block(int chunks, const Body& body) {
  if constexpr (std::is_same_v<Value, float>) {
    if (chunks <= 1) return body(std::integral_constant<int, 1>{});
    if (chunks <= 2) return body(std::integral_constant<int, 2>{});
  }
  body(std::integral_constant<int, 4>{});
}

/// A block of attention: two tiles of 64 positions and 32 features in shared memory, and one of 64 rows and 64 columns of weights. Each of its 128
/// threads has 8 rows and 4 columns of scores in registers, and of gathered features 8 rows and 2 columns for each chunk.
///
/// Rows of chunks are 36 floats apart, so that packs of eight rows lie in different banks; rows of weights are 80 apart, so that the two rows that a
/// warp writes at once do.
template <BlockOfThreads B> class AttentionTiles {
 public:
  /// `kept`: chunks of the left operand for which there is room.
  HEDDLE_DEVICE AttentionTiles(B& block, const AttentionSizes& sizes, int kept = 1)
      : b_(block), e_(sizes), across_(block.thread() % 16), down_(block.thread() / 16), left_(block.template shared<float>(kept * chunk_floats)),
        right_(block.template shared<float>(chunk_floats)), weights_(block.template shared<float>(attention_tile * attention_weights_pitch)) {}

  [[nodiscard]] HEDDLE_DEVICE int row(int i) const { return down_ + 8 * i; }
  [[nodiscard]] HEDDLE_DEVICE int column(int j) const { return across_ + 16 * j; }
  /// Whether some thread has row(i) below `count`, which all threads answer alike.
  [[nodiscard]] HEDDLE_DEVICE static bool any_has(int i, int count) { return 8 * i < count; }
  [[nodiscard]] HEDDLE_DEVICE int first_feature() const { return 2 * across_; }
  [[nodiscard]] HEDDLE_DEVICE float& weight(int i, int j) const { return weights_[row(i) * attention_weights_pitch + column(j)]; }

  /// All features of some positions, for products that are told that the left operand is there.
  template <class Value> HEDDLE_DEVICE void keep(const HeadRows<Value>& from) const {
    for (int begin = 0; begin < e_.features; begin += attention_chunk) take(left_ + begin / attention_chunk * chunk_floats, from, begin);
  }
  /// sums = left right^T, (64, 64), over all features. Nobody reads what was in shared memory when it begins, and all have read when it ends.
  template <class Value>
  HEDDLE_DEVICE void products(AttentionScores& sums, const HeadRows<Value>& left, const HeadRows<Value>& right, bool left_is_there = false) const {
    for (int i = 0; i < attention_rows; ++i)
      for (int j = 0; j < attention_columns; ++j) sums[i][j] = 0;
    for (int begin = 0; begin < e_.features; begin += attention_chunk) {
      if (!left_is_there) take(left_, left, begin);
      take(right_, right, begin);
      b_.sync();
      if (down_ < left.count && across_ < right.count)
        multiply(sums, left_is_there ? left_ + begin / attention_chunk * chunk_floats : left_, (features_from(begin) + 3) / 4);
      b_.sync();
    }
  }
  /// sums += weights right, (64, 32), of `count` rows and the features from `begin` on. All have read the weights when it ends; a chunk behind the
  /// end is left out.
  template <class Value> HEDDLE_DEVICE void gather(AttentionFeatures& sums, int count, const HeadRows<Value>& right, int begin) const {
    if (begin >= e_.features) return;
    take(right_, right, begin);
    b_.sync();
    for (int k = 0; k < (right.count + 3) / 4 && down_ < count; ++k) {
      Pair y[4];
      for (int n = 0; n < 4; ++n) y[n] = *as_one<const Pair>(right_ + (4 * k + n) * attention_pitch + first_feature());
      for (int i = 0; i < attention_rows; ++i) {
        const Pack<float> x = load_pack(weights_ + row(i) * attention_weights_pitch + 4 * k);
        for (int n = 0; n < 4; ++n) {
          sums[i][0] = std::fma(x.values[n], y[n].first, sums[i][0]);
          sums[i][1] = std::fma(x.values[n], y[n].second, sums[i][1]);
        }
      }
    }
    b_.sync();
  }
  /// The sums of a chunk of features, to `count` rows that are `stride` apart.
  template <class Value> HEDDLE_DEVICE void write(Value* target, std::int64_t stride, int count, int begin, const AttentionFeatures& sums) const {
    const int f = begin + first_feature();
    for (int i = 0; i < attention_rows; ++i) {
      if (row(i) >= count) continue;
      if (f < e_.features) target[row(i) * stride + f] = as_value<Value>(sums[i][0]);
      if (f + 1 < e_.features) target[row(i) * stride + f + 1] = as_value<Value>(sums[i][1]);
    }
  }
  /// A weight has one number in the whole batch, that of its query, counted by the place of its output, times the positions, and the key. Of 5
  /// positions key 2 of query 7 is number 37. These are the numbers of key 0 of `count` queries, the first with its output at element `at`.
  HEDDLE_DEVICE void count_weights(const MaskOfCall& drop, std::int64_t at, int count, std::uint64_t* numbers) const {
    for (int i = b_.thread(); i < count; i += b_.threads())
      numbers[i] = drop.number_of(at + i * e_.out) / static_cast<std::uint64_t>(e_.features) * static_cast<std::uint64_t>(e_.positions);
  }
  /// weights = what each weight of `queries` and `keys` is multiplied by, 0 if it is dropped; rows are keys if it is of Transposed. Four keys have a
  /// draw together.
  template <bool Transposed>
  HEDDLE_DEVICE void draw(const MaskOfCall& drop, std::int64_t step, const std::uint64_t* numbers, int queries, int first_key, int keys) const {
    constexpr int draws = attention_tile / 4 + 1;  // of a query: the first and the last may be in part of other tiles
    const std::uint64_t stream = drop.stream(step);
    for (int i = b_.thread(); i < queries * draws; i += b_.threads()) {
      const int query = i / draws;
      const std::uint64_t number = numbers[query] + static_cast<std::uint64_t>(first_key);
      const int key = i % draws * 4 - static_cast<int>(number % 4);
      if (key >= keys) continue;
      const PhiloxBlock bits = random_block(drop.context.seed, stream, RandomDraw::mask, number / 4 + static_cast<std::uint64_t>(i % draws));
      for (int n = 0; n < 4; ++n)
        if (key + n >= 0 && key + n < keys)
          weights_[Transposed ? (key + n) * attention_weights_pitch + query : query * attention_weights_pitch + key + n] =
              bits.words[n] >= drop.threshold ? drop.scale : 0.0F;
    }
  }

 private:
  static constexpr int chunk_floats = attention_tile * attention_pitch;
  /// Two floats in one load: of 32 features a thread has 2.
  struct alignas(8) Pair {
    float first, second;
  };
  [[nodiscard]] HEDDLE_DEVICE int features_from(int begin) const {
    return e_.features - begin < attention_chunk ? e_.features - begin : attention_chunk;
  }
  /// tile = 32 features from `begin` on of 64 positions, 0 where there are none. Heads of whole packs are read 16 bytes a thread.
  template <class Value> HEDDLE_DEVICE void take(float* tile, const HeadRows<Value>& from, int begin) const {
    constexpr int each = Pack<Value>::count;
    const int features = features_from(begin);
    if (e_.features % each == 0) {
      for (int i = b_.thread(); i < attention_tile * attention_chunk / each; i += attention_threads) {
        const int r = i / (attention_chunk / each), f = i % (attention_chunk / each) * each;
        Pack<Value> pack{};
        if (r < from.count && f < features) pack = load_pack(from.from + r * from.stride + begin + f);
        for (int n = 0; n < each; n += Pack<float>::count) {
          Pack<float> floats;
          for (int k = 0; k < floats.count; ++k) floats.values[k] = as_float(pack.values[n + k]);
          store_pack(tile + r * attention_pitch + f + n, floats);
        }
      }
    } else {
      for (int i = b_.thread(); i < attention_tile * attention_chunk; i += attention_threads) {
        const int r = i / attention_chunk, f = i % attention_chunk;
        tile[r * attention_pitch + f] = r < from.count && f < features ? as_float(from.from[r * from.stride + begin + f]) : 0.0F;
      }
    }
  }
  HEDDLE_DEVICE void multiply(AttentionScores& sums, const float* left, int packs) const {
    for (int k = 0; k < packs; ++k) {
      Pack<float> y[attention_columns];
      for (int j = 0; j < attention_columns; ++j) y[j] = load_pack(right_ + column(j) * attention_pitch + 4 * k);
      for (int i = 0; i < attention_rows; ++i) {
        const Pack<float> x = load_pack(left + row(i) * attention_pitch + 4 * k);
        for (int j = 0; j < attention_columns; ++j)
          for (int n = 0; n < 4; ++n) sums[i][j] = std::fma(x.values[n], y[j].values[n], sums[i][j]);
      }
    }
  }

  B& b_;
  const AttentionSizes& e_;
  int across_, down_;
  float *left_, *right_, *weights_;
};

}  // namespace heddle::compute_room
