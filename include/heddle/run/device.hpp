// SPDX-License-Identifier: MIT
// Room: run. A device: memory, workspace, kernels and all arithmetic of a step, as an object. What moves between devices is not its business.
// Sees: plan/program, run/body_runner, run/rank_tensors, run/step_arithmetic.  Does not see: policies, threads, transports, any backend by name.
// In: a Program, kernels, a rank.  Out: RankDevice, StepOutcome, DeviceOf, HostDevice.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "heddle/core/host_device.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/run/body_runner.hpp"
#include "heddle/run/host_work.hpp"
#include "heddle/run/kernel_table.hpp"
#include "heddle/run/rank_tensors.hpp"
#include "heddle/run/step_arithmetic.hpp"
#include "heddle/run/step_input.hpp"

namespace heddle::run_room {

/// What an Executor asks of the device of its rank. Addresses come from tensors(), and only the device and the transport read or write there: whoever
/// wants a tensor on the host asks for a copy of it with download, and gives one with upload. `Kernels` is a KernelTableIn of the memory of the
/// device.
///
///   begin(input)                     the step in hand; tensors() know the Program and the micro-batch
///   compute(entry)                   an entry of a body that stays within the rank
///   compute(first, second, runs)     two fused entries at once, false if it cannot and has run nothing; `runs` is true while the layer of the second
///                                    does. A device need not have it
///   widen(collective), round(collective, sum, elements)   the terms of a sum that are kept as bfloat16 as floats, and what comes of them rounded
///   round_slice(bucket, collective)  its slice of a unit to where it is gathered from, if units travel as bfloat16
///   gather(entry), scatter(entry)    what was gathered is laid into whole rows, what is to be scattered into parts
///   take_norms(), unscale(scale), guard()   squares of gradients by unit; gradients without the scale of the loss, and the flag; that of the loss
///   overflowed(), norm(), loss_sum() numbers that the host decides by; what a device decides itself it decides when it is asked for them
///   sum_ties(bucket), step(bucket, factor)
///   end()                            all of the step is in the queue; it waits, and throws what is known only then. A device need not have it
///   grain(place, features, g), first_row(g)   a copy of what one grain has at a place now, and its first row in the batch
template <class D>
concept RankDevice = requires(D& device, const StepInput& input, const Entry& entry, const Place& place, const Collective& sum, int number,
                              float factor, float* here, const float* there, std::int64_t elements, double limit) {
  typename D::Kernels;
  { device.tensors() } -> std::same_as<RankTensors&>;
  device.begin(input);
  device.compute(entry);
  { device.widen(sum) } -> std::same_as<float*>;
  device.round(sum, there, elements);
  device.round_slice(number, sum);
  device.gather(entry);
  device.scatter(entry);
  device.take_norms();
  device.unscale(factor);
  device.guard();
  { device.overflowed() } -> std::same_as<bool>;
  { device.norm() } -> std::same_as<float>;
  { device.clip_factor(factor, limit) } -> std::same_as<float>;
  { device.loss_sum() } -> std::same_as<float>;
  device.sum_ties(number);
  device.step(number, factor);
  device.upload(here, there, elements);
  device.download(here, there, elements);
  { device.grain(place, elements, number) } -> std::same_as<std::vector<float>>;
  { device.first_row(number) } -> std::same_as<std::int64_t>;
};

/// What a device that decides by itself says of a step when its queue is done: of one with a loss of 2.3 whose gradients overflow {2.3, 0, false,
/// true}.
struct StepOutcome {
  float loss = 0, norm = 0;
  bool stepped = true;   ///< parameters may have changed
  bool skipped = false;  ///< no rank has stepped, since a gradient overflowed on one of them
};

/// What devices have in common, whatever memory `Work` is at work in: where tensors lie, what entries of bodies do, the arithmetic of a step. How the
/// numbers that the host decides by come to it is for who derives from it. Of 5 rows in grains of 2 the last grain, 2, has 1 row, which is row 4.
template <class Work> class DeviceOf {
 public:
  using Kernels = typename Work::Kernels;

  [[nodiscard]] RankTensors& tensors() { return tensors_; }
  [[nodiscard]] const RankTensors& tensors() const { return tensors_; }

  // ---- a step
  /// `input` lives until the step is done.
  void begin(const StepInput& input) {
    in_ = &input;
    tensors_.use(*input.program);
    body_.begin(input);
    body_.operands().begin_step();
  }
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
  /// The slice of a unit goes to its place in the whole, as layers read it.
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
  void guard() { arithmetic_.guard(); }
  void sum_ties(int bucket) { arithmetic_.sum_ties(bucket); }
  void step(int bucket, float factor) { arithmetic_.step(bucket, factor, *in_); }

  // ---- for readers on the host
  void upload(float* there, const float* here, std::int64_t elements) { work_.upload(there, here, elements); }
  void download(float* here, const float* there, std::int64_t elements) { work_.download(here, there, elements); }
  /// (rows, features)
  [[nodiscard]] std::vector<float> grain(const Place& place, std::int64_t features, int number) {
    std::vector<float> values(static_cast<std::size_t>(body_.rows(number) * features));
    const ElementType kept = tensors_.program().graph->values;
    const float* const there = tensors_.at_grain(place, features, number, kept);
    if (values.empty()) return values;
    if (kept == ElementType::bfloat16) {
      std::vector<float> rounded((values.size() + 1) / 2);  // two in the place of a float
      download(rounded.data(), there, std::ssize(rounded));
      run_room::widen(values.data(), rounded.data(), std::ssize(values));
    } else {
      download(values.data(), there, std::ssize(values));
    }
    return values;
  }
  [[nodiscard]] std::int64_t first_row(int grain) const { return body_.first(grain); }

 protected:
  /// The kernels outlive it. `Work` is made of them and of the rest.
  template <class... Machine>
  HEDDLE_COLD DeviceOf(const Program& training, const Kernels& kernels, Rank rank, Machine&&... machine)
      : work_(kernels, std::forward<Machine>(machine)...),
        tensors_(training, rank, work_.room(training.arenas[training.mesh.coordinate(rank, Axis::stage)].total, "the arena of a device")),
        body_(training, kernels, tensors_, work_), arithmetic_(training, kernels.states, tensors_, work_) {}
  /// Of all grains of the step, behind the losses of each.
  [[nodiscard]] float* sum_of_losses() { return tensors_.losses(tensors_.program().batch.rank_grains()); }

  Work work_;
  RankTensors tensors_;
  BodyRunnerOf<Work> body_;
  StepArithmeticOf<Work> arithmetic_;
  const StepInput* in_ = nullptr;
};

/// A device whose memory is that of the host: a thread or a process of CpuThreads or CpuMpi has one for its rank.
///
/// Errors  R14 if the system does not give the memory; what kernels throw; D08 a label that is no class, R02 a loss that is not finite
/// Tested  run/device_test, run/executor_test
class HostDevice : public DeviceOf<HostWork> {
 public:
  /// The kernels outlive it.
  HEDDLE_COLD HostDevice(const Program& training, const KernelTable& kernels, Rank rank) : DeviceOf(training, kernels, rank), kernels_(kernels) {}

  using DeviceOf::compute;
  [[nodiscard]] bool compute(const Entry& first, const Entry& second, bool& second_runs) { return body_.compute(first, second, second_runs); }
  [[nodiscard]] bool overflowed() { return tensors_.program().scales_loss && *tensors_.overflow_flag() > 0; }
  [[nodiscard]] float norm() { return kernels_.arithmetic.norm(tensors_.norms(), tensors_.program().unit_count); }
  [[nodiscard]] float clip_factor(float norm, double most) const { return kernels_.arithmetic.clip_factor(norm, most); }
  [[nodiscard]] float loss_sum() { return *sum_of_losses(); }

 private:
  const KernelTable& kernels_;
};

static_assert(RankDevice<HostDevice>);

/// The devices of a session's ranks: those that it names, or HostDevice.
template <class Session> struct DeviceOfSession { using type = HostDevice; };
template <class Session>
requires requires { typename Session::Device; }
struct DeviceOfSession<Session> {
  using type = typename Session::Device;
};
template <class Session> using KernelsOf = typename DeviceOfSession<Session>::type::Kernels;

}  // namespace heddle::run_room
