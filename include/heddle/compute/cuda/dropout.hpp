// SPDX-License-Identifier: MIT
// Room: compute. Dropout on a card: a mask that forward and backward draw alike, for the step that the card is told.
// Sees: graph/layers/dropout, seams/concepts, core/random, compute/cuda.  Does not see: policies, programs.
// In: ForwardCallIn<CudaMemory>, BackwardCallIn<CudaMemory>.  Out: Kernel<Dropout, CudaCompute>.
#pragma once

#include <concepts>
#include <cstdint>

#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/divisor.hpp"
#include "heddle/core/random.hpp"
#include "heddle/graph/layers/dropout.hpp"

namespace heddle::compute_room {

/// What the mask of a call is drawn from, but for the step, and which elements it drops.
/// Of 12 elements in runs of 3, part 1 of 2 in row 0: element 4 is the second of run 1, so number (1 x 2 + 1) x 3 + 1 = 10 of the whole: 4 behind the
/// first, which is 3, and 3 skipped.
struct MaskOfCall {
  CallContext context;
  Divisor run_elements;
  std::uint64_t first;      // number of the first element of the call
  std::uint64_t skipped;    // numbers between two runs: elements of other parts
  std::uint64_t threshold;  // elements whose bits are below it are dropped
  float scale;              // of what is kept

  MaskOfCall(const CallContext& call, std::int64_t elements, std::uint64_t dropped_below, float scale_of_kept)
      : context(call), run_elements(Divisor{elements / call.runs}), first(call.first_of_run(0, 0, elements)),
        skipped(call.first_of_run(0, 1, elements) - first - static_cast<std::uint64_t>(run_elements.divisor())), threshold(dropped_below),
        scale(scale_of_kept) {}
  [[nodiscard]] HEDDLE_DEVICE std::uint64_t stream(std::int64_t step) const {
    CallContext of_step = context;
    of_step.step = step;
    return of_step.stream();
  }
  /// As CallContext::number_of, whose divisions a card would make slowly. Runs of all rows are equally far apart.
  [[nodiscard]] HEDDLE_DEVICE std::uint64_t number_of(std::int64_t at) const {
    const std::uint64_t number = first + static_cast<std::uint64_t>(at);
    return skipped == 0 ? number : number + static_cast<std::uint64_t>(run_elements.quotient_of(at)) * skipped;
  }
};

/// to = from scale where the mask keeps an element, else 0; both may be one array.
template <class Value> struct DropElements {
  static constexpr const char* name = "DropElements";
  static constexpr bool cooperative = false;
  static constexpr int each = Pack<Value>::count;
  template <BlockOfThreads B>
  HEDDLE_DEVICE void operator()(B& b, std::int64_t n, MaskOfCall mask, const CudaNumbers* numbers, const Value* from, Value* to) const {
    const std::int64_t i = first_of_thread<each>(b);
    if (i >= n) return;
    NumbersOfThread<each> x;
    x.load(from + i, n - i);
    const std::uint64_t stream = mask.stream(numbers->step);
    std::uint64_t drawn = mask.number_of(i) / 4;
    PhiloxBlock block = random_block(mask.context.seed, stream, RandomDraw::mask, drawn);
    for (int k = 0; k < each; ++k) {
      const std::uint64_t number = mask.number_of(i + k);
      if (number / 4 != drawn) block = random_block(mask.context.seed, stream, RandomDraw::mask, drawn = number / 4);
      x.values[k] = word_of(block, static_cast<unsigned>(number % 4)) >= mask.threshold ? x.values[k] * mask.scale : 0.0F;
    }
    x.store(to + i, n - i);
  }

 private:
  // Chosen, not indexed: a card has no registers that are numbered as it runs.
  HEDDLE_DEVICE static std::uint32_t word_of(const PhiloxBlock& block, unsigned at) {
    const std::uint32_t even = at < 2 ? block.words[0] : block.words[2], odd = at < 2 ? block.words[1] : block.words[3];
    return at % 2 == 0 ? even : odd;
  }
};

}  // namespace heddle::compute_room

namespace heddle {

/// Dropout on CudaCompute or what derives from it. The step is read on the card, so a captured call draws anew in each replay.
///
/// Errors  none; rows may be 0, the target may be the source
/// Tested  compute/cuda/dropout_test
template <auto Numerator, auto Denominator, std::derived_from<compute_room::CudaCompute> C>
struct Kernel<graph_room::Dropout<Numerator, Denominator>, C> {
  using TakesBFloat16 = Kernel;
  template <class Value = float> static void forward(const seams_room::ForwardCallIn<compute_room::CudaMemory>& call) {
    drop(call, compute_room::values_at<Value>(call.input), compute_room::values_at<Value>(call.output));
  }
  template <class Value = float> static void backward(const seams_room::BackwardCallIn<compute_room::CudaMemory>& call) {
    if (call.input_gradient != nullptr)
      drop(call, compute_room::values_at<Value>(call.output_gradient), compute_room::values_at<Value>(call.input_gradient));
  }

 private:
  using Layer = graph_room::Dropout<Numerator, Denominator>;
  template <class Call, class Value> static void drop(const Call& call, const Value* from, Value* to) {
    using K = compute_room::DropElements<Value>;
    const std::int64_t elements = call.leaf->in.elements(), n = call.rows * elements;
    if (!call.context.trains || Layer::threshold() == 0) {
      compute_room::CudaCompute::copy(call.space, to, from, n);
      return;
    }
    compute_room::launch<K>(call.space.queue->stream, compute_room::extents_of(n, K::each), n,
                            compute_room::MaskOfCall(call.context, elements, Layer::threshold(), Layer::scale()), call.space.queue->numbers, from,
                            to);
  }
};

}  // namespace heddle
