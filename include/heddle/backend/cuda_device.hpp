// SPDX-License-Identifier: MIT
// Room: backend. A logical device on a card: its arena lies there, and all that a step does with it is queued.
// Sees: backend/cuda_card, backend/cuda_work, compute/cuda, core, run.  Does not see: plans as types, policies, which transport.
// In: a Program, kernels of CUDA, a rank, an endpoint that has a Card.  Out: CudaDevice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "heddle/backend/cuda_card.hpp"
#include "heddle/backend/cuda_work.hpp"
#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/core/finite.hpp"
#include "heddle/run/body_runner.hpp"
#include "heddle/run/device.hpp"
#include "heddle/run/kernel_table.hpp"
#include "heddle/run/rank_tensors.hpp"
#include "heddle/run/step_arithmetic.hpp"
#include "heddle/run/step_input.hpp"

namespace heddle::backend_room {

/// A rank on a card. Several of them share its queue, so what one has queued is there when another reads it: 4 ranks have 4 arenas and one queue.
///
/// Errors  R14 if the card does not give the memory; R36; D08 a label that is no class; R02 a loss that is not finite, after the step
/// Tested  backend/cuda_test, equivalence/cuda_test
class CudaDevice {
 public:
  using Kernels = KernelTableIn<CudaMemory>;

  template <class Endpoint>
  CudaDevice(const Program& training, const Kernels& kernels, Rank rank, Endpoint& endpoint)
      : CudaDevice(training, kernels, rank, endpoint.mover().card(), 0) {}

  [[nodiscard]] RankTensors& tensors() { return tensors_; }
  [[nodiscard]] const RankTensors& tensors() const { return tensors_; }

  void begin(const StepInput& input) {
    in_ = &input;
    tensors_.use(*input.program);
    work_.begin(input);
    body_.begin(input);
  }
  /// Behind begin() and before anything else: what the step brings from the host.
  void stage(HostPart& part) {
    loss_ = 0;
    work_.stage(part);
  }
  [[nodiscard]] const StepInput& input() const { return *in_; }
  /// What the list of this rank has reported, once the queue is done and the host has looked.
  [[nodiscard]] float reported() const { return loss_; }
  void compute(const Entry& entry) {
    const Program& p = tensors_.program();
    switch (entry.what) {
      case BodyOp::zero_gaps: return arithmetic_.zero_gaps(p.buckets[entry.bucket]);
      case BodyOp::add_slice: return arithmetic_.add_slice(p.collectives[entry.collective]);
      case BodyOp::slice_value: return body_.lay(entry, entry.d, entry.a, Lay::own_part);
      default: return body_.compute(entry);
    }
  }
  [[nodiscard]] float* widen(const Collective& c) { return body_.operands().widen_terms(c); }
  void round_slice(int bucket, const Collective& c) {
    const FlatBucket& unit = tensors_.program().buckets[bucket];
    body_.operands().round_to(c.source, c.type, tensors_.parameter_slice(unit), tensors_.slice_elements(unit));
  }
  void round(const Collective& c, const float* sum, std::int64_t elements) { body_.operands().round_to(c.target, c.type, sum, elements); }
  void gather(const Entry& entry) { body_.lay(entry, entry.b, entry.d, Lay::together); }
  void scatter(const Entry& entry) { body_.lay(entry, entry.b, entry.a, Lay::apart); }
  void take_norms() {
    arithmetic_.sum_squares([](const float*, std::int64_t) {});
  }
  void unscale(float scale) { arithmetic_.unscale(scale); }
  [[nodiscard]] bool overflowed() { return number_at(tensors_.overflow_flag()) > 0; }
  [[nodiscard]] float norm() {
    std::vector<float> squares(static_cast<std::size_t>(tensors_.program().unit_count));
    download(squares.data(), tensors_.norms(), std::ssize(squares));
    return FloatArithmetic::norm(squares.data(), static_cast<int>(squares.size()));
  }
  [[nodiscard]] static float clip_factor(float norm, double most) { return FloatArithmetic::clip_factor(norm, most); }
  /// Known when the queue is done: see reported().
  [[nodiscard]] float loss_sum() {
    work_.store(loss_place(), 1, [this](const float* sum) { loss_ = *sum; });
    return 0;
  }
  void sum_ties(int bucket) { arithmetic_.sum_ties(bucket); }
  void step(int bucket, float factor) { arithmetic_.step(bucket, factor, *in_); }
  /// All is queued. Whether the loss of this rank is finite is seen when the queue is done.
  void end() {
    const bool has_loss = in_->targets != nullptr && (tensors_.program().training || in_->reporting);
    if (has_loss && tensors_.role() == tensors_.program().loss_role())
      work_.store(loss_place(), 1, [this](const float* sum) {
        if (!is_finite(*sum)) refuse_loss(*in_, *sum, "all rows of a rank together");
      });
  }

  // ---- for readers on the host
  void upload(float* there, const float* here, std::int64_t elements) {
    card_.upload(there, here, static_cast<std::size_t>(elements) * sizeof(float));
  }
  void download(float* here, const float* there, std::int64_t elements) {
    card_.download(here, there, static_cast<std::size_t>(elements) * sizeof(float));
  }
  /// (rows, features)
  [[nodiscard]] std::vector<float> grain(const Place& place, std::int64_t features, int number) {
    std::vector<float> values(static_cast<std::size_t>(body_.rows(number) * features));
    const ElementType kept = tensors_.program().graph->values;
    const float* const there = tensors_.at_grain(place, features, number, kept);
    if (kept == ElementType::bfloat16) {
      std::vector<float> rounded((values.size() + 1) / 2);
      download(rounded.data(), there, std::ssize(rounded));
      run_room::widen(values.data(), rounded.data(), std::ssize(values));
    } else {
      download(values.data(), there, std::ssize(values));
    }
    return values;
  }
  [[nodiscard]] std::int64_t first_row(int grain) const { return body_.first(grain); }

 private:
  CudaDevice(const Program& training, const Kernels& kernels, Rank rank, Card& card, int)
      : card_(card), work_(kernels, card, training.groups.any() ? training.groups.count : 1),
        tensors_(training, rank, work_.room(training.arenas[training.mesh.coordinate(rank, Axis::stage)].total, "the arena of a device")),
        body_(training, kernels, tensors_, work_), arithmetic_(training, kernels.states, tensors_, work_) {}
  [[nodiscard]] float* loss_place() { return tensors_.losses(tensors_.program().batch.rank_grains()); }
  [[nodiscard]] float number_at(const float* there) {
    float number = 0;
    download(&number, there, 1);
    return number;
  }

  Card& card_;
  CudaWork work_;
  RankTensors tensors_;
  BodyRunnerOf<CudaWork> body_;
  StepArithmeticOf<CudaWork> arithmetic_;
  const StepInput* in_ = nullptr;
  float loss_ = 0;
};

}  // namespace heddle::backend_room
