// SPDX-License-Identifier: MIT
// Room: compute. Channels of images on a card: which blocks share one, what each thread reads of it, and two sums over it.
// Sees: graph/leaf, compute/cuda.  Does not see: layers, policies, programs.
// In: a Leaf of images and rows.  Out: Channels, ShareOfChannel, TwoSums.
#pragma once

#include <algorithm>
#include <cstdint>

#include "heddle/compute/cuda/block.hpp"
#include "heddle/compute/cuda/divisor.hpp"
#include "heddle/compute/cuda/launch.hpp"
#include "heddle/compute/cuda/vectors.hpp"
#include "heddle/core/units.hpp"
#include "heddle/graph/leaf.hpp"

namespace heddle::compute_room {

/// The channels of a grain, and how many blocks share each. 64 rows of (256, 14, 14) have 12,544 values a channel, which 3 blocks share; each thread
/// reads four neighbours at once, since 196 is a multiple of 4.
struct Channels {
  static constexpr std::int64_t usual_blocks = 2048;
  std::int64_t rows, channels, values;
  int shares;
  Divisor packs_of_a_row;  // or single values

  Channels(const Leaf& leaf, std::int64_t rows_given)
      : rows(rows_given), channels(leaf.in.shape.sizes[0]), values(leaf.in.elements() / channels), packs_of_a_row(values / width()) {
    constexpr std::int64_t packs_of_a_thread = 4;
    const std::int64_t wanted = rows * packs_of_a_row.divisor() / (packs_of_a_thread * team_block_threads);
    shares = static_cast<int>(std::clamp<std::int64_t>(wanted, 1, most_shares(channels)));
  }
  [[nodiscard]] static constexpr std::int64_t most_shares(std::int64_t channels) { return std::max<std::int64_t>(usual_blocks / channels, 1); }
  [[nodiscard]] HEDDLE_HOST_DEVICE int width() const { return values % Pack<float>::count == 0 ? Pack<float>::count : 1; }
  [[nodiscard]] double count() const { return static_cast<double>(rows) * static_cast<double>(values); }
  /// Of two sums of each share, for any part of the channels too.
  [[nodiscard]] static constexpr Bytes scratch(const Leaf& leaf) {
    return Bytes{2 * std::max(leaf.in.shape.sizes[0], usual_blocks) * static_cast<std::int64_t>(sizeof(double))};
  }
  [[nodiscard]] Extents a_warp_each() const { return {channels, warp_threads, fold_bytes}; }
  [[nodiscard]] Extents extents() const { return {rows == 0 ? 0 : channels * shares, team_block_threads, fold_bytes}; }
};

/// What a block has of a channel: every shares-th of the packs that its threads read at once. Of 3 shares of 3,136 packs the first one has those from
/// 0 to 255, from 768 to 1,023, and so on.
template <BlockOfThreads B> class ShareOfChannel {
 public:
  HEDDLE_DEVICE ShareOfChannel(B& b, const Channels& all)
      : all_(all), channel_(b.index() / all.shares), share_(b.index() % all.shares), thread_(b.thread()), threads_(b.threads()) {}
  [[nodiscard]] HEDDLE_DEVICE std::int64_t channel() const { return channel_; }
  [[nodiscard]] HEDDLE_DEVICE int share() const { return share_; }
  /// The first value of the channel in row 0.
  [[nodiscard]] HEDDLE_DEVICE std::int64_t first() const { return channel_ * all_.values; }
  /// visit(first element, elements: 1 or 4)
  template <class Visit> HEDDLE_DEVICE void each(Visit visit) const {
    const std::int64_t packs = all_.rows * all_.packs_of_a_row.divisor();
    const int width = all_.width();
    for (std::int64_t i = own(); i < packs; i += step()) {
      const std::int64_t row = all_.packs_of_a_row.quotient_of(i);
      visit((row * all_.channels + channel_) * all_.values + (i - row * all_.packs_of_a_row.divisor()) * width, width);
    }
  }
  template <class Visit> HEDDLE_DEVICE void each_row(Visit visit) const {
    for (std::int64_t row = own(); row < all_.rows; row += step()) visit(row);
  }
  template <class Value> [[nodiscard]] HEDDLE_DEVICE static Pack<float> of(const Value* from, std::int64_t at, int width) {
    return width == 1 ? Pack<float>{{as_float(from[at]), 0, 0, 0}} : load_four(from + at);
  }
  template <class Value> HEDDLE_DEVICE static void put(const Pack<float>& made, Value* to, std::int64_t at, int width) {
    if (width == 1)
      to[at] = as_value<Value>(made.values[0]);
    else
      store_four(to + at, made);
  }

 private:
  [[nodiscard]] HEDDLE_DEVICE std::int64_t own() const { return std::int64_t{share_} * threads_ + thread_; }
  [[nodiscard]] HEDDLE_DEVICE std::int64_t step() const { return std::int64_t{all_.shares} * threads_; }
  const Channels& all_;
  std::int64_t channel_;
  int share_, thread_, threads_;
};

/// Two sums of a channel, 16 bytes a share. In scratch lie those of each share; every thread of a block has them of all shares, added in one order.
struct TwoSums {
  double first = 0, second = 0;

  template <BlockOfThreads B> HEDDLE_DEVICE void leave(B& b, const Team<true, B>& team, double* shares) const {
    const double one = team.sum_of_block(first), other = team.sum_of_block(second);
    if (b.thread() != 0) return;
    shares[2 * b.index()] = one;
    shares[2 * b.index() + 1] = other;
  }
  template <BlockOfThreads B>
  [[nodiscard]] HEDDLE_DEVICE static TwoSums of(B& b, const Team<true, B>& team, const double* shares, std::int64_t channel, int count) {
    TwoSums own;
    for (int s = b.thread(); s < count; s += b.threads()) {
      own.first += shares[2 * (channel * count + s)];
      own.second += shares[2 * (channel * count + s) + 1];
    }
    return {team.sum_of_block(own.first), team.sum_of_block(own.second)};
  }
};

}  // namespace heddle::compute_room
