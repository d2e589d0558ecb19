// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/attention_on_tensor_cores.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <type_traits>

#include "compute/cuda/attention_on_tensor_cores_cases.hpp"
#include "compute/cuda/own_kernels.hpp"
using namespace heddle;
using attention_cases::Card;
using attention_cases::Values;

static_assert(fits_tensor_cores(8) && fits_tensor_cores(64) && !fits_tensor_cores(4) && !fits_tensor_cores(12) && !fits_tensor_cores(72));
static_assert(PassedTile<float, true, true>::words == PassedTile<float, true, false>::words);
static_assert(sizeof(TensorFloat) * PassedTile<float, false, true>::words == 4'352);
static_assert(sizeof(BFloat16Pair) * PassedTile<BFloat16, true, false>::words == 4'608);
static_assert(sizeof(BFloat16Pair) * PassedTile<BFloat16, false, true>::words == 4'608);
static_assert(PassedTile<BFloat16, true, true>::words == 2 * PassedTile<BFloat16, true, false>::words);

namespace {

AttentionSizes sizes_of(int positions, int features) {
  const std::int64_t width = std::int64_t{3} * features;
  return {width, features, 1, positions, 1, features, 1, false, 1.0F};
}

/// target (64, tile) = left right^T for tiles of 32 of `right`, one after another, and gathered (64, features) = the sum of target right.
template <class Value, bool Both> struct ProductsOfWarps {
  static constexpr const char* name = "ProductsOfWarps";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B>
  void operator()(B& b, AttentionSizes e, int left_rows, const Value* left, const Value* right, float* target, float* gathered) const {
    using Features = PassedTile<Value, true, Both>;
    using Positions = PassedTile<Value, Both, true>;
    TensorFactor<Value>* const tiles = b.template shared<TensorFactor<Value>>(2 * (Features::words + Positions::words));
    const int lane = b.thread() % warp_threads, own = b.thread() / warp_threads * rows_of_warp;
    LeftFactors<Value> factors;
    factors.load({left + own * e.features, e.features, left_rows - own}, e.features, lane);
    WarpFeatures sums{};
    const auto fetch = [&](int i) {
      FetchedTile<Value> next;
      next.load(HeadRows<Value>{right, e.features, e.positions}.tile(i * passed_positions<Value>, passed_positions<Value>), e.features, b.thread());
      return next;
    };
    const auto store = [&](const FetchedTile<Value>& next, int buffer) {
      next.template store<Features>(tiles + buffer * Features::words, b.thread());
      next.template store<Positions>(tiles + 2 * Features::words + buffer * Positions::words, b.thread());
    };
    pass_over(b, (e.positions + passed_positions<Value> - 1) / passed_positions<Value>, fetch, store, [&](int i, int buffer) {
      WarpScores<Value> scores;
      Features::over_features(b, scores, factors, tiles + buffer * Features::words, e.features);
      for (int n = 0; n < passed_positions<Value> / 8; ++n)
        for (int k = 0; k < 4; ++k) {
          const int row = own + lane / 4 + k / 2 * 8, column = i * passed_positions<Value> + 8 * n + lane % 4 * 2 + k % 2;
          if (row < left_rows && column < e.positions) target[row * e.positions + column] = scores[n][k];
        }
      Positions::over_positions(b, sums, scores, tiles + 2 * Features::words + buffer * Positions::words, e.features);
    });
    write_rows(gathered + own * e.features, e.features, left_rows - own, e.features, sums, {1, 1}, lane);
  }
};

double seen_by_product(float x, bool floats) { return static_cast<double>(floats ? as_factor(x) : core_room::widened(core_room::rounded(x))); }

/// A score is a sum of products that are exact; what is gathered has scores that are rounded as factors.
template <class Value, bool Both> void products_are_right(int rows, int positions, int features, std::uint64_t seed) {
  CAPTURE(rows);
  CAPTURE(positions);
  CAPTURE(features);
  constexpr bool floats = attention_cases::in_floats<Value>;
  const Card emulated(seed);
  const auto at = [](std::int64_t row, std::int64_t width, std::int64_t column) { return static_cast<std::size_t>(row * width + column); };
  const Floats left = conformance::drawn(std::int64_t{rows} * features, 1), right = conformance::drawn(std::int64_t{positions} * features, 2);
  Floats target(at(rows, positions, 0), conformance::nan), gathered(left.size(), conformance::nan);
  conformance::CardTensors card;
  Values<Value> left_values(left.data(), std::ssize(left)), right_values(right.data(), std::ssize(right));
  const CudaMemory space = card.space({});
  const std::size_t shared = 2 * sizeof(float) * (PassedTile<Value, true, Both>::words + PassedTile<Value, Both, true>::words);
  launch<ProductsOfWarps<Value, Both>>(space.queue->stream, {1, attention_threads, shared}, sizes_of(positions, features), rows,
                                       values_at<Value>(static_cast<const float*>(left_values.given(card))),
                                       values_at<Value>(static_cast<const float*>(right_values.given(card))),
                                       card.made(target.data(), std::ssize(target)), card.made(gathered.data(), std::ssize(gathered)));
  card.finish();
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < positions; ++j) {
      double sum = 0, size = 0;
      for (int f = 0; f < features; ++f) {
        const double term = seen_by_product(left[at(i, features, f)], floats) * seen_by_product(right[at(j, features, f)], floats);
        sum += term;
        size += std::abs(term);
      }
      REQUIRE(std::abs(sum - static_cast<double>(target[at(i, positions, j)])) <= (features + 2) * 1.01 * 0x1p-24 * size);
    }
  for (int i = 0; i < rows; ++i)
    for (int f = 0; f < features; ++f) {
      double sum = 0, size = 0;
      for (int j = 0; j < positions; ++j) {
        const double term = seen_by_product(target[at(i, positions, j)], floats) * seen_by_product(right[at(j, features, f)], floats);
        sum += term;
        size += std::abs(term);
      }
      REQUIRE(std::abs(sum - static_cast<double>(gathered[at(i, features, f)])) <= (positions + 2) * 1.01 * 0x1p-24 * size);
    }
}

/// kept[q] = the bits of the keys of a query, from whichever of 4 lanes.
struct DrawsOfQueries {
  static constexpr int keys_of_tile = 32;
  static constexpr const char* name = "DrawsOfQueries";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B>
  void operator()(B& b, AttentionSizes e, MaskOfCall drop, std::int64_t step, int first_key, float* together, float* alone, float* factors) const {
    KeptKeys<true> kept;
    const int g = b.thread() / 4;
    kept.begin(drop, e, 0, g);
    kept.draw(b, drop, drop.stream(step), first_key, keys_of_tile);
    for (int h = 0; h < 2; ++h)
      for (int key = b.thread() % 4; key < keys_of_tile; key += 4) {
        together[(g + 8 * h) * keys_of_tile + key] = (kept.kept[h] >> static_cast<unsigned>(key) & 1U) != 0 ? 1.0F : 0.0F;
        factors[(g + 8 * h) * keys_of_tile + key] = kept.of(drop, h, key);
      }
    if (b.thread() >= rows_of_warp) return;
    const std::uint32_t bits = kept_weights(
        drop, drop.stream(step), first_weight(drop, e, std::int64_t{b.thread()} * e.out) + static_cast<std::uint64_t>(first_key), rows_of_warp, 0, 1);
    for (int key = 0; key < keys_of_tile; ++key)
      alone[b.thread() * keys_of_tile + key] = (bits >> static_cast<unsigned>(key) & 1U) != 0 ? 1.0F : 0.0F;
  }
};

}  // namespace

TEST_CASE_TEMPLATE("products of warps over features and over positions are those of loops in double, in every order of threads", Value, float,
                   BFloat16) {
  products_are_right<Value, false>(64, 32, 64, 1);
  products_are_right<Value, true>(64, 32, 64, 2);
  products_are_right<Value, true>(64, 96, 16, 3);
  for (std::uint64_t seed = 4; seed < 12; ++seed) products_are_right<Value, false>(61, 100, 40, seed);
  products_are_right<Value, true>(7, 1, 8, 12);
  products_are_right<Value, false>(17, 33, 56, 13);
}

TEST_CASE("a factor is what a product sees of a value, and a word has two neighbours in bfloat16") {
  const float floats[] = {0.5F, 1, 2};
  const BFloat16 halves[] = {core_room::rounded(0.5F), core_room::rounded(0.25F), core_room::rounded(1.0F), core_room::rounded(2.0F)};
  CHECK(word_at(floats, 2).bits == tensor_float(2).bits);
  CHECK(word_at(halves, 2).bits == 0x40003F80);
  CHECK(as_factor(1 + 0x1p-11F) == 1 + 0x1p-10F);
  CHECK(as_factor(core_room::rounded(1.5F)) == 1.5F);
}

TEST_CASE("weights are dropped by their numbers in the batch, whether four lanes draw a query together or one lane draws it") {
  const Card card;
  for (const bool split : {false, true}) {
    const AttentionSizes e = sizes_of(67, 8);  // 67 positions: the numbers of a query begin anywhere among four
    CallContext context = attention_cases::third_step_from_row(5);
    if (split) {
      context.runs = 67;
      context.parts = 2;
      context.part = 1;
    }
    const std::uint64_t threshold = std::uint64_t{1} << 30U;
    const MaskOfCall drop(context, 67 * 8, threshold, 1.25F);
    for (const int first_key : {0, 32, 33}) {
      Floats together(16 * 32), alone(together.size()), factors(together.size());
      conformance::CardTensors tensors;
      launch<DrawsOfQueries>(tensors.space({}).queue->stream, {1, 32}, e, drop, context.step, first_key, tensors.made(together.data(), 16 * 32),
                             tensors.made(alone.data(), 16 * 32), tensors.made(factors.data(), 16 * 32));
      tensors.finish();
      int wrong = 0;
      for (int query = 0; query < 16; ++query)
        for (int key = 0; key < 32; ++key) {
          const std::uint64_t number = context.number_of(query * 8, 67 * 8) / 8 * 67 + static_cast<std::uint64_t>(first_key + key);
          const bool kept = mask_bits(context.seed, context.stream(), number) >= threshold;
          const auto at = static_cast<std::size_t>(query * 32 + key);
          wrong += together[at] != (kept ? 1.0F : 0.0F);
          wrong += alone[at] != (kept && key < 16 ? 1.0F : 0.0F);
          wrong += factors[at] != (kept ? 1.25F : 0.0F);
        }
      CHECK(wrong == 0);
    }
  }
}
