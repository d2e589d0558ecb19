// SPDX-License-Identifier: MIT
// Room: compute. The CUDA compute backend's own: the memory that its calls name, where they are queued, sums, copies and zeros.
// Sees: compute/cuda/launch, seams/concepts.  Does not see: layers, policies, programs.
// In: pointers of a card and run-time extents.  Out: CudaMemory, CudaQueue, CudaNumbers, CudaCompute; what a user's own kernel names.
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>

#include "heddle/compute/cuda/launch.hpp"
#include "heddle/compute/cuda/values.hpp"
#include "heddle/core/units.hpp"
#include "heddle/seams/concepts.hpp"

namespace heddle::compute_room {

class CudaProducts;
class CudaLibrary;

/// What changes from step to step and is read on the card, so that a step that was captured once is replayed with the numbers of the one in hand. The
/// host fills it and queues its copy before anything else of the step. Without a scale of the loss loss_scale is 1. What the card decides it writes
/// behind that: a step whose gradients overflow, or whose norm, or in a guarded plan loss, is not finite, changes no parameter.
struct CudaNumbers {
  static constexpr int most_losses = 8;
  std::int64_t step = 0;                ///< as CallContext::step
  double total_rows = 0;                ///< as LossCall::total_rows
  CountedTargets counted[most_losses];  ///< as LossCall: of the loss, or of each of several
  float loss_scale = 1;
  float max_value = 0;  ///< of a plan that clips each value
  double max_norm = 0;  ///< of a plan that clips by the norm of all gradients
  // Decided on the card:
  float norm = 0;
  float clip_factor = 1;
  float overflows = 0;   ///< above 0: a gradient is not finite without the scale of the loss
  float odd_losses = 0;  ///< above 0: a loss of some rank is not finite, of a plan that is guarded
  float holds = 0;       ///< above 0: no parameter changes in this step
};

/// Where the kernels of one rank are queued, one after another. It knows nothing of what is in the queue.
struct CudaQueue {
  cudaStream_t stream = nullptr;
  CudaProducts* products = nullptr;      ///< of cuBLASLt, with their workspace
  const CudaNumbers* numbers = nullptr;  ///< on the card
  bool tf32 = false;                     ///< whether a kernel that multiplies float32 may round the factors to TF32, as `products` do then
  CudaLibrary* library = nullptr;        ///< what computes whole layers in the place of kernels, if anything does
};

/// The memory of a card, which the host never reads: a call of a kernel in it says where it is queued.
struct CudaMemory {
  const CudaQueue* queue = nullptr;
};

/// target = a + b, 16 bytes a thread; target may equal a or b.
template <class Value> struct AddArrays {
  static constexpr const char* name = "AddArrays";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B> HEDDLE_DEVICE void operator()(B& b, std::int64_t n, const Value* x, const Value* y, Value* target) const {
    constexpr int each = Pack<Value>::count;
    const std::int64_t i = first_of_thread<each>(b);
    if (i >= n) return;
    NumbersOfThread<each> sum;
    NumbersOfThread<each> other;
    sum.load(x + i, n - i);
    other.load(y + i, n - i);
    sum.add(other);
    sum.store(target + i, n - i);
  }
};

/// The CUDA backend.
///
/// Errors  R36 of every call
/// Tested  compute/cuda/cuda_test
struct CudaCompute {
  using Space = CudaMemory;
  static constexpr Bytes workspace{0};

  template <class Value> static void add(const CudaMemory& space, Value* target, const Value* a, const Value* b, std::int64_t n) {
    launch<AddArrays<Value>>(space.queue->stream, extents_of(n, Pack<Value>::count), n, a, b, target);
  }
  template <class Value> static void copy(const CudaMemory& space, Value* target, const Value* source, std::int64_t n) {
    if (n == 0 || target == source) return;
    check_cuda(cudaMemcpyAsync(target, source, static_cast<std::size_t>(n) * sizeof(Value), cudaMemcpyDeviceToDevice, space.queue->stream),
               "cudaMemcpyAsync");
  }
  static void zero(const CudaMemory& space, float* target, std::int64_t n) {
    if (n == 0) return;
    check_cuda(cudaMemsetAsync(target, 0, static_cast<std::size_t>(n) * sizeof(float), space.queue->stream), "cudaMemsetAsync");
  }
};

}  // namespace heddle::compute_room

namespace heddle::extending {
using compute_room::BlockOfThreads, compute_room::check_cuda, compute_room::Extents, compute_room::extents_of, compute_room::first_of_thread,
    compute_room::launch, compute_room::values_at;
using compute_room::CudaCompute, compute_room::CudaMemory, compute_room::CudaQueue;
}  // namespace heddle::extending
