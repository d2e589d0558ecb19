// SPDX-License-Identifier: MIT
// Room: backend. A logical device on a card: its arena lies there, and all that a step does with it is queued.
// Sees: backend/cuda_work, core, run.  Does not see: plans as types, policies, which transport.
// In: a Program, kernels of CUDA, a rank, an endpoint that has a Card.  Out: CudaDevice, product_options.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "heddle/backend/cuda_work.hpp"
#include "heddle/core/finite.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/run/arithmetic.hpp"
#include "heddle/run/device.hpp"
#include "heddle/run/labels.hpp"
#include "heddle/run/step_input.hpp"
#include "heddle/run/transport_needs.hpp"

namespace heddle::backend_room {

/// How the products of a plan are made on the cards of a session.
[[nodiscard]] inline compute_room::CudaProductOptions product_options(const run_room::TransportNeeds& needs) {
  return {.tf32 = needs.cards.tf32, .usual_rows = needs.rows, .autotunes = needs.cards.autotunes};
}

/// A rank on a card. Several of them share its queue, so what one has queued is there when another reads it: 4 ranks have 4 arenas and one queue.
///
/// Whether a gradient overflows or a loss is not finite, the norm and the factor of clipping are decided on the card, so that nothing waits for the
/// host in a step.
///
/// Errors  R14 if the card does not give the memory; R36; D08 a label that is no class; R02 a loss that is not finite, after the step unless the plan
///         is Guarded, and a norm or gradients that are not, of which nothing is stepped
/// Tested  backend/cuda_device_test, equivalence/cuda_test
class CudaDevice : public run_room::DeviceOf<CudaWork> {
 public:
  template <class Endpoint>
  CudaDevice(const Program& training, const Kernels& kernels, Rank rank, Endpoint& endpoint)
      : DeviceOf(training, kernels, rank, endpoint.mover().card(), training.groups.any() ? training.groups.count : 1), targets_(kernels.targets) {
    if (work_.prepares()) prepare(training, kernels);
  }

  void begin(const StepInput& input) {
    DeviceOf::begin(input);
    work_.begin(input);
    if (under_way_) forget_gradients();
    under_way_ = true;
    outcome_ = {};
    sum_ = 0;
    odd_losses_ = false;
  }
  using DeviceOf::compute;
  [[nodiscard]] bool compute(const Entry& first, const Entry& second, bool& second_runs) { return body_.compute(first, second, second_runs); }
  /// Of all rows, not those of this rank alone: where ranks do not see each other's queues a wrong label is one that all of them find, before any of
  /// them has queued anything.
  void refuse_labels() const {
    if (in_->targets == nullptr || targets_.count == 0) return;
    const std::int64_t of_a_row = targets_of_a_row();
    for (std::int64_t row = 0; row < in_->rows; ++row) {
      const void* const there = static_cast<const std::byte*>(in_->targets) + in_->source(row) * of_a_row * std::int64_t{sizeof(std::int32_t)};
      run_room::refuse_other_labels(targets_, there, 1, of_a_row, row);
    }
  }
  /// Pinned memory that a step takes on the way, at most: rows of all inputs and of targets, outputs, and a line for each piece.
  [[nodiscard]] std::size_t pinned_bytes() const {
    const Program& p = *in_->program;
    const Graph& graph = *p.graph;
    std::int64_t of_a_row = graph.output().elements() + targets_of_a_row();
    for (int i = 0; i < graph.input_count; ++i) of_a_row += graph.input_of(i).elements();
    constexpr std::int64_t line = 64, others = std::int64_t{1} << 16;
    const std::int64_t pieces = std::int64_t{p.batch.rank_grains()} * (graph.input_count + 4);
    return static_cast<std::size_t>(std::int64_t{p.batch.rank_rows()} * of_a_row * std::int64_t{sizeof(float)} + pieces * line + others);
  }
  /// Behind begin() and before anything else: what the step brings from the host.
  void stage(HostPart& part) { work_.stage(part); }
  [[nodiscard]] const StepInput& input() const { return *in_; }
  /// What the card has decided and reported, once the queue is done and the host has looked at what came back.
  [[nodiscard]] const run_room::StepOutcome& outcome() const { return outcome_; }
  /// Throws what is wrong with that. Errors  R02
  void look() {
    under_way_ = false;
    const Program& p = *in_->program;
    const bool guarded = p.training && p.guards;  // then the sum that ranks report may be too large for a float, as on the host
    if (guarded ? odd_losses_ && !is_finite(sum_) : !is_finite(sum_)) refuse_loss(*in_, sum_, "all rows of a rank together");
    if (odd_losses_) run_room::refuse_guarded(*in_);
    if (outcome_.skipped && in_->loss_scale <= 1) run_room::refuse_overflow(*in_);
    if (p.training && p.clips && !outcome_.skipped && !is_finite(outcome_.norm)) run_room::refuse_norm(*in_, outcome_.norm);
  }
  /// Decided on the card: to the host nothing overflows.
  [[nodiscard]] bool overflowed() {
    const Program& p = tensors_.program();
    if (p.guards)
      work_.take_guard(tensors_.loss_flag(), [this](bool odd) {
        odd_losses_ = odd;
        if (odd) outcome_.stepped = false;
      });
    if (!p.scales_loss) return false;
    work_.take_overflow(tensors_.overflow_flag(), [this](bool overflows) {
      if (overflows) outcome_.skipped = true, outcome_.stepped = false;
    });
    return false;
  }
  /// Decided on the card: to the host the norm is 0, and its factor of clipping 1.
  [[nodiscard]] float norm() {
    work_.take_norm(tensors_.norms(), tensors_.program().unit_count, [this](float norm) {
      outcome_.norm = norm;
      if (!is_finite(norm)) outcome_.stepped = false;
    });
    return 0;
  }
  [[nodiscard]] static float clip_factor(float /*norm*/, double /*most*/) { return 1; }
  /// Known when the queue is done: see outcome().
  [[nodiscard]] float loss_sum() {
    work_.store(sum_of_losses(), 1, [this](const float* sum) { outcome_.loss = *sum; });
    return 0;
  }
  /// All is queued. Whether the loss of this rank is finite is seen when the queue is done.
  void end() {
    const bool has_loss = in_->targets != nullptr && (tensors_.program().training || in_->reporting);
    if (has_loss && tensors_.role() == tensors_.program().loss_role()) work_.store(sum_of_losses(), 1, [this](const float* sum) { sum_ = *sum; });
  }

 private:
  /// A step that was left in the middle leaves numbers that mean nothing where a sum was cut off, also between tensors: there every step takes zeros.
  HEDDLE_COLD void forget_gradients() {
    for (const RegionKind kind : {RegionKind::gradients, RegionKind::fresh})
      if (const std::span<float> all = tensors_.whole_region(kind); !all.empty()) work_.zero(all.data(), static_cast<std::int64_t>(all.size()));
  }
  /// What is chosen before the first step, for layers of this rank and as many rows as a grain has: steps find it chosen.
  HEDDLE_COLD void prepare(const Program& training, const Kernels& kernels) {
    work_.prepare(training, tensors_.rank().value, [&] {
      for (int chunk = 0; chunk < training.chunks; ++chunk) {
        if (training.device_of_chunk[chunk] != tensors_.role()) continue;
        for (const IndexRange& body : {training.forward_bodies[chunk], training.backward_bodies[chunk]})
          for (int i = body.begin; i < body.end; ++i) prepare(training, kernels, &training.entries[i]);
      }
    });
  }
  HEDDLE_COLD void prepare(const Program& training, const Kernels& kernels, const Entry* entry) {
    if (entry->node < 0) return;
    const int leaf = training.graph->nodes[entry->node].leaf;
    const Leaf& layer = training.graph->leaves[leaf].leaf;
    if (const auto choose = kernels.leaves[leaf].prepare; choose != nullptr && entry->what == BodyOp::leaf_forward)
      choose(layer, training.batch.grain_rows, work_.space());
    bool second_runs = false;
    if (!entry->fused) return;
    const run_room::FusedKernels<CudaWork> both{training, kernels, body_.operands(), work_, *entry, entry[1], second_runs};
    if (both.there()) both.prepare(layer, training.batch.grain_rows);
  }
  [[nodiscard]] std::int64_t targets_of_a_row() const {
    std::int64_t all = 0;
    for (int k = 0; k < targets_.count; ++k) all = std::max(all, targets_.all[k].first + targets_.all[k].features);
    return all;
  }
  const TargetRanges& targets_;
  run_room::StepOutcome outcome_;
  float sum_ = 0;  // of the losses of this rank
  bool odd_losses_ = false;
  bool under_way_ = false;  // a step has begun, and nobody has looked at its end
};

static_assert(run_room::RankDevice<CudaDevice>);

}  // namespace heddle::backend_room
