// SPDX-License-Identifier: MIT
// Room: compute. Rescaling on a card: four bytes a thread become four numbers.
// Sees: graph/layers/rescaling, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: ForwardCallIn<CudaMemory>.  Out: Kernel<Rescaling, CudaCompute>.
#pragma once

#include <concepts>
#include <cstdint>

#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/graph/layers/rescaling.hpp"

namespace heddle::compute_room {

/// to = bytes numerator / denominator. The product is exact, since 255 x 2^16 is below 2^24, and the quotient is rounded once: every byte has the
/// bits of Rescaling::numbers().
template <class Value> struct RescaleBytes {
  static constexpr const char* name = "RescaleBytes";
  static constexpr bool cooperative = false;
  static constexpr int each = Pack<float>::count;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t n, float numerator, float denominator, const std::uint8_t* bytes, Value* to) const {
    const std::int64_t i = first_of_thread<each>(b);
    if (i >= n) return;
    const FourBytes x = load(bytes + i, n - i);
    NumbersOfThread<each> y;
    for (int k = 0; k < each; ++k) y.values[k] = static_cast<float>(x.values[k]) * numerator / denominator;
    y.store(to + i, n - i);
  }

 private:
  /// The bytes of a thread, one load of a card where they lie on a multiple of 4.
  struct alignas(each) FourBytes {
    std::uint8_t values[each];
  };
  HEDDLE_DEVICE static FourBytes load(const std::uint8_t* from, std::int64_t count) {
    if (count >= each && reinterpret_cast<std::uintptr_t>(from) % sizeof(FourBytes) == 0) return *reinterpret_cast<const FourBytes*>(from);
    FourBytes loaded;
    for (int k = 0; k < each; ++k) loaded.values[k] = from[k < count ? k : 0];
    return loaded;
  }
};

}  // namespace heddle::compute_room

namespace heddle {

/// Rescaling on CudaCompute or what derives from it. There is nothing for a backward to make.
///
/// Errors  none; rows may be 0
/// Tested  compute/cuda/rescaling_test
template <std::int64_t Numerator, std::int64_t Denominator, std::derived_from<compute_room::CudaCompute> C>
struct Kernel<graph_room::Rescaling<Numerator, Denominator>, C> {
  using TakesBFloat16 = Kernel;
  template <class Value = float> static void forward(const seams_room::ForwardCallIn<compute_room::CudaMemory>& call) {
    using K = compute_room::RescaleBytes<Value>;
    const std::int64_t n = call.rows * call.leaf->in.elements();
    compute_room::launch<K>(call.space.queue->stream, compute_room::extents_of(n, K::each), n, static_cast<float>(Numerator),
                            static_cast<float>(Denominator), call.bytes, compute_room::values_at<Value>(call.output));
  }
  template <class Value = float> static void backward(const seams_room::BackwardCallIn<compute_room::CudaMemory>&) {}
};

}  // namespace heddle
