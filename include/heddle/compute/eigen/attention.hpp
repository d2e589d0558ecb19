// SPDX-License-Identifier: MIT
// Room: compute. SelfAttention on Eigen: tiles of scores, each sequence and head by itself, with the log-sums that the forward has left.
// Sees: graph/layers/attention, seams/concepts, compute/eigen.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: Kernel<SelfAttention, EigenCompute>.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>

#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/compute/eigen/gemm.hpp"
#include "heddle/core/random.hpp"
#include "heddle/graph/layers/attention.hpp"

namespace heddle::compute_room {

/// Run-time extents of one call, all from the leaf: where heads are split it is smaller. 2 rows of (5, 24) through SelfAttention<Heads<4>> are 2
/// sequences of 5 positions, 4 heads of 2 features, and as many of keys and values.
struct AttentionExtents {
  std::int64_t positions, width, out, heads, features, key_values, sequences;
  AttentionExtents(const Leaf& leaf, std::int64_t rows)
      : positions(leaf.in.shape.sizes[leaf.in.shape.dimensions - 2]), width(leaf.in.shape.last()), out(leaf.out.shape.last()),
        heads(leaf.statistics.last()), features(out / heads), key_values((width - out) / (2 * features)),
        sequences(rows * (leaf.in.elements() / (positions * width))) {}
};

/// Which weights of a query are dropped. A weight has one number in the whole batch: its query, counted by the place of its output, times the
/// positions, and the key. Of 5 positions key 2 of query 7 is number 37.
struct DroppedWeights {
  const CallContext& context;
  graph_room::WeightDrop drop;

  [[nodiscard]] bool any() const { return drop.threshold != 0 && context.trains; }
  /// The number of key 0 of the query whose output begins at element `at` of the call.
  [[nodiscard]] std::uint64_t first_of(const Leaf& leaf, std::int64_t at, std::int64_t features, std::int64_t positions) const {
    return context.number_of(at, leaf.out.elements()) / static_cast<std::uint64_t>(features) * static_cast<std::uint64_t>(positions);
  }
};

/// Attention in tiles of 64 queries and 64 keys, 64 features at a time: whatever the length of the sequence and the size of a head, five tiles of
/// 16 KiB on the stack are all that it needs beside the workspace of the products. Of 150 positions a head has 9 tiles, 6 of them under Causal.
///
/// Law     the order of every sum depends on positions and features of a head alone: the bits are the same on any number of ranks
/// Errors  none; rows may be 0
/// Tested  compute/eigen/attention_test
template <class Products> class AttentionKernel {
 public:
  AttentionKernel(const Leaf& leaf, std::int64_t rows, bool causal, const DroppedWeights& dropped, void* workspace)
      : leaf_(leaf), e_(leaf, rows), causal_(causal), dropped_(dropped), scale_(static_cast<float>(1 / std::sqrt(static_cast<double>(e_.features)))),
        workspace_(workspace) {}

  void forward(const ForwardCall& call) {
    each_head([&](const Head& head) {
      for (Span queries = first(e_.positions); queries.count > 0; queries = next(queries, e_.positions)) attend(call, head, queries);
    });
  }
  void backward(const BackwardCall& call) {
    if (call.input_gradient == nullptr) return;
    EigenCompute::zero(call.input_gradient, e_.sequences * e_.positions * e_.width);
    each_head([&](const Head& head) {
      for (Span queries = first(e_.positions); queries.count > 0; queries = next(queries, e_.positions)) pull_back(call, head, queries);
    });
  }

 private:
  static constexpr std::int64_t side = 64;
  /// Some of the positions or features: 64 from the 64th on.
  struct Span {
    std::int64_t begin, count;
  };
  [[nodiscard]] static Span first(std::int64_t all) { return {0, std::min(side, all)}; }
  [[nodiscard]] static Span next(Span here, std::int64_t all) { return {here.begin + side, std::min(side, all - here.begin - side)}; }

  /// Where a head of a sequence begins: its query, key and value of position 0 in a row of the input, its output, and its log-sum.
  struct Head {
    std::int64_t query, key, value, output, statistic;
  };
  template <class Body> void each_head(const Body& body) const {
    for (std::int64_t s = 0; s < e_.sequences; ++s)
      for (std::int64_t h = 0; h < e_.heads; ++h) {
        const std::int64_t row = s * e_.positions * e_.width;
        const std::int64_t shared = row + e_.out + h / (e_.heads / e_.key_values) * e_.features;
        body(Head{row + h * e_.features, shared, shared + e_.key_values * e_.features, s * e_.positions * e_.out + h * e_.features,
                  s * e_.positions * e_.heads + h});
      }
  }

  /// tile (rows.count, columns.count) = the elements of rows that are `stride` apart.
  static void take(float* tile, const float* from, std::int64_t stride, Span rows, Span columns) {
    for (std::int64_t r = 0; r < rows.count; ++r)
      EigenCompute::copy(tile + r * columns.count, from + (rows.begin + r) * stride + columns.begin, columns.count);
  }
  /// The same elements += tile.
  static void add(float* to, std::int64_t stride, Span rows, Span columns, const float* tile) {
    for (std::int64_t r = 0; r < rows.count; ++r) {
      float* const target = to + (rows.begin + r) * stride + columns.begin;
      EigenCompute::add(target, target, tile + r * columns.count, columns.count);
    }
  }
  /// tile (rows, columns) = a (rows, features) b^T with b (columns, features), whose rows are `a_stride` and `b_stride` apart.
  void products(float* tile, const float* a, std::int64_t a_stride, Span rows, const float* b, std::int64_t b_stride, Span columns) {
    for (Span part = first(e_.features); part.count > 0; part = next(part, e_.features)) {
      take(left_, a, a_stride, rows, part);
      take(right_, b, b_stride, columns, part);
      Products::nt(rows.count, columns.count, part.count, left_, right_, tile, part.begin == 0 ? Into::overwrite : Into::add, workspace_);
    }
  }
  /// Keys of a tile that query r of its queries sees.
  [[nodiscard]] std::int64_t seen(Span queries, std::int64_t r, Span keys) const {
    return causal_ ? std::clamp<std::int64_t>(queries.begin + r + 1 - keys.begin, 0, keys.count) : keys.count;
  }
  [[nodiscard]] bool any_seen(Span queries, Span keys) const { return keys.count > 0 && seen(queries, queries.count - 1, keys) > 0; }

  /// The outputs of some queries: keys come tile by tile, and what is summed is scaled down whenever a larger score is found.
  void attend(const ForwardCall& call, const Head& head, Span queries) {
    float most[side];
    float sums[side]{};
    std::fill(most, most + side, -std::numeric_limits<float>::infinity());
    float* const output = call.output + head.output;
    for (std::int64_t r = 0; r < queries.count; ++r) EigenCompute::zero(output + (queries.begin + r) * e_.out, e_.features);
    for (Span keys = first(e_.positions); any_seen(queries, keys); keys = next(keys, e_.positions)) {
      products(scores_, call.input + head.query, e_.width, queries, call.input + head.key, e_.width, keys);
      for (std::int64_t r = 0; r < queries.count; ++r) {
        const float smaller = powers(scores_ + r * keys.count, seen(queries, r, keys), keys.count, most[r], sums[r]);
        if (smaller != 1.0F) multiply(output + (queries.begin + r) * e_.out, smaller);
        if (dropped_.any()) drop(scores_ + r * keys.count, head, queries.begin + r, keys, seen(queries, r, keys));
      }
      for (Span part = first(e_.features); part.count > 0; part = next(part, e_.features)) {
        take(right_, call.input + head.value, e_.width, keys, part);
        Products::nn(queries.count, part.count, keys.count, scores_, right_, product_, Into::overwrite, workspace_);
        add(output, e_.out, queries, part, product_);
      }
    }
    for (std::int64_t r = 0; r < queries.count; ++r) {
      multiply(output + (queries.begin + r) * e_.out, 1.0F / sums[r]);
      if (call.statistics != nullptr) call.statistics[head.statistic + (queries.begin + r) * e_.heads] = most[r] + std::log(sums[r]);
    }
  }
  /// scores = exp(scale scores - most) of those that are seen, 0 behind them, with the largest of all that came so far. Gives the factor by which
  /// what was summed under the former largest is too large.
  float powers(float* scores, std::int64_t seen, std::int64_t count, float& most, float& sum) const {
    const float before = most;
    for (std::int64_t j = 0; j < seen; ++j) {
      scores[j] *= scale_;
      most = std::max(most, scores[j]);
    }
    const float shift = most == -std::numeric_limits<float>::infinity() ? 0.0F : most;  // all of them so far: their powers are 0, and no NaN
    const float smaller = before == most ? 1.0F : std::exp(before - shift);
    float more = 0;
    for (std::int64_t j = 0; j < seen; ++j) {
      scores[j] = std::exp(scores[j] - shift);
      more += scores[j];
    }
    std::fill(scores + seen, scores + count, 0.0F);
    sum = sum * smaller + more;
    return smaller;
  }
  /// values (count) of the keys that one query sees: 0, or as much larger as those that stay.
  void drop(float* values, const Head& head, std::int64_t query, Span keys, std::int64_t count) const {
    const std::uint64_t first_key = dropped_.first_of(leaf_, head.output + query * e_.out, e_.features, e_.positions);
    each_mask_bits(dropped_.context.seed, dropped_.context.stream(), first_key + static_cast<std::uint64_t>(keys.begin), count,
                   [&](std::int64_t j, std::uint32_t bits) { values[j] *= bits >= dropped_.drop.threshold ? dropped_.drop.scale : 0.0F; });
  }
  void multiply(float* values, float factor) const {
    for (std::int64_t i = 0; i < e_.features; ++i) values[i] *= factor;
  }

  /// With P the weights again, dP = dO V^T and D_i = dO_i O_i: dS = P (dP - D) scale, and dV += P^T dO, dQ += dS K, dK += dS^T Q. Where weights are
  /// dropped dP is so as well, and P in dV.
  void pull_back(const BackwardCall& call, const Head& head, Span queries) {
    const float* const output_gradient = call.output_gradient + head.output;
    float along[side];
    for (std::int64_t r = 0; r < queries.count; ++r) {
      const std::int64_t at = (queries.begin + r) * e_.out;
      along[r] = 0;
      for (std::int64_t i = 0; i < e_.features; ++i) along[r] += output_gradient[at + i] * call.output[head.output + at + i];
    }
    for (Span keys = first(e_.positions); any_seen(queries, keys); keys = next(keys, e_.positions)) {
      products(scores_, call.input + head.query, e_.width, queries, call.input + head.key, e_.width, keys);
      products(slopes_, output_gradient, e_.out, queries, call.input + head.value, e_.width, keys);
      for (std::int64_t r = 0; r < queries.count; ++r) {
        const float log_sum = call.statistics[head.statistic + (queries.begin + r) * e_.heads];
        const std::int64_t at = r * keys.count, count = seen(queries, r, keys);
        if (dropped_.any()) drop(slopes_ + at, head, queries.begin + r, keys, count);
        weights_again(scores_ + at, slopes_ + at, count, keys.count, log_sum, along[r]);
        if (dropped_.any()) drop(scores_ + at, head, queries.begin + r, keys, count);
      }
      for (Span part = first(e_.features); part.count > 0; part = next(part, e_.features)) {
        take(right_, output_gradient, e_.out, queries, part);
        Products::tn(keys.count, part.count, queries.count, scores_, right_, product_, Into::overwrite, workspace_);
        add(call.input_gradient + head.value, e_.width, keys, part, product_);
        take(right_, call.input + head.key, e_.width, keys, part);
        Products::nn(queries.count, part.count, keys.count, slopes_, right_, product_, Into::overwrite, workspace_);
        add(call.input_gradient + head.query, e_.width, queries, part, product_);
        take(right_, call.input + head.query, e_.width, queries, part);
        Products::tn(keys.count, part.count, queries.count, slopes_, right_, product_, Into::overwrite, workspace_);
        add(call.input_gradient + head.key, e_.width, keys, part, product_);
      }
    }
  }
  /// scores become weights, slopes the gradients of scores.
  void weights_again(float* scores, float* slopes, std::int64_t seen, std::int64_t count, float log_sum, float along) const {
    for (std::int64_t j = 0; j < seen; ++j) {
      scores[j] = std::exp(scale_ * scores[j] - log_sum);
      slopes[j] = scores[j] * (slopes[j] - along) * scale_;
    }
    std::fill(scores + seen, scores + count, 0.0F);
    std::fill(slopes + seen, slopes + count, 0.0F);
  }

  const Leaf& leaf_;
  AttentionExtents e_;
  bool causal_;
  DroppedWeights dropped_;
  float scale_;
  void* workspace_;
  alignas(64) float left_[side * side];
  alignas(64) float right_[side * side];
  alignas(64) float scores_[side * side];
  alignas(64) float slopes_[side * side];
  alignas(64) float product_[side * side];
};

}  // namespace heddle::compute_room

namespace heddle {

/// SelfAttention on EigenCompute or what derives from it; the code does not depend on the options.
///
/// Errors  none; rows may be 0
/// Tested  compute/eigen/attention_test
template <class... Options, std::derived_from<compute_room::EigenCompute> C> struct Kernel<graph_room::SelfAttention<Options...>, C> {
  using Attention = compute_room::AttentionKernel<typename compute_room::ProductsOf<C>::type>;
  using Layer = graph_room::SelfAttention<Options...>;
  static void forward(const seams_room::ForwardCall& call) { kernel(call).forward(call); }
  static void backward(const seams_room::BackwardCall& call) { kernel(call).backward(call); }

 private:
  [[nodiscard]] static Attention kernel(const auto& call) {
    return Attention(*call.leaf, call.rows, Layer::causal, {call.context, Layer::Said::drop()}, call.workspace);
  }
};

}  // namespace heddle
