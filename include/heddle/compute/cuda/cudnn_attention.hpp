// SPDX-License-Identifier: MIT
// Room: compute. SelfAttention in bfloat16 by cuDNN: plans of its graphs, forward and backward, and one workspace.
// Sees: compute/cuda/library, compute/cuda/cudnn_attention_graph.  Does not see: policies, programs.
// In: AttentionShape, then pointers of a card.  Out: CudnnAttentions.
#pragma once

#include <cudnn.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "heddle/compute/cuda/cudnn_attention_graph.hpp"
#include "heddle/compute/cuda/cudnn_graph.hpp"
#include "heddle/compute/cuda/library.hpp"
#include "heddle/core/grouped_digits.hpp"

namespace heddle::compute_room {

/// Attentions of one handle, with one workspace for all of them, which has its size when the first of them runs: of the plan that needs most, and of
/// a float for each query. 8 sequences of 1,024 positions and 12 heads have 98,304 queries.
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
    for (std::size_t way = 0; way < 2 && made->why_not.empty(); ++way) {
      made->ways[way] = cudnn_plan(handle, CudnnAttentionGraph::of(shape, static_cast<CudnnAttentionWay>(way)));
      if (made->ways[way].plan.get() == nullptr) made->why_not = std::string{"cuDNN has no deterministic engine for its "} + name_of(way);
    }
    if (made->why_not.empty()) made->why_not = make_room(*made);
    note(words(shape) + (made->why_not.empty() ? " is computed by cuDNN." : " is computed by kernels of Heddle: " + made->why_not + "."));
    plans_.push_back(std::move(made));
    return plans_.back()->why_not.empty();
  }
  void forward(cudnnHandle_t handle, const AttentionShape& s, const AttentionTensors& at) {
    using G = CudnnAttentionGraph;
    const BFloat16 *const keys = at.input + s.heads * s.features, *const values = keys + s.key_values * s.features;
    float* const sums = at.log_sums != nullptr ? at.log_sums : reinterpret_cast<float*>(workspace_.get());
    run(handle, s, CudnnAttentionWay::forward,
        {{G::query, at.input}, {G::key, keys}, {G::value, values}, {G::output, at.output}, {G::log_sums, sums}});
  }
  void backward(cudnnHandle_t handle, const AttentionShape& s, const AttentionGradients& at) {
    using G = CudnnAttentionGraph;
    const std::int64_t keys = s.heads * s.features, values = keys + s.key_values * s.features;
    run(handle, s, CudnnAttentionWay::backward,
        {{G::query, at.input},
         {G::key, at.input + keys},
         {G::value, at.input + values},
         {G::output, at.output},
         {G::log_sums, at.log_sums},
         {G::output_gradient, at.output_gradient},
         {G::query_gradient, at.input_gradient},
         {G::key_gradient, at.input_gradient + keys},
         {G::value_gradient, at.input_gradient + values},
         {G::along, workspace_.get()},
         {G::one, &one}});
  }

 private:
  static constexpr float one = 1, lowest = std::numeric_limits<float>::lowest();
  /// Of one shape, a plan for each CudnnAttentionWay.
  struct Plans {
    AttentionShape shape;
    std::array<CudnnPlan, 2> ways;
    std::string why_not;
    float scale = static_cast<float>(1 / std::sqrt(static_cast<double>(shape.features)));  // of 64 features 0.125; cuDNN reads it where it lies

    [[nodiscard]] const CudnnPlan& of(CudnnAttentionWay way) const { return ways[static_cast<std::size_t>(way)]; }
  };
  /// The first bytes of the workspace are D of each query, or log-sums that nobody asks for.
  [[nodiscard]] static std::size_t bytes_along(const AttentionShape& s) {
    constexpr std::int64_t line = 256;
    return static_cast<std::size_t>((s.sequences * s.heads * s.positions * std::int64_t{sizeof(float)} + line - 1) / line * line);
  }
  void run(cudnnHandle_t handle, const AttentionShape& s, CudnnAttentionWay way, std::vector<CudnnPointer> tensors) {
    ran_ = true;
    const Plans& plans = *find(s);
    tensors.push_back({CudnnAttentionGraph::scale, &plans.scale});
    if (s.causal) tensors.push_back({CudnnAttentionGraph::lowest, &lowest});
    run_cudnn(handle, plans.of(way), tensors, workspace_.get() + bytes_along(s));
  }
  [[nodiscard]] const Plans* find(const AttentionShape& shape) const {
    const auto known = std::find_if(plans_.begin(), plans_.end(), [&](const auto& plans) { return plans->shape == shape; });
    return known == plans_.end() ? nullptr : known->get();
  }
  /// What is known before cuDNN is asked; "" where nothing speaks against it.
  [[nodiscard]] static std::string planned_cause(const AttentionShape& s) {
    if (s.features % 8 != 0) return "cuDNN takes heads of 8, 16, 24 and so on features";
    return "";
  }
  /// Memory is made before the first run alone; after it a shape that needs more is not taken.
  [[nodiscard]] std::string make_room(const Plans& plans) {
    std::size_t most = 0;
    for (const CudnnPlan& plan : plans.ways) most = std::max(most, bytes_along(plans.shape) + plan.workspace_bytes);
    if (most <= workspace_bytes_) return "";
    if (ran_) return "it needs a larger workspace than those before the first step, " + grouped_digits(static_cast<std::int64_t>(most)) + " bytes";
    workspace_ = CardMemory<std::byte>{};
    workspace_ = card_memory<std::byte>(most, "the workspace of cuDNN");
    workspace_bytes_ = most;
    return "";
  }
  [[nodiscard]] static const char* name_of(std::size_t way) {
    constexpr const char* names[] = {"forward", "backward"};
    return names[way];
  }
  [[nodiscard]] static std::string words(const AttentionShape& s) {
    return "SelfAttention of " + grouped_digits(s.sequences) + " sequences of " + grouped_digits(s.positions) + " positions, " +
           std::to_string(s.heads) + " heads of " + std::to_string(s.features) + " features" + (s.causal ? ", causal," : "");
  }

  std::vector<std::unique_ptr<Plans>> plans_;
  CardMemory<std::byte> workspace_;
  std::size_t workspace_bytes_ = 0;
  bool ran_ = false;
};

}  // namespace heddle::compute_room
