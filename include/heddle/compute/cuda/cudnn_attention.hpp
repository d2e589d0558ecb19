// SPDX-License-Identifier: MIT
// Room: compute. SelfAttention in bfloat16 by cuDNN: its one operation for scaled dot-product attention, forward and backward.
// Sees: compute/cuda/library, compute/cuda/cudnn_graph.  Does not see: policies, programs.
// In: AttentionShape, then pointers of a card.  Out: CudnnAttentions, cudnn_attention_operation.
#pragma once

#include <cudnn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/compute/cuda/cudnn_graph.hpp"
#include "heddle/compute/cuda/library.hpp"
#include "heddle/core/grouped_digits.hpp"

namespace heddle::compute_room {

/// What a plan makes: outputs alone, also log-sums, or the three gradients.
enum class CudnnAttentionWay : std::uint8_t { evaluation, forward, backward };

/// Tensors of a shape, as (sequences, heads, positions, features): heads lie beside each other in the rows of positions.
struct CudnnAttentionTensors {
  AttentionShape s;
  enum Id : std::int64_t { query = 1, key, value, output, log_sums, scale, output_gradient, query_gradient, key_gradient, value_gradient };

  [[nodiscard]] CudnnTensorFacts packed(Id id, std::int64_t heads) const {
    const std::int64_t width = (s.heads + 2 * s.key_values) * s.features;
    return {id, {s.sequences, heads, s.positions, s.features}, {s.positions * width, s.features, width, 1}};
  }
  [[nodiscard]] CudnnTensorFacts of_outputs(Id id) const {
    const std::int64_t width = s.heads * s.features;
    return {id, {s.sequences, s.heads, s.positions, s.features}, {s.positions * width, s.features, width, 1}};
  }
  [[nodiscard]] CudnnTensorFacts sums() const {
    return {log_sums, {s.sequences, s.heads, s.positions, 1}, {s.positions * s.heads, 1, s.heads, 1}, CUDNN_DATA_FLOAT};
  }
  [[nodiscard]] static CudnnTensorFacts scaled() { return {scale, {1, 1, 1, 1}, {1, 1, 1, 1}, CUDNN_DATA_FLOAT, true}; }
};

/// The operation of a shape, which needs no card; without `operation` where cuDNN does not take it.
[[nodiscard]] inline CudnnOperation cudnn_attention_operation(const AttentionShape& shape, CudnnAttentionWay way) {
  using T = CudnnAttentionTensors;
  const T t{shape};
  if (way == CudnnAttentionWay::backward)
    return cudnn_operation(CUDNN_BACKEND_OPERATION_SDPA_BWD_DESCRIPTOR,
                           {{CUDNN_ATTR_OPERATION_SDPA_BWD_QDESC, t.packed(T::query, shape.heads)},
                            {CUDNN_ATTR_OPERATION_SDPA_BWD_KDESC, t.packed(T::key, shape.key_values)},
                            {CUDNN_ATTR_OPERATION_SDPA_BWD_VDESC, t.packed(T::value, shape.key_values)},
                            {CUDNN_ATTR_OPERATION_SDPA_BWD_ODESC, t.of_outputs(T::output)},
                            {CUDNN_ATTR_OPERATION_SDPA_BWD_STATSDESC, t.sums()},
                            {CUDNN_ATTR_OPERATION_SDPA_BWD_SCALEDESC, T::scaled()},
                            {CUDNN_ATTR_OPERATION_SDPA_BWD_DODDESC, t.of_outputs(T::output_gradient)},
                            {CUDNN_ATTR_OPERATION_SDPA_BWD_DQDESC, t.packed(T::query_gradient, shape.heads)},
                            {CUDNN_ATTR_OPERATION_SDPA_BWD_DKDESC, t.packed(T::key_gradient, shape.key_values)},
                            {CUDNN_ATTR_OPERATION_SDPA_BWD_DVDESC, t.packed(T::value_gradient, shape.key_values)}});
  std::vector<CudnnRole> roles{{CUDNN_ATTR_OPERATION_SDPA_FWD_QDESC, t.packed(T::query, shape.heads)},
                               {CUDNN_ATTR_OPERATION_SDPA_FWD_KDESC, t.packed(T::key, shape.key_values)},
                               {CUDNN_ATTR_OPERATION_SDPA_FWD_VDESC, t.packed(T::value, shape.key_values)},
                               {CUDNN_ATTR_OPERATION_SDPA_FWD_ODESC, t.of_outputs(T::output)},
                               {CUDNN_ATTR_OPERATION_SDPA_FWD_SCALEDESC, T::scaled()}};
  if (way == CudnnAttentionWay::forward) roles.push_back({CUDNN_ATTR_OPERATION_SDPA_FWD_STATSDESC, t.sums()});
  return cudnn_operation(CUDNN_BACKEND_OPERATION_SDPA_FWD_DESCRIPTOR, roles);
}

/// Attentions of one handle, with one workspace for all of them, which has its size when the first of them runs. The operation has no causal mask in
/// cuDNN 9.19, and none that drops weights: kernels of our own compute those.
///
/// Errors  R36; R14 if the card has no room for the workspace
/// Source  sources.md#cudnn
/// Tested  compute/cuda/cudnn_attention_test
class CudnnAttentions {
 public:
  /// Whether it computes the shape; what is new is told by note(sentence).
  template <class Note> [[nodiscard]] bool takes(cudnnHandle_t handle, const AttentionShape& shape, const Note& note) {
    if (shape.sequences == 0) return false;
    if (const Plans* const known = find(shape)) return known->why_not.empty();
    auto made = std::make_unique<Plans>(Plans{shape, {}, planned_cause(shape)});
    for (std::size_t way = 0; way < 3 && made->why_not.empty(); ++way) {
      made->ways[way] = cudnn_plan(handle, cudnn_attention_operation(shape, static_cast<CudnnAttentionWay>(way)));
      if (made->ways[way].plan.get() == nullptr) made->why_not = std::string{"cuDNN has no deterministic engine for its "} + name_of(way);
    }
    if (made->why_not.empty()) made->why_not = make_room(*made);
    note(words(shape) + (made->why_not.empty() ? " is computed by cuDNN." : " is computed by kernels of Heddle: " + made->why_not + "."));
    plans_.push_back(std::move(made));
    return plans_.back()->why_not.empty();
  }
  void forward(cudnnHandle_t handle, const AttentionShape& s, const AttentionTensors& at) {
    ran_ = true;
    using T = CudnnAttentionTensors;
    const Plans& plans = *find(s);
    const BFloat16 *const keys = at.input + s.heads * s.features, *const values = keys + s.key_values * s.features;
    if (at.log_sums == nullptr)
      run_cudnn<5>(handle, plans.of(CudnnAttentionWay::evaluation), {T::query, T::key, T::value, T::output, T::scale},
                   {at.input, keys, values, at.output, &plans.scale}, workspace_.get());
    else
      run_cudnn<6>(handle, plans.of(CudnnAttentionWay::forward), {T::query, T::key, T::value, T::output, T::scale, T::log_sums},
                   {at.input, keys, values, at.output, &plans.scale, at.log_sums}, workspace_.get());
  }
  void backward(cudnnHandle_t handle, const AttentionShape& s, const AttentionGradients& at) {
    ran_ = true;
    using T = CudnnAttentionTensors;
    const Plans& plans = *find(s);
    const std::int64_t keys = s.heads * s.features, values = keys + s.key_values * s.features;
    run_cudnn<10>(
        handle, plans.of(CudnnAttentionWay::backward),
        {T::query, T::key, T::value, T::output, T::log_sums, T::scale, T::output_gradient, T::query_gradient, T::key_gradient, T::value_gradient},
        {at.input, at.input + keys, at.input + values, at.output, at.log_sums, &plans.scale, at.output_gradient, at.input_gradient,
         at.input_gradient + keys, at.input_gradient + values},
        workspace_.get());
  }

 private:
  /// Of one shape, a plan for each CudnnAttentionWay.
  struct Plans {
    AttentionShape shape;
    std::array<CudnnPlan, 3> ways;
    std::string why_not;
    float scale = static_cast<float>(1 / std::sqrt(static_cast<double>(shape.features)));  // of 64 features 0.125; cuDNN reads it where it lies

    [[nodiscard]] const CudnnPlan& of(CudnnAttentionWay way) const { return ways[static_cast<std::size_t>(way)]; }
  };
  [[nodiscard]] const Plans* find(const AttentionShape& shape) const {
    const auto known = std::find_if(plans_.begin(), plans_.end(), [&](const auto& plans) { return plans->shape == shape; });
    return known == plans_.end() ? nullptr : known->get();
  }
  /// What is known before cuDNN is asked; "" where nothing speaks against it.
  [[nodiscard]] static std::string planned_cause(const AttentionShape& s) {
    if (s.causal) return "the operation of cuDNN has no causal mask";
    if (s.features % 8 != 0) return "cuDNN takes heads of 8, 16, 24 and so on features";
    return "";
  }
  /// Memory is made before the first run alone; after it a shape that needs more is not taken.
  [[nodiscard]] std::string make_room(const Plans& plans) {
    std::size_t most = 0;
    for (const CudnnPlan& plan : plans.ways) most = std::max(most, plan.workspace_bytes);
    if (most <= workspace_bytes_) return "";
    if (ran_) return "it needs a larger workspace than those before the first step, " + grouped_digits(static_cast<std::int64_t>(most)) + " bytes";
    workspace_ = CardMemory<std::byte>{};
    workspace_ = card_memory<std::byte>(most, "the workspace of cuDNN");
    workspace_bytes_ = most;
    return "";
  }
  [[nodiscard]] static const char* name_of(std::size_t way) {
    constexpr const char* names[] = {"forward without log-sums", "forward", "backward"};
    return names[way];
  }
  [[nodiscard]] static std::string words(const AttentionShape& s) {
    return "SelfAttention of " + grouped_digits(s.sequences) + " sequences of " + grouped_digits(s.positions) + " positions, " +
           std::to_string(s.heads) + " heads of " + std::to_string(s.features) + " features";
  }

  std::vector<std::unique_ptr<Plans>> plans_;
  CardMemory<std::byte> workspace_;
  std::size_t workspace_bytes_ = 0;
  bool ran_ = false;
};

}  // namespace heddle::compute_room
