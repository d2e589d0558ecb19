// SPDX-License-Identifier: MIT
// Room: compute. What the kernels of SelfAttention on tensor cores share: tiles in shared memory, products of a warp, draws of dropped weights.
// Sees: compute/cuda.  Does not see: policies, programs.
// In: extents, pointers of a card.  Out: fits_tensor_cores, LeftFactors, PassedTile, FetchedTile, pass_over, pass_over_keys.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "heddle/compute/cuda/attention_sizes.hpp"
#include "heddle/compute/cuda/dropout.hpp"
#include "heddle/compute/cuda/values.hpp"

namespace heddle::compute_room {

inline constexpr int most_tensor_features = 64;
inline constexpr int rows_of_warp = 16;  // of the 64 positions that a block has
inline constexpr float log2_of_e = 1.4426950408889634F, log_of_2 = 0.6931471805599453F;

/// Whether tensor cores take heads of this size: whole packs of 16 bytes, and no more than what a thread has registers for.
[[nodiscard]] constexpr bool fits_tensor_cores(int features) { return features <= most_tensor_features && features % 8 == 0; }

/// Positions of a tile that a block passes over, so many that a thread brings 32 bytes of it: 16 of floats and 32 of bfloat16.
template <class Value> inline constexpr int passed_positions = 64 / static_cast<int>(sizeof(Value));

/// Sums of a warp's 16 rows and of 8 columns each, as add_product has them: element 2 h + s of a lane is of row g + 8 h and column 2 t + s, where
/// g = lane / 4 and t = lane % 4.
template <class Value> using WarpScores = float[passed_positions<Value> / 8][4];
using WarpFeatures = float[most_tensor_features / 8][4];

/// How tensor cores take values: float32 rounded to TF32, of which a word has one, or bfloat16, of which it has two.
template <class Value> using TensorFactor = std::conditional_t<std::is_same_v<Value, float>, TensorFloat, BFloat16Pair>;
template <class Value> inline constexpr int values_of_word = sizeof(std::uint32_t) / sizeof(Value);

/// The word of a row that begins with its feature f.
[[nodiscard]] HEDDLE_DEVICE inline TensorFloat word_at(const float* row, int f) { return tensor_float(row[f]); }
[[nodiscard]] HEDDLE_DEVICE inline BFloat16Pair word_at(const BFloat16* row, int f) {
  const auto both = *as_one<const ValuesTogether<BFloat16, 2>>(row + f);
  return {std::uint32_t{both.values[1].bits} << 16U | both.values[0].bits};
}
/// What a product sees of a value.
[[nodiscard]] HEDDLE_DEVICE inline float as_factor(float x) { return __builtin_bit_cast(float, tensor_float(x).bits); }
[[nodiscard]] HEDDLE_DEVICE inline float as_factor(BFloat16 x) { return as_float(x); }

/// 16 positions of a head as left factors of a warp, in registers: of 64 features 32 words in TF32, 16 in bfloat16.
template <class Value> struct LeftFactors {
  static constexpr int steps = most_tensor_features / TensorFactor<Value>::depth;
  TensorFactor<Value> words[steps][4];

  /// Of `rows` the first 16, 0 where there are none.
  HEDDLE_DEVICE void load(const HeadRows<Value>& rows, int features, int lane) {
    for (int k = 0; k < steps; ++k)
      for (int i = 0; i < 4; ++i) {
        const int row = lane / 4 + i % 2 * 8, f = (8 * k + lane % 4 + i / 2 * 4) * values_of_word<Value>;
        words[k][i] = row < rows.count && f < features ? word_at(rows.from + row * rows.stride, f) : TensorFactor<Value>{0};
      }
  }
};

/// 16 or 32 positions of a head in shared memory, as right factors. A product that sums over features reads the words of a position, one that sums
/// over positions a feature of one position, in TF32, or of two, in bfloat16, which lie there once more for that.
///
/// Rows of 64 words are 68 apart and rows of 32 are 36, so that the 8 positions and 4 words that a warp reads at once lie in different banks; rows of
/// two positions are 72 apart, so that 4 of them and 8 features do. Of 64 features a tile has 4,352 bytes in TF32; in bfloat16 4,608 for each of
/// both.
template <class Value, bool OverFeatures, bool OverPositions> struct PassedTile {
  using Factor = TensorFactor<Value>;
  static constexpr bool pairs = std::is_same_v<Value, BFloat16>, has_rows = OverFeatures || !pairs, has_pairs = OverPositions && pairs;
  static constexpr int pitch = most_tensor_features / values_of_word<Value> + 4;
  static constexpr int pairs_pitch = most_tensor_features + 8;
  static constexpr int first_pair = has_rows ? passed_positions<Value> * pitch : 0;
  static constexpr int words = first_pair + (has_pairs ? passed_positions<Value> / 2 * pairs_pitch : 0);

  /// sums (16, positions) = left tile^T.
  template <BlockOfThreads B>
  HEDDLE_DEVICE static void over_features(B& b, WarpScores<Value>& sums, const LeftFactors<Value>& left, const Factor* tile, int features) {
    static_assert(OverFeatures);
    const Factor* const own = tile + b.thread() % warp_threads / 4 * pitch + b.thread() % 4;
    for (auto& sum : sums)
      for (float& s : sum) s = 0;
    for (int k = 0; k < LeftFactors<Value>::steps; ++k) {
      if (k * Factor::depth >= features) continue;
      for (int n = 0; n < passed_positions<Value> / 8; ++n) {
        const Factor right[2] = {own[8 * n * pitch + 8 * k], own[8 * n * pitch + 8 * k + 4]};
        b.add_product(sums[n], left.words[k], right);
      }
    }
  }
  /// sums (16, features) += weights tile. Sums of a warp become its left factors where they are: in TF32 words t and t + 4 stand for positions 2 t
  /// and 2 t + 1.
  template <BlockOfThreads B>
  HEDDLE_DEVICE static void over_positions(B& b, WarpFeatures& sums, const WarpScores<Value>& weights, const Factor* tile, int features) {
    static_assert(OverPositions);
    const int g = b.thread() % warp_threads / 4, t = b.thread() % 4;
    const Factor* const own = pairs ? tile + first_pair + t * pairs_pitch + g : tile + 2 * t * pitch + g;
    constexpr int next = pairs ? 4 * pairs_pitch : pitch, step = pairs ? 8 * pairs_pitch : 8 * pitch;
    for (int j = 0; j < passed_positions<Value> / Factor::depth; ++j) {
      Factor left[4];
      take(left, weights, j);
      for (int n = 0; n < most_tensor_features / 8; ++n) {
        if (8 * n >= features) continue;
        const Factor right[2] = {own[j * step + 8 * n], own[j * step + next + 8 * n]};
        b.add_product(sums[n], left, right);
      }
    }
  }

 private:
  HEDDLE_DEVICE static void take(TensorFloat (&left)[4], const WarpScores<Value>& w, int j) {
    left[0] = tensor_float(w[j][0]);
    left[1] = tensor_float(w[j][2]);
    left[2] = tensor_float(w[j][1]);
    left[3] = tensor_float(w[j][3]);
  }
  HEDDLE_DEVICE static void take(BFloat16Pair (&left)[4], const WarpScores<Value>& w, int j) {
    for (int i = 0; i < 4; ++i) left[i] = bfloat16_pair(w[2 * j + i / 2][i % 2 * 2], w[2 * j + i / 2][i % 2 * 2 + 1]);
  }
};

/// What one thread brings of a tile from memory to shared memory: 2 packs, of positions that are neighbours.
template <class Value> struct FetchedTile {
  static constexpr int each = Pack<Value>::count, across = most_tensor_features / each, count = passed_positions<Value> * across / attention_threads;
  Pack<Value> packs[count];

  [[nodiscard]] HEDDLE_DEVICE static int row(int thread, int i) { return thread / across * count + i; }
  [[nodiscard]] HEDDLE_DEVICE static int feature(int thread) { return thread % across * each; }
  /// 0 where there are none.
  HEDDLE_DEVICE void load(const HeadRows<Value>& rows, int features, int thread) {
    for (int i = 0; i < count; ++i) {
      packs[i] = Pack<Value>{};
      if (row(thread, i) < rows.count && feature(thread) < features) packs[i] = load_pack(rows.from + row(thread, i) * rows.stride + feature(thread));
    }
  }
  template <class Tile> HEDDLE_DEVICE void store(TensorFactor<Value>* tile, int thread) const {
    if constexpr (Tile::has_rows)
      for (int i = 0; i < count; ++i) {
        Pack<TensorFactor<Value>> words;
        for (int k = 0; k < words.count; ++k) words.values[k] = word_at(packs[i].values, k * values_of_word<Value>);
        store_pack(tile + row(thread, i) * Tile::pitch + feature(thread) / values_of_word<Value>, words);
      }
    if constexpr (Tile::has_pairs)
      for (int k = 0; k < each; k += 4) {
        Pack<BFloat16Pair> words;
        for (int n = 0; n < 4; ++n) words.values[n] = {std::uint32_t{packs[1].values[k + n].bits} << 16U | packs[0].values[k + n].bits};
        store_pack(tile + Tile::first_pair + thread / across * Tile::pairs_pitch + feature(thread) + k, words);
      }
  }
  /// Sum over the features of row i, of which all threads of the row have it, of what a product sees of this tile and of the values of another one.
  template <BlockOfThreads B> [[nodiscard]] HEDDLE_DEVICE float along(B& b, const FetchedTile& other, int i) const {
    float sum = 0;
    for (int k = 0; k < each; ++k) sum = std::fma(as_factor(packs[i].values[k]), as_float(other.packs[i].values[k]), sum);
    for (int d = across / 2; d > 0; d /= 2) sum += b.shuffle_xor(sum, d);
    return sum;
  }
};

/// Calls compute(i, buffer) for `count` tiles, at least one. While a tile is computed the next one is on its way from memory, by fetch(i); then
/// store(what was fetched, buffer) puts it into the other of two buffers, which nobody reads any more.
template <BlockOfThreads B, class Fetch, class Store, class Compute>
HEDDLE_DEVICE void pass_over(B& b, int count, const Fetch& fetch, const Store& store, const Compute& compute) {
  auto next = fetch(0);
  store(next, 0);
  b.sync();
  for (int i = 0; i < count; ++i) {
    if (i + 1 < count) next = fetch(i + 1);
    compute(i, i % 2);
    if (i + 1 < count) store(next, (i + 1) % 2);
    b.sync();
  }
}

/// Which sums the tiles of keys and values are for: keys give scores, and in the backward gradients of queries; values give outputs, and in the
/// backward slopes of weights.
template <class Value, bool Backward> struct KeyTiles {
  using Keys = PassedTile<Value, true, Backward>;
  using Values = PassedTile<Value, Backward, !Backward>;
  static constexpr int words = Keys::words + Values::words;
  static constexpr std::size_t bytes = 2 * words * sizeof(TensorFactor<Value>);
  FetchedTile<Value> keys, values;  // on their way
};
/// Passes over the tiles of keys and values that queries of a block see. compute(first key of a tile, keys, values) is called for the warps some of
/// whose queries see it.
template <class Value, bool Backward, BlockOfThreads B, class Compute>
HEDDLE_DEVICE void pass_over_keys(B& b, const AttentionSizes& e, const AttentionPlace& here, const Value* input, const Compute& compute) {
  using Tiles = KeyTiles<Value, Backward>;
  TensorFactor<Value>* const shared = b.template shared<TensorFactor<Value>>(2 * Tiles::words);
  const int key_value = here.head / e.shared_by(), first = here.tile * attention_tile, own = first + b.thread() / warp_threads * rows_of_warp;
  const int seen = e.seen(own);  // tiles begin where warps may: what the last of its queries sees in part, the first does
  const HeadRows<Value> keys{input + e.key_at(here.sequence, key_value), e.width, e.positions};
  const HeadRows<Value> values{input + e.value_at(here.sequence, key_value), e.width, e.positions};
  const auto fetch = [&](int i) {
    Tiles next;
    next.keys.load(keys.tile(i * passed_positions<Value>, passed_positions<Value>), e.features, b.thread());
    next.values.load(values.tile(i * passed_positions<Value>, passed_positions<Value>), e.features, b.thread());
    return next;
  };
  const auto store = [&](const Tiles& next, int buffer) {
    TensorFactor<Value>* const tile = shared + buffer * Tiles::words;
    next.keys.template store<typename Tiles::Keys>(tile, b.thread());
    next.values.template store<typename Tiles::Values>(tile + Tiles::Keys::words, b.thread());
  };
  pass_over(b, (e.seen_by_tile(first) + passed_positions<Value> - 1) / passed_positions<Value>, fetch, store, [&](int i, int buffer) {
    const TensorFactor<Value>* const tile = shared + buffer * Tiles::words;
    if (i * passed_positions<Value> < seen) compute(i * passed_positions<Value>, tile, tile + Tiles::Keys::words);
  });
}

/// Bit i of what it gives is set if the weight of key first + i of a query is kept; `number` is that of key `first` (AttentionTiles::count_weights
/// says how they are counted). Four neighbours have a draw together; of the draws of `keys` weights this thread makes every `each`th from draw `from`
/// on.
[[nodiscard]] HEDDLE_DEVICE inline std::uint32_t kept_weights(const MaskOfCall& drop, std::uint64_t stream, std::uint64_t number, int keys, int from,
                                                              int each) {
  std::uint32_t kept = 0;
  for (int i = from; 4 * i - static_cast<int>(number % 4) < keys; i += each) {
    const PhiloxBlock bits = random_block(drop.context.seed, stream, RandomDraw::mask, number / 4 + static_cast<std::uint64_t>(i));
    for (int n = 0; n < 4; ++n) {
      const int key = 4 * i - static_cast<int>(number % 4) + n;
      if (key >= 0 && key < keys && bits.words[n] >= drop.threshold) kept |= 1U << static_cast<unsigned>(key);
    }
  }
  return kept;
}
/// The number of the weight of key 0 of a query whose output begins at element `at`.
[[nodiscard]] HEDDLE_DEVICE inline std::uint64_t first_weight(const MaskOfCall& drop, const AttentionSizes& e, std::int64_t at) {
  return drop.number_of(at) / static_cast<std::uint64_t>(e.features) * static_cast<std::uint64_t>(e.positions);
}
/// By what the weights of two rows of a warp and up to 32 keys are multiplied; the four lanes of a row draw them together.
template <bool Drops> struct KeptKeys {
  std::uint64_t numbers[2];
  std::uint32_t kept[2];

  /// `at`: where the output of the warp's first query begins.
  HEDDLE_DEVICE void begin(const MaskOfCall& drop, const AttentionSizes& e, std::int64_t at, int g) {
    if constexpr (Drops)
      for (int h = 0; h < 2; ++h) numbers[h] = first_weight(drop, e, at + (g + 8 * h) * e.out);
  }
  template <BlockOfThreads B> HEDDLE_DEVICE void draw(B& b, const MaskOfCall& drop, std::uint64_t stream, int first_key, int keys) {
    if constexpr (Drops)
      for (int h = 0; h < 2; ++h) {
        kept[h] = kept_weights(drop, stream, numbers[h] + static_cast<std::uint64_t>(first_key), keys, b.thread() % 4, 4);
        for (int d = 1; d < 4; d *= 2) kept[h] |= b.shuffle_xor(kept[h], d);
      }
  }
  [[nodiscard]] HEDDLE_DEVICE float of(const MaskOfCall& drop, int h, int column) const {
    if constexpr (Drops)
      return (kept[h] >> static_cast<unsigned>(column) & 1U) != 0 ? drop.scale : 0.0F;
    else
      return 1;
  }
};

/// Sums of a warp, to those of its 16 rows that there are; each is multiplied by the factor of its row.
template <class Value>
HEDDLE_DEVICE void write_rows(Value* target, std::int64_t stride, int rows, int features, const WarpFeatures& sums, const float (&factors)[2],
                              int lane) {
  for (int n = 0; n < most_tensor_features / 8; ++n)
    for (int h = 0; h < 2; ++h) {
      const int row = lane / 4 + 8 * h, f = 8 * n + lane % 4 * 2;
      if (row >= rows || f >= features) continue;
      NumbersOfThread<2> both;
      for (int s = 0; s < 2; ++s) both.values[s] = sums[n][2 * h + s] * factors[h];
      both.store(target + row * stride + f);
    }
}

}  // namespace heddle::compute_room
