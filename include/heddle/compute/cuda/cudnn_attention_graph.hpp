// SPDX-License-Identifier: MIT
// Room: compute. Scaled dot-product attention as operations of a graph of cuDNN, forward and backward; cuDNN knows them together as one kernel.
// Sees: compute/cuda/library, compute/cuda/cudnn_graph.  Does not see: policies, programs.
// In: AttentionShape.  Out: CudnnAttentionWay, CudnnAttentionGraph.
#pragma once

#include <cudnn.h>

#include <cstdint>
#include <utility>

#include "heddle/compute/cuda/cudnn_graph.hpp"
#include "heddle/compute/cuda/library.hpp"

namespace heddle::compute_room {

/// What a graph makes: outputs and log-sums, or the three gradients.
enum class CudnnAttentionWay : std::uint8_t { forward, backward };

/// The graph of a shape. Tensors are (sequences, heads, positions, features), and heads lie beside each other in the rows of positions; scores are
/// virtual. A forward under a causal mask has 14 operations, a backward 21; where
/// keys are shared it has 2 more. cuDNN 9.19 knows no forward that leaves log-sums out.
///
/// Source  sources.md#flash-attention, sources.md#cudnn
/// Tested  compute/cuda/cudnn_attention_graph_test, compute/cuda/cudnn_attention_test
class CudnnAttentionGraph {
 public:
  enum Id : std::int64_t {
    query = 1,
    key,
    value,
    output,
    log_sums,
    scale,
    output_gradient,
    query_gradient,
    key_gradient,
    value_gradient,
    along,  ///< D = dO O of each query, which the backward leaves in memory
    one,
    lowest,
    between = 100  ///< virtual tensors have the numbers from here on
  };
  /// It needs no card.
  [[nodiscard]] static CudnnGraph of(const AttentionShape& shape, CudnnAttentionWay way) {
    CudnnAttentionGraph made{shape};
    way == CudnnAttentionWay::backward ? made.backward() : made.forward();
    return std::move(made.g_);
  }

 private:
  explicit CudnnAttentionGraph(const AttentionShape& shape) : s_(shape), scale_(by_value(scale)) {}

  // ---- tensors
  [[nodiscard]] std::int64_t width() const { return (s_.heads + 2 * s_.key_values) * s_.features; }
  int packed(Id id, std::int64_t heads) {
    return g_.tensor({id, {s_.sequences, heads, s_.positions, s_.features}, {s_.positions * width(), s_.features, width(), 1}});
  }
  /// Keys or values as (sequences, heads, features, positions).
  int transposed(Id id) {
    return g_.tensor({id, {s_.sequences, s_.key_values, s_.features, s_.positions}, {s_.positions * width(), s_.features, 1, width()}});
  }
  int of_outputs(Id id) {
    const std::int64_t row = s_.heads * s_.features;
    return g_.tensor({id, {s_.sequences, s_.heads, s_.positions, s_.features}, {s_.positions * row, s_.features, row, 1}});
  }
  int sums() { return g_.tensor({log_sums, {s_.sequences, s_.heads, s_.positions, 1}, {s_.positions * s_.heads, 1, s_.heads, 1}, CUDNN_DATA_FLOAT}); }
  int by_value(Id id) { return g_.tensor({id, {1, 1, 1, 1}, {1, 1, 1, 1}, CUDNN_DATA_FLOAT, true}); }
  /// (sequences, heads, positions, positions), also of the other order of positions.
  int scores(cudnnDataType_t type = CUDNN_DATA_FLOAT, bool turned = false) {
    const std::int64_t n = s_.positions;
    return g_.tensor({next_++, {s_.sequences, s_.heads, n, n}, {s_.heads * n * n, n * n, turned ? 1 : n, turned ? n : 1}, type, false, true});
  }
  /// A number for each query.
  int each(std::int64_t id = 0) {
    return g_.tensor({id == 0 ? next_++ : id,
                      {s_.sequences, s_.heads, s_.positions, 1},
                      {s_.heads * s_.positions, s_.positions, 1, 1},
                      CUDNN_DATA_FLOAT,
                      false,
                      id == 0});
  }
  /// (sequences, heads, positions, features) between two operations, head after head.
  int apart(cudnnDataType_t type) {
    const std::int64_t n = s_.positions * s_.features;
    return g_.tensor({next_++, {s_.sequences, s_.heads, s_.positions, s_.features}, {s_.heads * n, n, s_.features, 1}, type, false, true});
  }

  // ---- operations
  int scores_of(int queries, int keys) {
    const int made = scores(), scaled = scores();
    g_.product(queries, keys, made);
    g_.pointwise(CUDNN_POINTWISE_MUL, made, scaled, {.other = scale_});
    return scaled;
  }
  /// Scores of keys behind their query are as low as floats are.
  int masked(int x) {
    if (!s_.causal) return x;
    const int row = scores(CUDNN_DATA_INT32), column = scores(CUDNN_DATA_INT32), seen = scores(CUDNN_DATA_BOOLEAN), made = scores();
    g_.pointwise(CUDNN_POINTWISE_GEN_INDEX, x, row, {.axis = 2, .computes = CUDNN_DATA_INT32});
    g_.pointwise(CUDNN_POINTWISE_GEN_INDEX, x, column, {.axis = 3, .computes = CUDNN_DATA_INT32});
    g_.pointwise(CUDNN_POINTWISE_CMP_GE, row, seen, {.other = column, .computes = CUDNN_DATA_BOOLEAN});
    g_.pointwise(CUDNN_POINTWISE_BINARY_SELECT, x, made, {.other = by_value(lowest), .selects = seen});
    return made;
  }
  void forward() {
    const int x = masked(scores_of(packed(query, s_.heads), transposed(key)));
    const int most = each(), below = scores(), powers = scores(), sum = each(), weights = scores(CUDNN_DATA_BFLOAT16);
    g_.reduction(CUDNN_REDUCE_TENSOR_MAX, x, most);
    g_.pointwise(CUDNN_POINTWISE_SUB, x, below, {.other = most});
    g_.pointwise(CUDNN_POINTWISE_EXP, below, powers);
    g_.reduction(CUDNN_REDUCE_TENSOR_ADD, powers, sum);
    const int logarithm = each();
    g_.pointwise(CUDNN_POINTWISE_LOG, sum, logarithm);
    g_.pointwise(CUDNN_POINTWISE_ADD, most, sums(), {.other = logarithm});
    g_.pointwise(CUDNN_POINTWISE_DIV, powers, weights, {.other = sum});
    g_.product(weights, packed(value, s_.key_values), of_outputs(output));
  }
  /// The weights P again; dV = P^T dO, dS = P (dO V^T - D) scale, dK = dS^T Q, dQ = dS K.
  void backward() {
    const int queries = packed(query, s_.heads), keys = transposed(key), gradient = of_outputs(output_gradient);
    const int products = apart(CUDNN_DATA_FLOAT), folded = each(), d = each(along);
    g_.pointwise(CUDNN_POINTWISE_MUL, gradient, products, {.other = of_outputs(output)});
    g_.reduction(CUDNN_REDUCE_TENSOR_ADD, products, folded);
    g_.pointwise(CUDNN_POINTWISE_MUL, folded, d, {.other = by_value(one)});
    const int below = scores(), weights = scores();
    g_.pointwise(CUDNN_POINTWISE_SUB, scores_of(queries, keys), below, {.other = sums()});
    g_.pointwise(CUDNN_POINTWISE_EXP, masked(below), weights);
    gather(weights, gradient, value_gradient);
    const int of_weights = scores(), less = scores(), slopes = scores(), scaled = scores(CUDNN_DATA_BFLOAT16);
    g_.product(gradient, transposed(value), of_weights);
    g_.pointwise(CUDNN_POINTWISE_SUB, of_weights, less, {.other = d});
    g_.pointwise(CUDNN_POINTWISE_MUL, less, slopes, {.other = weights});
    g_.pointwise(CUDNN_POINTWISE_MUL, slopes, scaled, {.other = scale_});
    gather(scaled, queries, key_gradient);
    const int again = g_.tensor({next_++,
                                 {s_.sequences, s_.key_values, s_.positions, s_.features},
                                 {s_.positions * width(), s_.features, width(), 1},
                                 CUDNN_DATA_BFLOAT16,
                                 false,
                                 true});
    g_.reshape(keys, again);
    g_.product(scaled, again, packed(query_gradient, s_.heads));
  }
  /// gradient = x^T by, summed over the heads of queries that share one of keys.
  void gather(int x, int by, Id gradient) {
    const int turned = scores(CUDNN_DATA_BFLOAT16, true), to = packed(gradient, s_.key_values);
    g_.reshape(x, turned);
    if (s_.heads == s_.key_values) return g_.product(turned, by, to);
    const int of_each = apart(CUDNN_DATA_BFLOAT16);
    g_.product(turned, by, of_each);
    g_.reduction(CUDNN_REDUCE_TENSOR_ADD, of_each, to);
  }

  AttentionShape s_;
  CudnnGraph g_;
  std::int64_t next_ = between;
  int scale_;
};

}  // namespace heddle::compute_room
