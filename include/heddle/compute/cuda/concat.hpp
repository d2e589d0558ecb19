// SPDX-License-Identifier: MIT
// Room: compute. Concat on a card: runs of both values one behind the other, and back.
// Sees: graph/layers/concat, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: ForwardCallIn<CudaMemory>, BackwardCallIn<CudaMemory>.  Out: Kernel<ConcatAlong, CudaCompute>.
#pragma once

#include <concepts>
#include <cstdint>

#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/divisor.hpp"
#include "heddle/graph/layers/concat.hpp"

namespace heddle::compute_room {

/// n elements of the output, each run of which has so many elements of the first value and then of the second.
template <int each> struct JoinRuns {
  static constexpr const char* name = "JoinRuns";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t n, std::int64_t of_first, Divisor of_both, const float* first, const float* second,
                                float* to) const {
    const std::int64_t i = first_of_thread<each>(b);
    if (i >= n) return;
    const std::int64_t run = of_both.quotient_of(i), at = i - run * of_both.divisor();
    FloatsOfThread<each> x;
    x.load(at < of_first ? first + run * of_first + at : second + run * (of_both.divisor() - of_first) + (at - of_first));
    x.store(to + i);
  }
};
/// n elements of a target whose runs are parts of longer ones: of each run of 7, which begins where `from` does, the first 3.
template <int each> struct CutRuns {
  static constexpr const char* name = "CutRuns";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t n, Divisor wanted, std::int64_t run_elements, const float* from, float* to) const {
    const std::int64_t i = first_of_thread<each>(b);
    if (i >= n) return;
    const std::int64_t run = wanted.quotient_of(i);
    FloatsOfThread<each> x;
    x.load(from + run * run_elements + (i - run * wanted.divisor()));
    x.store(to + i);
  }
};

}  // namespace heddle::compute_room

namespace heddle {

/// ConcatAlong on CudaCompute or what derives from it: elements are moved, none is computed.
///
/// Errors  none; rows may be 0
/// Tested  compute/cuda/concat_test
template <int D, std::derived_from<compute_room::CudaCompute> C> struct Kernel<graph_room::ConcatAlong<D>, C> {
  static void forward(const seams_room::ForwardCallIn<compute_room::CudaMemory>& call) {
    const graph_room::ConcatParts parts = of(*call.leaf);
    compute_room::launch_in_runs<compute_room::JoinRuns>(call.space.queue->stream, in_packs(parts), call.rows * call.leaf->out.elements(),
                                                         parts.first, compute_room::Divisor{parts.first + parts.second}, call.input, call.second,
                                                         call.output);
  }
  /// The gradient of one value is its part of that of the output.
  static void backward(const seams_room::BackwardCallIn<compute_room::CudaMemory>& call) {
    if (call.input_gradient == nullptr) return;
    const graph_room::ConcatParts parts = of(*call.leaf);
    const std::int64_t wanted = call.operand == 0 ? parts.first : parts.second;
    const float* const from = call.output_gradient + (call.operand == 0 ? 0 : parts.first);
    compute_room::launch_in_runs<compute_room::CutRuns>(call.space.queue->stream, in_packs(parts), call.rows * parts.runs * wanted,
                                                        compute_room::Divisor{wanted}, parts.first + parts.second, from, call.input_gradient);
  }

 private:
  static graph_room::ConcatParts of(const graph_room::Leaf& leaf) { return {leaf, graph_room::ConcatAlong<D>::dimension(leaf.out.shape)}; }
  static bool in_packs(const graph_room::ConcatParts& parts) {
    return compute_room::is_whole_packs(parts.first) && compute_room::is_whole_packs(parts.second);
  }
};

}  // namespace heddle
