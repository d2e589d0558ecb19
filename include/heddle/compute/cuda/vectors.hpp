// SPDX-License-Identifier: MIT
// Room: compute. A vector, as of a norm or a softmax, shared by the threads of a warp or of a block: who has which elements, and sums of all.
// Sees: compute/cuda/block, compute/cuda/launch.  Does not see: layers, tensors, policies, programs.
// In: the length of a vector.  Out: Team, Places, FourPlaces, sum_of_block, with_team.
#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <utility>

#include "heddle/compute/cuda/block.hpp"
#include "heddle/compute/cuda/launch.hpp"
#include "heddle/compute/cuda/values.hpp"

namespace heddle::compute_room {

inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float not_a_number = std::numeric_limits<float>::quiet_NaN();

inline constexpr int team_block_threads = 256;
inline constexpr int warps_of_a_block = team_block_threads / warp_threads;
inline constexpr std::size_t fold_bytes = warp_threads * sizeof(double);

/// How two numbers of a team become one, of floats and of doubles: 2 and 3 become 5.
struct Added {
  template <class T> [[nodiscard]] HEDDLE_DEVICE static T of(T a, T b) { return a + b; }
};
/// The larger one, of 2 and 3 the 3; it is not asked about NaN.
struct Larger {
  template <class T> [[nodiscard]] HEDDLE_DEVICE static T of(T a, T b) { return a > b ? a : b; }
};

/// Every lane has the result of all 32, with the same bits.
template <class Fold, class T, BlockOfThreads B> [[nodiscard]] HEDDLE_DEVICE T folded_by_warp(B& block, T x) {
  for (int d = warp_threads / 2; d > 0; d /= 2) x = Fold::of(x, block.shuffle_xor(x, d));
  return x;
}
/// Every thread has the result of the block; the order depends on threads() alone. `scratch` has 32 elements and may be used again at once.
template <class Fold, class T, BlockOfThreads B> [[nodiscard]] HEDDLE_DEVICE T folded_by_block(B& block, T x, T* scratch) {
  x = folded_by_warp<Fold>(block, x);
  if (block.thread() % warp_threads == 0) scratch[block.thread() / warp_threads] = x;
  block.sync();
  x = scratch[0];
  for (int w = 1; w < block.threads() / warp_threads; ++w) x = Fold::of(x, scratch[w]);
  block.sync();
  return x;
}

/// A way to share vectors, as a type: by a block if `Whole`, else by a warp; a thread has `Packs` times four elements of a tile. Where a warp does
/// not loop over tiles, one is enough for every vector, and can lie in registers. Where all vectors are `Packed`, so that four elements are one load,
/// no branch stands between the loads of a tile, and all of them are on their way at once.
template <bool Whole, int Packs, bool Loops = Whole, bool Packed = false> struct TeamWay {
  static constexpr bool packed = Packed;
  static constexpr bool whole = Whole;
  static constexpr bool loops = Loops;
  static constexpr int packs = Packs;
  static constexpr std::int64_t teams = Whole ? 1 : warps_of_a_block;  // of a block
};
/// The threads that share a vector: those of a block if `Whole`, else a warp, of which a block of 256 threads has 8. Of 20 vectors the warps of block
/// 1 have those from 8 to 15. A launch has fold_bytes of shared memory for it.
template <bool Whole, BlockOfThreads B> class Team {
 public:
  HEDDLE_DEVICE explicit Team(B& block) : block_(&block), scratch_(block.template shared<double>(warp_threads)) {}
  [[nodiscard]] HEDDLE_DEVICE int thread() const { return Whole ? block_->thread() : block_->thread() % warp_threads; }
  [[nodiscard]] HEDDLE_DEVICE int threads() const { return Whole ? block_->threads() : warp_threads; }
  /// The first vector of this team; every teams()-th is its own.
  [[nodiscard]] HEDDLE_DEVICE std::int64_t first() const {
    return Whole ? block_->index() : std::int64_t{block_->index()} * (block_->threads() / warp_threads) + warp();
  }
  [[nodiscard]] HEDDLE_DEVICE std::int64_t teams() const {
    return Whole ? block_->blocks() : std::int64_t{block_->blocks()} * (block_->threads() / warp_threads);
  }
  [[nodiscard]] HEDDLE_DEVICE int warp() const { return block_->thread() / warp_threads; }
  /// Every thread of the team has the result.
  template <class Fold, class T> [[nodiscard]] HEDDLE_DEVICE T folded(T x) const {
    if constexpr (Whole)
      return folded_by_block<Fold>(*block_, x, reinterpret_cast<T*>(scratch_));
    else
      return folded_by_warp<Fold>(*block_, x);
  }
  /// Every thread of the block has the sum over the block, whose threads all come here.
  [[nodiscard]] HEDDLE_DEVICE double sum_of_block(double x) const { return folded_by_block<Added>(*block_, x, scratch_); }

 private:
  B* block_;
  double* scratch_;
};

/// Four elements of a vector that one thread has: neighbours, which are read at once, or `step` apart. With first 5 and step 32 of n 80 it has 5, 37
/// and 69.
struct FourPlaces {
  int first, step, n;
  bool whole = false;  // it has all four, and nothing is asked of each
  [[nodiscard]] HEDDLE_DEVICE int place(int e) const { return first + e * step; }
  [[nodiscard]] HEDDLE_DEVICE bool has(int e) const { return whole || place(e) < n; }
  template <class Value> [[nodiscard]] HEDDLE_DEVICE Pack<float> of(const Value* from) const {
    if (step == 1) return load_four(from + first);
    Pack<float> read{};
    for (int e = 0; e < Pack<float>::count; ++e)
      if (has(e)) read.values[e] = as_float(from[place(e)]);
    return read;
  }
  /// As they lie; 0 where there are none.
  template <class Value> [[nodiscard]] HEDDLE_DEVICE ValuesTogether<Value, 4> lying(const Value* from) const {
    if (step == 1) return lying_four(from + first);
    ValuesTogether<Value, 4> read{};
    for (int e = 0; e < Pack<float>::count; ++e)
      if (has(e)) read.values[e] = from[place(e)];
    return read;
  }
  /// Rounded where they are kept in bfloat16.
  template <class Value> HEDDLE_DEVICE void put(const Pack<float>& made, Value* to) const {
    if (step == 1) return store_four(to + first, made);
    for (int e = 0; e < Pack<float>::count; ++e)
      if (has(e)) to[place(e)] = as_value<Value>(made.values[e]);
  }
};

/// Which elements of a vector of n below 2^30 a thread of a team has, Way::packs times four of a tile at once. 768 elements that a warp shares are
/// one tile of 8 packs, of which each thread has 6; 50,304 that 256 threads share are seven tiles. `packed`: every vector begins at a multiple of
/// four elements, which are one load, and n is one.
///
/// Law     a thread has the same elements whenever it is asked, so what it writes it reads again without a barrier
template <class Way> class Places {
 public:
  template <class Team>
  HEDDLE_DEVICE Places(const Team& team, std::int64_t n, bool packed)
      : n_(static_cast<int>(n)), thread_(team.thread()), threads_(team.threads()), packed_(packed) {}
  [[nodiscard]] HEDDLE_DEVICE int elements() const { return n_; }
  [[nodiscard]] HEDDLE_DEVICE int tile() const { return threads_ * Way::packs * Pack<float>::count; }
  /// What has been read of the one tile there is remains in registers.
  [[nodiscard]] HEDDLE_DEVICE bool one_tile() const { return !Way::loops || n_ <= tile(); }

  /// visit(number of the pack, its places), of the tile that begins with element `begin`. Numbers are constants, or packs would not lie in registers.
  template <class Visit> HEDDLE_DEVICE void of_tile(int begin, const Visit& visit) const {
    visit_packs(std::make_integer_sequence<int, Way::packs>{}, begin, visit);
  }
  /// The same of all tiles, one after another.
  template <class Visit> HEDDLE_DEVICE void each(const Visit& visit) const {
    each_tile([&](int begin) { of_tile(begin, visit); });
  }
  /// visit(first element) of all tiles.
  template <class Visit> HEDDLE_DEVICE void each_tile(const Visit& visit) const {
    if constexpr (!Way::loops)
      visit(0);
    else
      for (int begin = 0; begin < n_; begin += tile()) visit(begin);
  }
  /// All elements are `value`.
  template <class Value> HEDDLE_DEVICE void fill(Value* to, float value) const {
    each([&](int, const FourPlaces& at) { at.put({{value, value, value, value}}, to); });
  }

 private:
  template <int... K, class Visit> HEDDLE_DEVICE void visit_packs(std::integer_sequence<int, K...>, int begin, const Visit& visit) const {
    (..., visit_pack(K, begin, visit));
  }
  template <class Visit> HEDDLE_DEVICE void visit_pack(int k, int begin, const Visit& visit) const {
    const int packs = begin + k * threads_ * Pack<float>::count;
    const bool together = Way::packed || packed_;
    const FourPlaces at = together ? FourPlaces{packs + thread_ * Pack<float>::count, 1, n_, Way::packed} : FourPlaces{packs + thread_, threads_, n_};
    if (at.first < n_) visit(k, at);
  }
  int n_, thread_, threads_;
  bool packed_;
};

/// A vector that a team reads more than once. Where a thread does not loop it has its share in registers, as it lies: of 768 elements in bfloat16 12
/// words, all of which are on their way at once. Else the vector is read anew each time, from a cache that has it.
template <class Value, class Way> class HeldVector {
 public:
  HEDDLE_DEVICE explicit HeldVector(const Value* from) : from_(from) {}
  HEDDLE_DEVICE void load(const Places<Way>& places) {
    if constexpr (!Way::loops) places.each([&](int k, const FourPlaces& at) { packs_[k] = at.lying(from_); });
  }
  /// What the vector is from now on: `four` is written where it lies as well.
  HEDDLE_DEVICE void keep(int k, const Pack<float>& four) {
    if constexpr (!Way::loops) packs_[k] = as_values<Value>(four);
  }
  [[nodiscard]] HEDDLE_DEVICE Pack<float> of(int k, const FourPlaces& at) const {
    if constexpr (Way::loops)
      return at.of(from_);
    else
      return as_floats(packs_[k]);
  }

 private:
  const Value* from_;
  ValuesTogether<Value, 4> packs_[Way::loops ? 1 : Way::packs]{};
};

/// What a thread has of one tile, as it lies: of 8 packs in bfloat16 16 words.
template <class Value, class Way> using TileValues = ValuesTogether<Value, 4>[Way::packs];
/// Reads the tile that begins with element `begin`: all packs are on their way before anything is made of the first.
template <class Value, class Way> HEDDLE_DEVICE void read_tile(const Places<Way>& places, int begin, const Value* from, TileValues<Value, Way>& x) {
  places.of_tile(begin, [&](int k, const FourPlaces& at) { x[k] = at.lying(from); });
}

/// way(TeamWay<...>{}) for vectors of n elements: up to 256 and 1024 a warp has one in its registers, beyond these a block has.
template <class Way> void with_team(std::int64_t n, const Way& way) {
  constexpr std::int64_t few = 2 * warp_threads * Pack<float>::count, many = 8 * warp_threads * Pack<float>::count;
  if (n <= few)
    way(TeamWay<false, 2>{});
  else if (n <= many)
    way(TeamWay<false, 8>{});
  else
    way(TeamWay<true, 8>{});
}
/// The same where `packed` says that all of them are, as it does of long ones alone.
using BlockOfPacks = TeamWay<true, 8, true, true>;
template <class Way> void with_team(std::int64_t n, bool packed, const Way& way) {
  if (packed && n > 8 * warp_threads * Pack<float>::count) return way(BlockOfPacks{});
  with_team(n, way);
}
/// A launch over so many vectors, of at most so many blocks.
template <class Way>
[[nodiscard]] Extents extents_of_teams(Way, std::int64_t vectors, std::int64_t most_blocks = std::numeric_limits<std::int32_t>::max()) {
  return {std::min((vectors + Way::teams - 1) / Way::teams, most_blocks), team_block_threads, fold_bytes};
}

}  // namespace heddle::compute_room
