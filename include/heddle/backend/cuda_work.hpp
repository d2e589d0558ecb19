// SPDX-License-Identifier: MIT
// Room: backend. The memory of a card at work: what an entry does to it is queued, what the batch brings goes through pinned memory.
// Sees: backend/cuda_card, backend/cuda_tuned_file, compute/cuda, core, plan, run.  Does not see: plans as types, policies, transports.
// In: pointers into an arena on a card.  Out: HostPart, CudaWork.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "heddle/backend/cuda_card.hpp"
#include "heddle/backend/cuda_tuned_file.hpp"
#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/products.hpp"
#include "heddle/compute/cuda/square_sums.hpp"
#include "heddle/compute/cuda/step_kernels.hpp"
#include "heddle/compute/cuda/tuning.hpp"
#include "heddle/core/bfloat16.hpp"
#include "heddle/core/host_device.hpp"
#include "heddle/plan/program/program.hpp"
#include "heddle/plan/read/program_hash.hpp"
#include "heddle/run/host_work.hpp"
#include "heddle/run/kernel_table.hpp"
#include "heddle/run/step_input.hpp"

namespace heddle::backend_room {

/// What a step asks of the host: before it, pinned memory is filled; after it, what came back is looked at. A step that was captured is replayed with
/// the same pinned memory, and asks the same again. A step of 2 micro-batches with labels has 4 copies of rows and 2 looks at labels.
struct HostPart {
  PinnedPieces pinned;
  std::vector<std::function<void()>> before, after;

  /// For another step that is queued from the beginning.
  void clear() {
    pinned.release();
    before.clear();
    after.clear();
  }
};

/// While it lives products are planned by time.
class TunedProducts {
 public:
  TunedProducts(CudaProducts& products, CudaTuning& tuning, std::int64_t rows) : products_(products) { products.tune(&tuning, rows); }
  TunedProducts(const TunedProducts&) = delete;
  TunedProducts& operator=(const TunedProducts&) = delete;
  ~TunedProducts() { products_.tune(nullptr); }

 private:
  CudaProducts& products_;
};

/// As HostWork, in the memory of a card: each call is queued. What a step brings from the host lies in pinned memory until the step is done. Of a
/// grain of 2 rows of 3 floats load() queues one copy of 24 bytes.
///
/// Errors  R36, R14
/// Tested  backend/cuda_work_test
class CudaWork {
 public:
  using Space = CudaMemory;
  using Kernels = KernelTableIn<CudaMemory>;
  CudaWork(const Kernels& kernels, Card& card, int groups) : kernels_(kernels), card_(card), groups_(groups) {
    numbers_ = card_memory<CudaNumbers>(1, "the numbers of a step");
    partials_ = card_memory<float>(square_sum_scratch, "sums of squares");
    queue_ = {card.stream(), &card.products(), numbers_.get(), card.products().tf32(), card.library()};
  }
  CudaWork(const CudaWork&) = delete;
  CudaWork& operator=(const CudaWork&) = delete;

  [[nodiscard]] CudaMemory space() const { return {&queue_}; }
  /// Whether kernels have something to choose before the first step.
  [[nodiscard]] bool prepares() const { return queue_.library != nullptr || queue_.products->autotunes(); }
  /// choose() lets them, for a rank of the Program. What products are found to be the fastest stays in the folder of HEDDLE_TUNED.
  template <class Choose> HEDDLE_COLD void prepare(const Program& training, int rank, const Choose& choose) {
    if (!queue_.products->autotunes()) return choose();
    std::optional<TunedFile> file;
    if (const std::optional<std::string> folder = TunedFile::folder())
      file.emplace(*folder, TunedFor{program_hash(training), rank, training.mesh.ranks(), card_.name(), cublasLtGetVersion(), queue_.tf32});
    CudaTuning tuning{card_.stream(), file ? file->read() : TunedChoices{}, file ? file->path() : std::string{}};
    const TunedProducts until_chosen{*queue_.products, tuning, training.batch.grain_rows};
    choose();
    card_.note(tuning.notes());
    if (const TunedChoices all = tuning.all(); file && all != tuning.known()) file->write(all);
  }
  /// Of the card, all zero.
  [[nodiscard]] Arena room(std::int64_t bytes, const char* what = "workspace of kernels") {
    if (bytes == 0) return Arena{nullptr, 0};
    rooms_.push_back(card_memory<std::byte>(static_cast<std::size_t>(bytes), what));
    check_cuda(cudaMemsetAsync(rooms_.back().get(), 0, static_cast<std::size_t>(bytes), card_.stream()), "cudaMemsetAsync");
    return Arena{rooms_.back().get(), bytes};
  }

  void begin(const StepInput& in) { in_ = &in; }
  /// The numbers of a step, the constants of its optimizer and the weights of classes, before anything else of it. `part` outlives the step, and the
  /// graph of one that is captured.
  void stage(HostPart& part) {
    part_ = &part;
    bring(numbers_.get(), sizeof(CudaNumbers), [this](void* here) {
      CudaNumbers numbers;
      numbers.step = in_->step;
      numbers.total_rows = static_cast<double>(in_->counted_rows());
      numbers.loss_scale = in_->loss_scale;
      numbers.max_value = static_cast<float>(in_->max_value);
      numbers.max_norm = in_->max_norm;
      for (std::size_t k = 0; k < in_->counted.size() && k < std::size_t{CudaNumbers::most_losses}; ++k) numbers.counted[k] = in_->counted[k];
      std::memcpy(here, &numbers, sizeof numbers);
    });
    if (in_->constants != nullptr) {
      const std::size_t bytes = in_->constants_bytes * static_cast<std::size_t>(groups_);
      if (constants_.get() == nullptr) constants_ = card_memory<std::byte>(bytes, "constants of the optimizer");
      bring(constants_.get(), bytes, [this, bytes](void* here) { std::memcpy(here, in_->constants, bytes); });
    }
    if (in_->class_weights == nullptr) return;
    const std::size_t bytes = in_->classes * sizeof(float);
    if (weights_.get() == nullptr) weights_ = card_memory<float>(in_->classes, "weights of classes");
    bring(weights_.get(), bytes, [this, bytes](void* here) { std::memcpy(here, in_->class_weights, bytes); });
  }
  [[nodiscard]] const float* class_weights(const StepInput& in) const { return in.class_weights == nullptr ? nullptr : weights_.get(); }

  void add(float* target, const float* a, const float* b, std::int64_t n) const { CudaCompute::add(space(), target, a, b, n); }
  /// Of n elements in bfloat16 that lie there.
  void add_bfloat16(float* target, const float* a, const float* b, std::int64_t n) const {
    CudaCompute::add(space(), values_at<BFloat16>(target), values_at<BFloat16>(a), values_at<BFloat16>(b), n);
  }
  void copy(float* target, const float* source, std::int64_t n) const { CudaCompute::copy(space(), target, source, n); }
  void zero(float* target, std::int64_t n) const { CudaCompute::zero(space(), target, n); }
  void widen(float* to, const float* lies, std::int64_t n) const { convert_all(card_.stream(), n, values_at<BFloat16>(lies), to); }
  void round(float* lies, const float* from, std::int64_t n) const { convert_all(card_.stream(), n, from, values_at<BFloat16>(lies)); }
  void round_floats(float* to, const float* from, std::int64_t n) const { convert_all(card_.stream(), n, from, to); }
  /// When no step is under way.
  void upload(float* there, const float* here, std::int64_t elements) const {
    card_.upload(there, here, static_cast<std::size_t>(elements) * sizeof(float));
  }
  void download(float* here, const float* there, std::int64_t elements) const {
    card_.download(here, there, static_cast<std::size_t>(elements) * sizeof(float));
  }
  void move(float* to, std::int64_t to_stride, const float* from, std::int64_t from_stride, std::int64_t bytes, std::int64_t runs) const {
    if (runs == 0 || bytes == 0) return;
    check_cuda(cudaMemcpy2DAsync(to, static_cast<std::size_t>(to_stride), from, static_cast<std::size_t>(from_stride),
                                 static_cast<std::size_t>(bytes), static_cast<std::size_t>(runs), cudaMemcpyDeviceToDevice, card_.stream()),
               "cudaMemcpy2DAsync");
  }

  template <class Row> void load(float* to, std::int64_t rows, std::int64_t elements, ElementType type, Row row) {
    const std::int64_t bytes = elements * bytes_of(type);
    if (rows * bytes == 0) return;
    bring(to, static_cast<std::size_t>(rows * bytes), [=](void* here) {
      for (std::int64_t r = 0; r < rows; ++r) HostWork::load_row(static_cast<std::byte*>(here) + r * bytes, row(r), elements, type);
    });
  }
  template <class Look> void each_step(Look look) {
    look();
    part_->before.emplace_back(look);
  }
  /// Hands them to place() when the queue is done.
  template <class Use> void store(const float* from, std::int64_t elements, Use place) {
    take_back(from, elements * std::int64_t{sizeof(float)}, [place](const void* here) { place(static_cast<const float*>(here)); });
  }
  /// The same of elements in bfloat16, as floats.
  template <class Use> void store_bfloat16(const float* from, std::int64_t elements, Use place) {
    take_back(from, elements * std::int64_t{sizeof(BFloat16)}, [this, elements, place](const void* here) {
      widened_.resize(static_cast<std::size_t>(elements));
      run_room::widen(widened_.data(), static_cast<const float*>(here), elements);
      place(widened_.data());
    });
  }

  template <class Words> void loss(LossCallIn<CudaMemory> call, float* kept, bool scales, const StepInput& /*in*/, Words /*words*/) const {
    call.loss = kept;
    kernels_.loss(call);
    if (!scales || call.gradient == nullptr) return;
    const std::int64_t n = call.rows * call.features;
    kernels_.loss_takes_bfloat16 ? each<Scale>(n, numbers(), values_at<BFloat16>(call.gradient)) : each<Scale>(n, numbers(), call.gradient);
  }
  void sum_losses(float* losses, int count, const StepInput& /*in*/) const { launch<TreeOfLosses>(card_.stream(), {1, 32}, count, losses); }

  // ---- of the arithmetic of a step
  template <class Prepare, class EachOther>
  void sum_squares(float* to, float* values, std::int64_t elements, int parts, Prepare prepare, EachOther each_other) {
    prepare(values, elements);
    square_sum(to, values, elements, parts, false, [&](auto visit) { each_other(values, elements, visit); });
  }
  template <class Each> void add_squares(float* to, const float* values, std::int64_t elements, int parts, Each each) {
    square_sum(to, values, elements, parts, true, each);
  }
  void unscale(float* values, std::int64_t n, float /*scale*/, float* flag) const {
    Extents e = extents_of(n);
    e.shared_bytes = warp_threads * sizeof(float);
    launch<Unscale>(card_.stream(), e, n, numbers(), values, flag);
  }
  /// What the card decides by; see CudaNumbers. Each is asked for what they have decided when the queue is done.
  template <class Use> void take_overflow(const float* flag, Use use) {
    launch<TakeOverflow>(card_.stream(), {1, 32}, flag, numbers_.get());
    store(&numbers_.get()->overflows, 1, [use](const float* overflows) { use(*overflows > 0); });
  }
  /// Of the losses of this rank.
  void guard(const float* losses, int count, float* flag) const { launch<GuardLosses>(card_.stream(), {1, 32}, count, losses, flag); }
  template <class Use> void take_guard(const float* flag, Use use) {
    launch<TakeGuard>(card_.stream(), {1, 32}, flag, numbers_.get());
    store(&numbers_.get()->odd_losses, 1, [use](const float* odd) { use(*odd > 0); });
  }
  template <class Use> void take_norm(const float* squares, int units, Use use) {
    launch<TakeNorm>(card_.stream(), {1, 32}, units, squares, numbers_.get());
    store(&numbers_.get()->norm, 1, [use](const float* norm) { use(*norm); });
  }
  /// The factor is among the numbers of the step.
  void clip(float* values, std::int64_t n, float /*factor*/) const { each<ClipAll>(n, numbers(), values); }
  /// The limit is among the numbers of the step.
  void clip_values(float* values, const float* /*parameters*/, std::int64_t n, float /*limit*/) const { each<ClipEach>(n, numbers(), values); }
  void fold(float* values, const float* sums, std::int64_t n, float momentum, std::int64_t counted) const {
    each<FoldTracked>(n, numbers(), momentum, static_cast<float>(1 / static_cast<double>(counted)), sums, values);
  }
  void step(const StepInput& in, int group, std::int64_t n, float* parameters, const float* gradients, float* const* states) const {
    kernels_.step(constants_.get() + static_cast<std::size_t>(group) * in.constants_bytes, {n, parameters, gradients, states, space()});
  }

 private:
  template <class Each> void square_sum(float* to, const float* values, std::int64_t elements, int parts, bool add, Each each) {
    counted_.clear();
    each([this](std::int64_t first, std::int64_t n) {
      const auto line = [](std::int64_t element) { return static_cast<std::int32_t>(element / LineRange::elements); };
      counted_.push_back(LineRange{line(first), line(first + n)});
    });
    compute_room::square_sum(card_.stream(), elements, parts, values, counted_, partials_.get(), to, add);
  }
  /// Bytes that fill(here) writes, now and before each replay, to the card.
  template <class Fill> void bring(void* to, std::size_t bytes, Fill fill) {
    void* const here = part_->pinned.take(bytes);
    fill(here);
    part_->before.emplace_back([here, fill] { fill(here); });
    check_cuda(cudaMemcpyAsync(to, here, bytes, cudaMemcpyHostToDevice, card_.stream()), "cudaMemcpyAsync");
  }
  /// Bytes that use(here) is given when the queue is done, in this step and in its replays.
  template <class Use> void take_back(const void* from, std::int64_t bytes, Use use) {
    if (bytes == 0) return;
    void* const here = part_->pinned.take(static_cast<std::size_t>(bytes));
    check_cuda(cudaMemcpyAsync(here, from, static_cast<std::size_t>(bytes), cudaMemcpyDeviceToHost, card_.stream()), "cudaMemcpyAsync");
    part_->after.emplace_back([here, use] { use(here); });
  }
  [[nodiscard]] const CudaNumbers* numbers() const { return numbers_.get(); }
  template <class K, class... A> void each(std::int64_t n, A... arguments) const { launch_each<K>(card_.stream(), n, arguments...); }

  const Kernels& kernels_;
  Card& card_;
  int groups_;  // of constants
  CudaQueue queue_;
  CardMemory<CudaNumbers> numbers_;
  CardMemory<float> partials_, weights_;
  CardMemory<std::byte> constants_;
  std::vector<CardMemory<std::byte>> rooms_;
  std::vector<float> widened_;      // outputs on the host
  std::vector<LineRange> counted_;  // of the unit whose squares are queued
  HostPart* part_ = nullptr;        // of the step in hand
  const StepInput* in_ = nullptr;
};

}  // namespace heddle::backend_room
