// SPDX-License-Identifier: MIT
// Room: tests. Kernels of CUDA as those of a Compute of the host: each tensor of a call is brought to the card, and what is written is brought back.
// Sees: compute/cuda, run/kernel_of.  Does not see: which card runs them, or what stands for one.
// In: calls of the host.  Out: UploadedCuda, UploadedHalves, UploadedTF32.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/library.hpp"
#include "heddle/compute/cuda/products.hpp"
#include "heddle/compute/cuda/resources.hpp"
#include "heddle/core/bfloat16.hpp"
#include "heddle/run/kernel_of.hpp"

namespace conformance {

using namespace heddle;
using namespace heddle::compute_room;

/// What one call has on the card. Memory that is only written is all ones before, so that what a kernel leaves out is NaN.
class CardTensors {
 public:
  explicit CardTensors(bool tf32 = false, MakeCudaLibrary library = nullptr)
      : stream_(make_stream()), products_(stream_.get(), {.workspace_bytes = std::size_t{1} << 20U, .tf32 = tf32}) {
    if (library != nullptr) library_ = library({stream_.get(), tf32, 0});
  }

  /// A copy of n elements of the host; null stays null, and one array is on the card once.
  template <class T> T* given(T* host, std::int64_t n) { return static_cast<T*>(bring(host, static_cast<std::size_t>(n) * sizeof(T), false)); }
  /// The same, which finish() brings back.
  template <class T> T* made(T* host, std::int64_t n) { return static_cast<T*>(bring(host, static_cast<std::size_t>(n) * sizeof(T), true)); }
  /// The same of values, which are on the card as Value: rounded on the way there, and widened on the way back. The address is one of the call.
  template <class Value> const float* given_values(const float* host, std::int64_t n) {
    return values<Value>(host, n, [this](auto* at, std::int64_t count) { return this->given(at, count); });
  }
  template <class Value> float* made_values(float* host, std::int64_t n) {
    float* const there = const_cast<float*>(values<Value>(host, n, [this](auto* at, std::int64_t count) { return this->made(at, count); }));
    for (Rounded& values : rounded_) values.back = values.back || (values.here == host && values.there.size() == static_cast<std::size_t>(n));
    return there;
  }
  /// Memory of the card alone.
  void* scratch(std::int64_t bytes) {
    if (bytes == 0) return nullptr;
    Held& held =
        held_.emplace_back(Held{nullptr, static_cast<std::size_t>(bytes), false, card_memory<std::byte>(static_cast<std::size_t>(bytes), "scratch")});
    check_cuda(cudaMemsetAsync(held.there.get(), 0xff, held.bytes, stream_.get()), "cudaMemsetAsync");
    return held.there.get();
  }
  [[nodiscard]] CudaMemory space(const CudaNumbers& numbers) {
    numbers_ = numbers;
    queue_ = {stream_.get(), &products_, given(static_cast<const CudaNumbers*>(&numbers_), 1), products_.tf32(), library_.get()};
    return {&queue_};
  }
  void finish() {
    for (const Held& held : held_)
      if (held.back) check_cuda(cudaMemcpyAsync(held.here, held.there.get(), held.bytes, cudaMemcpyDeviceToHost, stream_.get()), "cudaMemcpyAsync");
    wait_for(stream_.get());
    for (const Rounded& values : rounded_)
      for (std::size_t i = 0; i < values.there.size() && values.back; ++i) const_cast<float*>(values.here)[i] = core_room::widened(values.there[i]);
  }

 private:
  /// Values of the host in bfloat16.
  struct Rounded {
    const float* here;
    bool back;
    std::vector<BFloat16> there;
  };
  template <class Value, class Bring> const float* values(const float* host, std::int64_t n, Bring bring_it) {
    if constexpr (std::is_same_v<Value, float>) {
      return bring_it(const_cast<float*>(host), n);
    } else {
      if (host == nullptr) return nullptr;
      auto known = std::find_if(rounded_.begin(), rounded_.end(),
                                [&](const Rounded& r) { return r.here == host && r.there.size() == static_cast<std::size_t>(n); });
      if (known == rounded_.end()) {
        rounded_.push_back({host, false, {}});
        known = rounded_.end() - 1;
        known->there.reserve(static_cast<std::size_t>(n) + 1);
        for (std::int64_t i = 0; i < n; ++i) known->there.push_back(core_room::rounded(host[i]));
      }
      return reinterpret_cast<const float*>(bring_it(known->there.data(), n));
    }
  }
  struct Held {
    void* here;
    std::size_t bytes;
    bool back;
    CardMemory<std::byte> there;
  };
  void* bring(const void* host, std::size_t bytes, bool back) {
    if (host == nullptr) return nullptr;
    const auto known = std::find_if(held_.begin(), held_.end(), [&](const Held& h) { return h.here == host && h.bytes == bytes; });
    if (known != held_.end()) {
      known->back = known->back || back;
      return known->there.get();
    }
    Held& held = held_.emplace_back(Held{const_cast<void*>(host), bytes, back, card_memory<std::byte>(std::max<std::size_t>(bytes, 1), "a tensor")});
    if (bytes > 0) check_cuda(cudaMemcpyAsync(held.there.get(), host, bytes, cudaMemcpyHostToDevice, stream_.get()), "cudaMemcpyAsync");
    return held.there.get();
  }

  Stream stream_;
  CudaProducts products_;
  std::unique_ptr<CudaLibrary> library_;
  CudaNumbers numbers_;
  CudaQueue queue_;
  std::vector<Held> held_;
  std::deque<Rounded> rounded_;  // their addresses are kept
};

/// A kernel of a card whose layer is forgotten, and where it runs.
template <class Call> struct KernelOnCard {
  void (*run)(const Call&);
  std::int64_t scratch_bytes;
  bool tf32;
  MakeCudaLibrary library;
};
inline CudaNumbers numbers_of(const CallContext& context) {
  CudaNumbers numbers;
  numbers.step = context.step;
  return numbers;
}
template <class Value> const float* parameter(CardTensors& card, const Parameter& described, const float* numbers) {
  const std::int64_t n = described.shape.elements();
  return described.tracked() ? card.given(numbers, n) : card.given_values<Value>(numbers, n);
}
/// What forward and backward read alike, and where they are called.
template <class Value, class Call, class There> void give_operands(CardTensors& card, const Call& call, There& there) {
  const Leaf& leaf = *call.leaf;
  there.part = call.part;
  there.context = call.context;
  there.input = card.given_values<Value>(call.input, call.rows * leaf.in.elements());
  there.ids = card.given(call.ids, call.rows * leaf.in.elements());
  there.bytes = card.given(call.bytes, call.rows * leaf.in.elements());
  there.second = card.given_values<Value>(call.second, call.rows * leaf.other.elements());
  there.space = card.space(numbers_of(call.context));
}
template <class Value> void forward_on_card(const ForwardCall& call, const KernelOnCard<ForwardCallIn<CudaMemory>>& kernel) {
  CardTensors card{kernel.tf32, kernel.library};
  const Leaf& leaf = *call.leaf;
  std::vector<const float*> parameters;
  ForwardCallIn<CudaMemory> there{&leaf, call.rows};
  give_operands<Value>(card, call, there);
  there.output = card.made_values<Value>(call.output, call.rows * leaf.out.elements());
  there.statistics = card.made(call.statistics, call.rows * leaf.statistics_elements());
  for (int p = 0; p < leaf.parameter_count; ++p) parameters.push_back(parameter<Value>(card, leaf.parameters[p], call.parameters[p]));
  there.parameters = parameters.data();
  there.workspace = card.scratch(kernel.scratch_bytes);
  kernel.run(there);
  card.finish();
}
template <class Value> void backward_on_card(const BackwardCall& call, const KernelOnCard<BackwardCallIn<CudaMemory>>& kernel) {
  CardTensors card{kernel.tf32, kernel.library};
  const Leaf& leaf = *call.leaf;
  std::vector<const float*> parameters;
  std::vector<float*> gradients;
  BackwardCallIn<CudaMemory> there{&leaf, call.rows};
  there.add = call.add;
  there.operand = call.operand;
  give_operands<Value>(card, call, there);
  there.output = card.given_values<Value>(call.output, call.rows * leaf.out.elements());
  there.statistics = card.given(call.statistics, call.rows * leaf.statistics_elements());
  there.output_gradient = card.given_values<Value>(call.output_gradient, call.rows * leaf.out.elements());
  there.input_gradient = card.made_values<Value>(call.input_gradient, call.rows * leaf.operand(call.operand).elements());
  for (int p = 0; p < leaf.parameter_count && call.parameters != nullptr; ++p)
    parameters.push_back(parameter<Value>(card, leaf.parameters[p], call.parameters[p]));
  for (int p = 0; p < leaf.parameter_count && call.parameter_gradients != nullptr; ++p)
    gradients.push_back(card.made(call.parameter_gradients[p], leaf.parameters[p].shape.elements()));
  there.parameters = parameters.data();
  there.parameter_gradients = call.parameter_gradients == nullptr ? nullptr : gradients.data();
  there.workspace = card.scratch(kernel.scratch_bytes);
  kernel.run(there);
  card.finish();
}

/// Of a kernel that takes no bfloat16 it is asked in floats.
template <class L, class Value, bool tf32, MakeCudaLibrary library> struct UploadedKernel {
  using Real = run_room::KernelFor<L, CudaCompute>;
  static constexpr bool backward_in_parts = run_room::HasBackwardInParts<L, CudaCompute>;

  static void forward(const ForwardCall& call) {
    const auto run = [](const ForwardCallIn<CudaMemory>& there) {
      if constexpr (run_room::TakesBFloat16<L, CudaCompute>)
        Real::template forward<Value>(there);
      else
        Real::forward(there);
    };
    forward_on_card<Value>(call, {run, scratch(*call.leaf), tf32, library});
  }
  static void backward(const BackwardCall& call) {
    const auto run = [](const BackwardCallIn<CudaMemory>& there) {
      if constexpr (run_room::TakesBFloat16<L, CudaCompute>)
        Real::template backward<Value>(there);
      else
        Real::backward(there);
    };
    backward_on_card<Value>(call, {run, scratch(*call.leaf), tf32, library});
  }

 private:
  static std::int64_t scratch(const Leaf& leaf) { return (CudaCompute::workspace + run_room::scratch_of<L, CudaCompute>(leaf)).value; }
};

template <class Loss, class Value> struct UploadedLoss {
  using Real = run_room::LossKernelFor<Loss, CudaCompute>;

  static float sum(const LossCall& call) {
    CardTensors card;
    float sum = 0;
    LossCallIn<CudaMemory> there = brought(card, call, call.parts > 1 ? call.rows * terms_of_a_row(call) * call.parts : 0, false);
    there.loss = card.made(&sum, 1);
    if constexpr (run_room::LossTakesBFloat16<Loss, CudaCompute>)
      Real::template sum<Value>(there);
    else
      Real::sum(there);
    card.finish();
    return sum;
  }
  static void terms(const LossCall& call) requires run_room::HasTerms<Loss, CudaCompute> {
    CardTensors card;
    const LossCallIn<CudaMemory> there = brought(card, call, call.rows * terms_of_a_row(call), true);
    if constexpr (run_room::LossTakesBFloat16<Loss, CudaCompute>)
      Real::template terms<Value>(there);
    else
      Real::terms(there);
    card.finish();
  }

 private:
  static std::int64_t terms_of_a_row(const LossCall& call) {
    if constexpr (graph_room::SplitLossDescription<Loss>) {
      const std::int64_t classes = call.features / call.positions;
      return Loss::terms(Spec{call.positions == 1 ? Shape{classes} : Shape{call.positions, classes}});
    }
    return 0;
  }
  static std::int64_t targets_of(const LossCall& call) {
    if constexpr (std::is_same_v<typename Loss::Target, std::int32_t>)
      return call.rows * call.positions;
    else if constexpr (std::is_same_v<typename Loss::Target, float>)
      return call.rows * call.features;
    else
      return call.rows * call.target_features;
  }
  static LossCallIn<CudaMemory> brought(CardTensors& card, const LossCall& call, std::int64_t terms, bool writes_terms) {
    LossCallIn<CudaMemory> there;
    there.rows = call.rows;
    there.features = call.features;
    there.total_rows = call.total_rows;
    there.positions = call.positions;
    there.part = call.part;
    there.parts = call.parts;
    there.target_features = call.target_features;
    there.left_out = call.left_out;
    there.sum_of_weights = call.sum_of_weights;
    there.each = call.each;
    there.output = card.given_values<Value>(call.output, call.rows * call.features);
    there.targets = card.given(static_cast<const std::int32_t*>(call.targets), targets_of(call));  // of 4 bytes each
    there.gradient = card.made_values<Value>(call.gradient, call.rows * call.features);
    there.terms = writes_terms ? card.made(call.terms, terms) : card.given(call.terms, terms);
    there.workspace = card.scratch(run_room::loss_scratch_of<Loss, CudaCompute>().value);
    there.class_weights = card.given(call.class_weights, call.features / call.positions * call.parts);
    CudaNumbers numbers;
    numbers.total_rows = static_cast<double>(call.total_rows);
    for (int k = 0; k < CudaNumbers::most_losses; ++k)
      numbers.counted[k] =
          call.each != nullptr && k < graph_room::TargetRanges::most ? call.each[k] : CountedTargets{call.left_out, call.sum_of_weights};
    there.space = card.space(numbers);
    return there;
  }
};

template <class O> struct UploadedOptimizer {
  using Real = run_room::OptimizerKernelFor<O, CudaCompute>;
  static void step(const typename O::Constants& constants, std::int64_t n, float* parameters, const float* gradients, float* const* states) {
    CardTensors card;
    std::vector<float*> there;
    for (int s = 0; s < O::states; ++s) there.push_back(card.made(states[s], n));
    const StepCallIn<CudaMemory> call{n, card.made(parameters, n), card.given(gradients, n), there.data(), card.space({})};
    Real::step(card.given(&constants, 1), call);
    card.finish();
  }
};

/// A Compute whose tensors lie on the host and whose kernels are CudaCompute's, which have values on the card as Value, and
/// may round factors of float32 products to TF32. A library comes first, if one is named.
template <class Value, bool tf32 = false, MakeCudaLibrary library = nullptr> struct UploadedAs {
  static constexpr Bytes workspace{0};
  template <class L> using KernelOf = UploadedKernel<L, Value, tf32, library>;
  template <class Loss> using LossKernelOf = UploadedLoss<Loss, Value>;
  template <class O> using OptimizerKernelOf = UploadedOptimizer<O>;

  static void add(float* target, const float* a, const float* b, std::int64_t n) {
    CardTensors card;
    const float* const first = card.given_values<Value>(a, n);
    const float* const second = card.given_values<Value>(b, n);
    float* const sum = card.made_values<Value>(target, n);
    CudaCompute::add(card.space({}), values_at<Value>(sum), values_at<Value>(first), values_at<Value>(second), n);
    card.finish();
  }
  static void copy(float* target, const float* source, std::int64_t n) {
    CardTensors card;
    const float* const from = card.given_values<Value>(source, n);
    CudaCompute::copy(card.space({}), values_at<Value>(card.made_values<Value>(target, n)), values_at<Value>(from), n);
    card.finish();
  }
  static void zero(float* target, std::int64_t n) {
    CardTensors card;
    CudaCompute::zero(card.space({}), card.made(target, n), n);
    card.finish();
  }
};

using UploadedCuda = UploadedAs<float>;
using UploadedHalves = UploadedAs<BFloat16>;
using UploadedTF32 = UploadedAs<float, true>;

}  // namespace conformance
