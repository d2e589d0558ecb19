// SPDX-License-Identifier: MIT
// Room: compute. Sums over rows on a card, as the gradients of vectors that were added to every row: of columns, and of channels of images.
// Sees: compute/cuda.  Does not see: layers, policies, programs.
// In: a matrix (rows, columns), or images (rows, channels, places).  Out: column_sums, sums_of_terms, channel_sums, column_sums_scratch.
#pragma once

#include <algorithm>
#include <cstdint>

#include "heddle/compute/cuda/block.hpp"
#include "heddle/compute/cuda/divisor.hpp"
#include "heddle/compute/cuda/launch.hpp"
#include "heddle/compute/cuda/values.hpp"
#include "heddle/core/units.hpp"

namespace heddle::compute_room {

inline constexpr int sum_threads = 256;
inline constexpr std::int64_t most_sum_shares = 32;

/// How a matrix is cut for its sums: a block has `lanes` columns, or packs of them, side by side, and 256 / lanes rows at once; `shares` blocks share
/// the rows of a column. 4096 rows of 768 floats take 6 tiles of 32 packs of 4, and 32 shares of 128 rows. All of it depends on extents alone.
struct SumExtents {
  int width;  // floats a thread
  int lanes;
  std::int64_t tiles;
  std::int64_t shares;
  SumExtents(std::int64_t rows, std::int64_t columns, bool packs) : width(packs ? Pack<float>::count : 1), lanes(1) {
    const std::int64_t across = columns / width;
    while (lanes < warp_threads && lanes < across) lanes *= 2;
    tiles = (across + lanes - 1) / lanes;
    constexpr std::int64_t usual_blocks = 1024, least_rows = 8;  // of a card, and of a thread
    const std::int64_t by_rows = rows / (least_rows * (sum_threads / lanes));
    shares = std::clamp<std::int64_t>(by_rows, 1, std::clamp<std::int64_t>(usual_blocks / tiles, 1, most_sum_shares));
  }
};

/// The bytes of `scratch` that sums of so many columns or channels take: 32 shares of 768 columns are 98,304.
[[nodiscard]] constexpr Bytes column_sums_scratch(std::int64_t columns) {
  return Bytes{most_sum_shares * columns * static_cast<std::int64_t>(sizeof(float))};
}

/// What is summed: the elements of a matrix, one sum a column. Of another kernel's gradients it is what they are made of, element by element, and
/// there may be two sums a column: the terms of the second stand behind those of the first.
struct PlainTerms {
  static constexpr int sums = 1;
  template <int Width, class Value> [[nodiscard]] HEDDLE_DEVICE static NumbersOfThread<Width> of(std::int64_t, std::int64_t at, const Value* source) {
    return neighbours_at<Width>(source + at);
  }
};
/// target (shares, sums, columns) = sums of the rows that each share has, every share-th of those that a block reads at once. `from` are the arrays
/// that Terms::of(row, element, arrays...) reads. A thread has the terms of 8 rows on their way, and adds them in the order of the rows.
template <class Terms, int Width> struct SumColumns {
  static constexpr const char* name = "SumColumns";
  static constexpr bool cooperative = true;
  static constexpr int most_threads = sum_threads, blocks_at_once = 4;
  template <BlockOfThreads B, class... From>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t rows, std::int64_t columns, int lanes, int tiles, float* target, bool add, From... from) const {
    const int workers = b.threads() / lanes, worker = b.thread() / lanes;
    const std::int64_t tile = b.index() % tiles, share = b.index() / tiles, shares = b.blocks() / tiles;
    const std::int64_t column = (tile * lanes + b.thread() % lanes) * Width;
    const auto terms_of = [&](std::int64_t r) { return Terms::template of<Width>(r, r * columns + column, from...); };
    NumbersOfThread<numbers> sum;
    sum.fill(0);
    if (column < columns) {
      const std::int64_t step = shares * workers;
      std::int64_t r = share * workers + worker;
      for (; r + (ahead - 1) * step < rows; r += ahead * step) {
        NumbersOfThread<numbers> terms[ahead];
        for (int k = 0; k < ahead; ++k) terms[k] = terms_of(r + k * step);
        for (int k = 0; k < ahead; ++k) sum.add(terms[k]);
      }
      for (; r < rows; r += step) sum.add(terms_of(r));
    }
    float* const all = b.template shared<float>(b.threads() * numbers);
    for (int k = 0; k < numbers; ++k) all[k * b.threads() + b.thread()] = sum.values[k];
    for (int step = workers / 2; step > 0; step /= 2) {
      b.sync();
      if (worker < step)
        for (int k = 0; k < numbers; ++k) all[k * b.threads() + b.thread()] += all[k * b.threads() + b.thread() + step * lanes];
    }
    if (worker > 0 || column >= columns) return;
    for (int k = 0; k < numbers; ++k) {
      float* const to = target + (share * Terms::sums + k / Width) * columns + column + k % Width;
      *to = (add ? *to : 0.0F) + all[k * b.threads() + b.thread()];
    }
  }

 private:
  static constexpr int ahead = 8, numbers = Terms::sums * Width;
};

/// target (shares, channels) = sums over rows and places of what each share has of images (rows, channels, places).
struct SumChannels {
  static constexpr const char* name = "SumChannels";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t rows, std::int64_t channels, Divisor places, const float* source, float* target, bool add) const {
    const std::int64_t channel = b.index() % channels, share = b.index() / channels, shares = b.blocks() / channels;
    const std::int64_t all = rows * places.divisor();
    float sum = 0;
    for (std::int64_t i = share * b.threads() + b.thread(); i < all; i += shares * b.threads()) {
      const std::int64_t row = places.quotient_of(i);
      sum += source[(row * channels + channel) * places.divisor() + i - row * places.divisor()];
    }
    sum = block_fold<Sum>(b, sum, b.template shared<float>(warp_threads));
    float* const to = target + b.index();
    if (b.thread() == 0) *to = (add ? *to : 0.0F) + sum;
  }
};

/// target (columns) = or += the sums of the shares, in their order; where there are two sums a column, `second` gets the second.
struct AddShares {
  static constexpr const char* name = "AddShares";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, int shares, int sums, std::int64_t columns, const float* source, float* target, float* second, bool add) const {
    const std::int64_t all = sums * columns, i = std::int64_t{b.index()} * b.threads() + b.thread();
    if (i >= all) return;
    constexpr int ahead = 8;  // loads that are on their way
    float sum = source[i];
    for (int s = 1; s < shares; s += ahead) {
      float of_shares[ahead];
      for (int k = 0; k < ahead; ++k) of_shares[k] = s + k < shares ? source[(s + k) * all + i] : 0.0F;
      for (int k = 0; k < ahead; ++k)
        if (s + k < shares) sum += of_shares[k];
    }
    float* const to = i < columns ? target + i : second + (i - columns);
    *to = (add ? *to : 0.0F) + sum;
  }
};

/// Queues the sums of shares, which pass through scratch where there is more than one, or two sums a column: queue(where they go, whether they are
/// added to what is there).
template <class Queue>
void sum_shares(cudaStream_t stream, std::int64_t shares, int sums, std::int64_t columns, float* target, float* second, bool add, void* scratch,
                const Queue& queue) {
  if (shares == 1 && sums == 1) return queue(target, add);
  auto* const made = static_cast<float*>(scratch);
  queue(made, false);
  launch<AddShares>(stream, extents_of(sums * columns), static_cast<int>(shares), sums, columns, static_cast<const float*>(made), target, second,
                    add);
}

/// Where the sums of columns go, whether they are added to what is there, and scratch of column_sums_scratch(columns) bytes for each sum a column.
/// Gradients of a weight and a bias of 768 are {weight, bias, false, 196,608 bytes}.
struct ColumnTargets {
  float* first;
  float* second;  // null where there is one sum a column
  bool add;
  void* scratch;
};
/// Targets (columns) = or += the sums over rows of Terms of arrays (rows, columns), which no rows make 0. `packs`: four elements beside each other
/// can be read at once.
template <class Terms, class... From>
void sums_of_terms(cudaStream_t stream, std::int64_t rows, std::int64_t columns, bool packs, const ColumnTargets& to, From... from) {
  const SumExtents e(rows, columns, packs);
  sum_shares(stream, e.shares, Terms::sums, columns, to.first, to.second, to.add, to.scratch, [&](float* made, bool adds) {
    const Extents grid{e.tiles * e.shares, sum_threads, static_cast<std::size_t>(sum_threads * Terms::sums * e.width) * sizeof(float)};
    const int tiles = static_cast<int>(e.tiles);
    if (packs)
      launch<SumColumns<Terms, Pack<float>::count>>(stream, grid, rows, columns, e.lanes, tiles, made, adds, from...);
    else
      launch<SumColumns<Terms, 1>>(stream, grid, rows, columns, e.lanes, tiles, made, adds, from...);
  });
}
/// target (columns) = or += the sum over rows of source (rows, columns).
///
/// Law     the order of every sum depends on rows and columns alone, so bfloat16 has the sums of the same floats
/// Errors  R36
/// Tested  compute/cuda/column_sums_test
template <class Value>
void column_sums(cudaStream_t stream, std::int64_t rows, std::int64_t columns, const Value* source, float* target, bool add, void* scratch) {
  constexpr int pack = Pack<float>::count;
  const bool packs = columns % pack == 0 && reinterpret_cast<std::uintptr_t>(source) % (pack * sizeof(Value)) == 0;
  sums_of_terms<PlainTerms>(stream, rows, columns, packs, {target, nullptr, add, scratch}, source);
}

/// target (channels) = or += the sum over rows and places of source (rows, channels, places): the gradient of the bias of images. 8 rows of 16
/// channels of 49 places have 16 sums of 392. `scratch` has column_sums_scratch(channels) bytes.
///
/// Law     the order of every sum depends on the three extents alone
/// Errors  R36
/// Tested  compute/cuda/column_sums_test
inline void channel_sums(cudaStream_t stream, std::int64_t rows, std::int64_t channels, std::int64_t places, const float* source, float* target,
                         bool add, void* scratch) {
  if (places == 1) return column_sums(stream, rows, channels, source, target, add, scratch);
  constexpr std::int64_t usual_blocks = 1024, least_elements = 8;
  const std::int64_t by_elements = rows * places / (least_elements * sum_threads);
  const std::int64_t shares = std::clamp<std::int64_t>(by_elements, 1, std::clamp<std::int64_t>(usual_blocks / channels, 1, most_sum_shares));
  sum_shares(stream, shares, 1, channels, target, nullptr, add, scratch, [&](float* to, bool adds) {
    launch<SumChannels>(stream, Extents{channels * shares, sum_threads, warp_threads * sizeof(float)}, rows, channels, Divisor{places}, source, to,
                        adds);
  });
}

}  // namespace heddle::compute_room
