// SPDX-License-Identifier: MIT
// One layer of so many rows on this card by itself, forward and backward, of numbers that are drawn.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "card.hpp"
#include "drawn.hpp"
#include "heddle/backend/cuda.hpp"
#include "heddle/compute/cuda/library.hpp"
#include "heddle/compute/cuda/step_kernels.hpp"
#include "heddle/heddle.hpp"
#include "heddle/run/kernel_of.hpp"

namespace gpu_check {

using namespace heddle;
using namespace heddle::compute_room;

/// n values of the card, all zero.
template <class T> CardMemory<T> zeros(cudaStream_t stream, std::int64_t n) {
  const auto count = static_cast<std::size_t>(n > 0 ? n : 1);
  CardMemory<T> made = card_memory<T>(count, "a tensor");
  check_cuda(cudaMemsetAsync(made.get(), 0, count * sizeof(T), stream), "cudaMemsetAsync");
  return made;
}

struct DrawElements {
  static constexpr const char* name = "DrawElements";
  template <class T> HEDDLE_DEVICE static void at(std::int64_t i, unsigned seed, T* to) { to[i] = as_value<T>(drawn(i, seed, 1)); }
};
/// n numbers of the card from -1 to 1.
template <class T> CardMemory<T> draws(cudaStream_t stream, std::int64_t n, unsigned seed) {
  CardMemory<T> made = zeros<T>(stream, n);
  launch_each<DrawElements>(stream, n, seed, made.get());
  return made;
}

/// A table, whose inputs are numbers of its rows.
template <class L> inline constexpr bool takes_ids = false;
template <std::int64_t Words, std::int64_t Features, class... Options> inline constexpr bool takes_ids<Embedding<Words, Features, Options...>> = true;

/// TimedLayer<GELU, BFloat16>{stream, Shape{3072}, 16384, false}.forward() are the microseconds of 16,384 rows.
template <class L, class Value> class TimedLayer {
 public:
  TimedLayer(cudaStream_t stream, const Shape& in, std::int64_t rows, bool tf32)
      : leaf_(L::describe(spec_of(in))), rows_(rows), stream_(stream), tf32_(tf32) {
    by(nullptr);
    if constexpr (reads_ids) {
      std::vector<std::int32_t> ids(static_cast<std::size_t>(rows * leaf_.in.elements()));
      for (std::size_t i = 0; i < ids.size(); ++i)
        ids[i] = static_cast<std::int32_t>((7919 * i + i / 3) % static_cast<std::size_t>(leaf_.vocabulary));
      check_cuda(cudaMemcpyAsync(x_.get(), ids.data(), ids.size() * sizeof(std::int32_t), cudaMemcpyHostToDevice, stream), "cudaMemcpyAsync");
      check_cuda(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
    }
  }
  [[nodiscard]] const Leaf& leaf() const { return leaf_; }
  [[nodiscard]] const Value* outputs() const { return y_.get(); }
  /// From here on a library computes the layer, or null: kernels of Heddle.
  void by(CudaLibrary* library) {
    queue_ = {stream_, &products_, numbers_.get(), tf32_, library};
    if (library == nullptr) return;
    if constexpr (run_room::PreparesFor<L, CudaCompute, Value>)
      K::template prepare<Value>(leaf_, rows_, {&queue_});
    else if constexpr (run_room::Prepares<L, CudaCompute>)
      K::prepare(leaf_, rows_, {&queue_});
  }
  [[nodiscard]] float forward() {
    auto call = forward_call();
    return microseconds(stream_, 10, [&](cudaStream_t) {
      if constexpr (halves)
        K::template forward<Value>(call);
      else
        K::forward(call);
    });
  }
  /// Of a norm that makes the sum which it reads.
  [[nodiscard]] float forward_of_sum() {
    auto call = forward_call();
    return microseconds(stream_, 10, [&](cudaStream_t) { K::template forward_of_sum<Value>(call, {floats(dx_), floats(dy_), floats(x_)}); });
  }
  [[nodiscard]] float backward() {
    BackwardCallIn<CudaMemory> call{&leaf_,      rows_,      nullptr, floats(y_),    floats(dy_), reads_ids ? nullptr : floats(dx_),
                                    parameters_, gradients_, false,   scratch_.get()};
    set_input(call, floats(x_));
    call.statistics = statistics_.get();
    call.space = {&queue_};
    return microseconds(stream_, 10, [&](cudaStream_t) {
      if constexpr (halves)
        K::template backward<Value>(call);
      else
        K::backward(call);
    });
  }

 private:
  using K = Kernel<L, CudaCompute>;
  static constexpr bool halves = !std::is_same_v<Value, float>;
  static constexpr bool reads_ids = takes_ids<L>;
  static Spec spec_of(const Shape& in) { return reads_ids ? Spec{in, ElementType::int32} : Spec{in}; }
  ForwardCallIn<CudaMemory> forward_call() {
    ForwardCallIn<CudaMemory> call{&leaf_, rows_, nullptr, floats(y_), parameters_, scratch_.get()};
    set_input(call, floats(x_));
    call.statistics = statistics_.get();
    call.space = {&queue_};
    return call;
  }
  static float* floats(const CardMemory<Value>& values) { return reinterpret_cast<float*>(values.get()); }
  template <class T> CardMemory<T> zeros(std::int64_t n) const { return gpu_check::zeros<T>(stream_, n); }
  template <class T> CardMemory<T> draws(std::int64_t n, unsigned seed) const { return gpu_check::draws<T>(stream_, n, seed); }
  [[nodiscard]] std::int64_t of(int parameter) const { return parameter < leaf_.parameter_count ? leaf_.parameters[parameter].shape.elements() : 0; }

  Leaf leaf_;
  std::int64_t rows_;
  cudaStream_t stream_;
  bool tf32_;
  CudaProducts products_{stream_, {.tf32 = tf32_, .usual_rows = rows_}};
  CardMemory<CudaNumbers> numbers_ = zeros<CudaNumbers>(1);
  CudaQueue queue_;
  CardMemory<Value> x_ = draws<Value>(rows_ * leaf_.in.elements() * (reads_ids ? 2 : 1), 1), y_ = draws<Value>(rows_ * leaf_.out.elements(), 2);
  CardMemory<Value> dx_ = draws<Value>(rows_ * leaf_.in.elements(), 3), dy_ = draws<Value>(rows_ * leaf_.out.elements(), 4);
  CardMemory<float> statistics_ = zeros<float>(rows_ * leaf_.statistics_elements());
  CardMemory<Value> weight_ = draws<Value>(of(0), 5), bias_ = draws<Value>(of(1), 6);  // as a step gives them: rounded copies
  CardMemory<float> dweight_ = zeros<float>(of(0)), dbias_ = zeros<float>(of(1));
  const float* parameters_[2] = {floats(weight_), floats(bias_)};
  float* gradients_[2] = {dweight_.get(), dbias_.get()};
  CardMemory<std::byte> scratch_ = zeros<std::byte>(run_room::scratch_of<L, CudaCompute>(leaf_).value);
};

}  // namespace gpu_check
