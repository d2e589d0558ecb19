// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/attention_tiles.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "compute/cuda/attention_cases.hpp"
#include "compute/cuda/own_kernels.hpp"
using namespace heddle;
using attention_cases::Card;

static_assert(attention_shared(1) == 38'912 && attention_shared(2) == 48'128);

namespace {

AttentionSizes sizes_of(int positions, int features) {
  const std::int64_t width = std::int64_t{3} * features;
  return {width, features, 1, positions, 1, features, 1, false, 1.0F};
}

/// target (64, 64) = left right^T, gathered (64, 32) = that times the features of right from `begin` on.
struct ProductsOfTiles {
  static constexpr const char* name = "ProductsOfTiles";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B>
  void operator()(B& b, AttentionSizes e, bool kept, int begin, const float* left, const float* right, float* target, float* gathered) const {
    const AttentionTiles<B> t{b, e, kept ? e.chunks() : 1};
    const HeadRows<float> rows{left, e.features, e.positions}, columns{right, e.features, e.positions};
    if (kept) t.keep(rows);
    AttentionScores scores;
    AttentionFeatures sums{};
    t.products(scores, rows, columns, kept);
    for (int i = 0; i < attention_rows; ++i)
      for (int j = 0; j < attention_columns; ++j) {
        t.weight(i, j) = scores[i][j];
        if (t.row(i) < e.positions && t.column(j) < e.positions) target[t.row(i) * e.positions + t.column(j)] = scores[i][j];
      }
    t.gather(sums, e.positions, columns, begin);
    t.write(gathered, e.features, e.positions, begin, sums);
  }
};
/// target (queries, keys) = what each weight is multiplied by.
template <bool Transposed> struct DrawsOfTile {
  static constexpr const char* name = "DrawsOfTile";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B>
  void operator()(B& b, AttentionSizes e, MaskOfCall drop, std::int64_t step, int queries, int first_key, int keys, float* target) const {
    const AttentionTiles<B> t{b, e};
    std::uint64_t* const numbers = b.template shared<std::uint64_t>(attention_tile);
    t.count_weights(drop, 0, queries, numbers);
    b.sync();
    t.template draw<Transposed>(drop, step, numbers, queries, first_key, keys);
    b.sync();
    for (int i = 0; i < attention_rows; ++i)
      for (int j = 0; j < attention_columns; ++j) {
        const int query = Transposed ? t.column(j) : t.row(i), key = Transposed ? t.row(i) : t.column(j);
        if (query < queries && key < keys) target[query * keys + key] = t.weight(i, j);
      }
  }
};

void products_are_right(int positions, int features, bool kept, int begin) {
  CAPTURE(features);
  const AttentionSizes e = sizes_of(positions, features);
  const auto at = [](std::int64_t row, std::int64_t width, std::int64_t column) { return static_cast<std::size_t>(row * width + column); };
  const Floats left = conformance::drawn(std::int64_t{positions} * features, 1), right = conformance::drawn(std::int64_t{positions} * features, 2);
  Floats target(static_cast<std::size_t>(positions) * positions), gathered(left.size());
  conformance::CardTensors card;
  const CudaMemory space = card.space({});
  launch<ProductsOfTiles>(space.queue->stream, {1, attention_threads, attention_shared(kept ? e.chunks() : 1)}, e, kept, begin,
                          card.given(left.data(), std::ssize(left)), card.given(right.data(), std::ssize(right)),
                          card.made(target.data(), std::ssize(target)), card.made(gathered.data(), std::ssize(gathered)));
  card.finish();
  double off = 0, most = 0;
  for (int i = 0; i < positions; ++i)
    for (int j = 0; j < positions; ++j) {
      double sum = 0;
      for (int f = 0; f < features; ++f) sum += static_cast<double>(left[at(i, features, f)]) * static_cast<double>(right[at(j, features, f)]);
      off = std::max(off, std::abs(sum - static_cast<double>(target[at(i, positions, j)])));
    }
  CHECK(off <= (features + 2) * 1.01 * 0x1p-24 * features);
  off = 0;
  for (int i = 0; i < positions; ++i)
    for (int f = begin; f < features && f < begin + attention_chunk; ++f) {
      double sum = 0, size = 0;
      for (int j = 0; j < positions; ++j) {
        const double term = static_cast<double>(target[at(i, positions, j)]) * static_cast<double>(right[at(j, features, f)]);
        sum += term;
        size += std::abs(term);
      }
      off = std::max(off, std::abs(sum - static_cast<double>(gathered[at(i, features, f)])));
      most = std::max(most, size);
    }
  CHECK(off <= (positions + 2) * 1.01 * 0x1p-24 * most);
}

}  // namespace

TEST_CASE("products of tiles and what they gather are those of loops in double, for any features and positions") {
  const Card card;
  products_are_right(64, 64, true, 32);
  products_are_right(64, 33, false, 32);
  products_are_right(61, 100, false, 64);
  products_are_right(7, 1, true, 0);
}

TEST_CASE("weights of a tile are dropped by their numbers in the batch, whichever tile they are in") {
  const Card card;
  for (const bool split : {false, true}) {
    const AttentionSizes e = sizes_of(67, 3);  // 67 positions: the numbers of a query begin anywhere among four
    CallContext context = attention_cases::third_step_from_row(5);
    if (split) {
      context.runs = 67;
      context.parts = 2;
      context.part = 1;
    }
    const std::uint64_t threshold = std::uint64_t{1} << 30U;
    const MaskOfCall drop(context, 67 * 3, threshold, 1.25F);
    for (const int first_key : {0, 64}) {
      const int keys = first_key == 0 ? 64 : 3;
      Floats rows(static_cast<std::size_t>(60 * keys)), columns(rows.size());
      conformance::CardTensors tensors;
      const CudaMemory space = tensors.space({});
      const Extents one{1, attention_threads, attention_shared(1) + attention_tile * sizeof(std::uint64_t)};
      launch<DrawsOfTile<false>>(space.queue->stream, one, e, drop, context.step, 60, first_key, keys, tensors.made(rows.data(), std::ssize(rows)));
      launch<DrawsOfTile<true>>(space.queue->stream, one, e, drop, context.step, 60, first_key, keys,
                                tensors.made(columns.data(), std::ssize(columns)));
      tensors.finish();
      CHECK(conformance::equal_bits(rows, columns));
      int wrong = 0;
      for (int query = 0; query < 60; ++query)
        for (int key = 0; key < keys; ++key) {
          const std::uint64_t number = context.number_of(query * 3, 67 * 3) / 3 * 67 + static_cast<std::uint64_t>(first_key + key);
          const bool dropped = mask_bits(context.seed, context.stream(), number) < threshold;
          wrong += rows[static_cast<std::size_t>(query * keys + key)] != (dropped ? 0.0F : 1.25F);
        }
      CHECK(wrong == 0);
    }
  }
}
