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

/// What is summed: the elements of a matrix. Of another kernel's gradients it is what they are made of, element by element.
struct PlainTerms {
  template <int Width, class Value> [[nodiscard]] HEDDLE_DEVICE static NumbersOfThread<Width> of(std::int64_t, std::int64_t at, const Value* source) {
    NumbersOfThread<Width> read;
    read.load(source + at);
    return read;
  }
};
/// target (shares, columns) = sums of the rows that each share has, every share-th of those that a block reads at once. `from` are the arrays that
/// Terms::of(row, element, arrays...) reads.
template <class Terms, int Width> struct SumColumns {
  static constexpr const char* name = "SumColumns";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B, class... From>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t rows, std::int64_t columns, int lanes, int tiles, float* target, bool add, From... from) const {
    const int workers = b.threads() / lanes, worker = b.thread() / lanes;
    const std::int64_t tile = b.index() % tiles, share = b.index() / tiles, shares = b.blocks() / tiles;
    const std::int64_t column = (tile * lanes + b.thread() % lanes) * Width;
    float sums[Width] = {};
    if (column < columns)
      for (std::int64_t r = share * workers + worker; r < rows; r += shares * workers) {
        const NumbersOfThread<Width> terms = Terms::template of<Width>(r, r * columns + column, from...);
        for (int k = 0; k < Width; ++k) sums[k] += terms.values[k];
      }
    float* const all = b.template shared<float>(b.threads() * Width);
    for (int k = 0; k < Width; ++k) all[k * b.threads() + b.thread()] = sums[k];
    for (int step = workers / 2; step > 0; step /= 2) {
      b.sync();
      if (worker < step)
        for (int k = 0; k < Width; ++k) all[k * b.threads() + b.thread()] += all[k * b.threads() + b.thread() + step * lanes];
    }
    if (worker > 0 || column >= columns) return;
    float* const to = target + share * columns + column;
    for (int k = 0; k < Width; ++k) to[k] = (add ? to[k] : 0.0F) + all[k * b.threads() + b.thread()];
  }
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

/// target (columns) = or += the sums of the shares, in their order.
struct AddShares {
  static constexpr const char* name = "AddShares";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, int shares, std::int64_t columns, const float* source, float* target, bool add) const {
    const std::int64_t column = std::int64_t{b.index()} * b.threads() + b.thread();
    if (column >= columns) return;
    float sum = source[column];
    for (int s = 1; s < shares; ++s) sum += source[s * columns + column];
    target[column] = (add ? target[column] : 0.0F) + sum;
  }
};

/// Queues the sums of shares, which pass through scratch where there is more than one: queue(where they go, whether they are added to what is there).
template <class Queue>
void sum_shares(cudaStream_t stream, std::int64_t shares, std::int64_t columns, float* target, bool add, void* scratch, const Queue& queue) {
  if (shares == 1) return queue(target, add);
  auto* const made = static_cast<float*>(scratch);
  queue(made, false);
  launch<AddShares>(stream, extents_of(columns), static_cast<int>(shares), columns, static_cast<const float*>(made), target, add);
}

/// target (columns) = or += the sum over rows of Terms of arrays (rows, columns), which no rows make 0. `scratch` has column_sums_scratch(columns)
/// bytes. `packs`: four elements beside each other can be read at once.
template <class Terms, class... From>
void sums_of_terms(cudaStream_t stream, std::int64_t rows, std::int64_t columns, bool packs, float* target, bool add, void* scratch, From... from) {
  const SumExtents e(rows, columns, packs);
  sum_shares(stream, e.shares, columns, target, add, scratch, [&](float* to, bool adds) {
    const Extents grid{e.tiles * e.shares, sum_threads, static_cast<std::size_t>(sum_threads * e.width) * sizeof(float)};
    const int tiles = static_cast<int>(e.tiles);
    if (packs)
      launch<SumColumns<Terms, Pack<float>::count>>(stream, grid, rows, columns, e.lanes, tiles, to, adds, from...);
    else
      launch<SumColumns<Terms, 1>>(stream, grid, rows, columns, e.lanes, tiles, to, adds, from...);
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
  sums_of_terms<PlainTerms>(stream, rows, columns, packs, target, add, scratch, source);
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
  sum_shares(stream, shares, channels, target, add, scratch, [&](float* to, bool adds) {
    launch<SumChannels>(stream, Extents{channels * shares, sum_threads, warp_threads * sizeof(float)}, rows, channels, Divisor{places}, source, to,
                        adds);
  });
}

}  // namespace heddle::compute_room
