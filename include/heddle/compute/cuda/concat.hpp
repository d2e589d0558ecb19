// SPDX-License-Identifier: MIT
// Room: compute. Concat on a card: runs of both values one behind the other, and back.
// Sees: graph/layers/concat, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: ForwardCallIn<CudaMemory>, BackwardCallIn<CudaMemory>.  Out: Kernel<ConcatAlong, CudaCompute>.
#pragma once

#include <concepts>
#include <cstdint>
#include <numeric>

#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/divisor.hpp"
#include "heddle/graph/layers/concat.hpp"

namespace heddle::compute_room {

/// n elements of the output, each run of which has so many elements of the first value and then of the second.
template <class Value, int each> struct JoinRuns {
  static constexpr const char* name = "JoinRuns";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t n, std::int64_t of_first, Divisor of_both, const Value* first, const Value* second,
                                Value* to) const {
    const std::int64_t i = first_of_thread<each>(b);
    if (i >= n) return;
    const std::int64_t run = of_both.quotient_of(i), at = i - run * of_both.divisor();
    NumbersOfThread<each> x;
    x.load(at < of_first ? first + run * of_first + at : second + run * (of_both.divisor() - of_first) + (at - of_first));
    x.store(to + i);
  }
};
/// n elements of a target whose runs are parts of longer ones: of each run of 7, which begins where `from` does, the first 3.
template <class Value, int each> struct CutRuns {
  static constexpr const char* name = "CutRuns";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t n, Divisor wanted, std::int64_t run_elements, const Value* from, Value* to) const {
    const std::int64_t i = first_of_thread<each>(b);
    if (i >= n) return;
    const std::int64_t run = wanted.quotient_of(i);
    NumbersOfThread<each> x;
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
  using TakesBFloat16 = Kernel;
  template <class Value = float> static void forward(const seams_room::ForwardCallIn<compute_room::CudaMemory>& call) {
    const graph_room::ConcatParts parts = of(*call.leaf);
    compute_room::launch_values_in_runs<compute_room::JoinRuns, Value>(
        call.space.queue->stream, of_both(parts), call.rows * call.leaf->out.elements(), parts.first,
        compute_room::Divisor{parts.first + parts.second}, compute_room::values_at<Value>(call.input), compute_room::values_at<Value>(call.second),
        compute_room::values_at<Value>(call.output));
  }
  /// The gradient of one value is its part of that of the output.
  template <class Value = float> static void backward(const seams_room::BackwardCallIn<compute_room::CudaMemory>& call) {
    if (call.input_gradient == nullptr) return;
    const graph_room::ConcatParts parts = of(*call.leaf);
    const std::int64_t wanted = call.operand == 0 ? parts.first : parts.second;
    const Value* const from = compute_room::values_at<Value>(call.output_gradient) + (call.operand == 0 ? 0 : parts.first);
    compute_room::launch_values_in_runs<compute_room::CutRuns, Value>(call.space.queue->stream, of_both(parts), call.rows * parts.runs * wanted,
                                                                      compute_room::Divisor{wanted}, parts.first + parts.second, from,
                                                                      compute_room::values_at<Value>(call.input_gradient));
  }

 private:
  static graph_room::ConcatParts of(const graph_room::Leaf& leaf) { return {leaf, graph_room::ConcatAlong<D>::dimension(leaf.out.shape)}; }
  /// Runs of both values are whole runs of so many elements.
  static std::int64_t of_both(const graph_room::ConcatParts& parts) { return std::gcd(parts.first, parts.second); }
};

}  // namespace heddle
