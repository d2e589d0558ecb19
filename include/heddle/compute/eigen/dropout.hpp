// SPDX-License-Identifier: MIT
// Room: compute. Dropout: a mask that forward and backward draw alike.
// Sees: graph/layers/dropout, seams/concepts, core/random, compute/eigen.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: Kernel<Dropout, EigenCompute>, each_mask.
#pragma once

#include <concepts>
#include <cstdint>

#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/core/random.hpp"
#include "heddle/graph/layers/dropout.hpp"

namespace heddle::compute_room {

/// Calls visit(i, whether it is kept) for each of `elements` in `rows` rows.
template <class Visit>
void each_mask(const CallContext& context, std::int64_t rows, std::int64_t elements, std::uint64_t threshold, const Visit& visit) {
  const std::int64_t length = elements / context.runs;
  std::int64_t first = 0;
  for (std::int64_t row = 0; row < rows; ++row)
    for (std::int64_t run = 0; run < context.runs; ++run, first += length)
      each_mask_bits(context.seed, context.stream(), context.first_of_run(row, run, elements), length,
                     [&](std::int64_t i, std::uint32_t bits) { visit(first + i, bits >= threshold); });
}

/// target = source / (1 - p) where the mask keeps it, else 0; of an evaluation the source. Both may be one.
inline void drop(const CallContext& context, std::int64_t rows, std::int64_t elements, std::uint64_t threshold, float scale, const float* source,
                 float* target) {
  if (!context.trains || threshold == 0) {
    if (target != source) EigenCompute::copy(target, source, rows * elements);
    return;
  }
  each_mask(context, rows, elements, threshold, [&](std::int64_t i, bool kept) { target[i] = kept ? source[i] * scale : 0.0F; });
}

}  // namespace heddle::compute_room

namespace heddle {

/// Dropout on EigenCompute or what derives from it.
///
/// Errors  none; rows may be 0, the target may be the source
/// Tested  compute/eigen/dropout_test
template <auto Numerator, auto Denominator, std::derived_from<compute_room::EigenCompute> C>
struct Kernel<graph_room::Dropout<Numerator, Denominator>, C> {
  using Layer = graph_room::Dropout<Numerator, Denominator>;
  static void forward(const seams_room::ForwardCall& call) {
    compute_room::drop(call.context, call.rows, call.leaf->in.elements(), Layer::threshold(), Layer::scale(), call.input, call.output);
  }
  static void backward(const seams_room::BackwardCall& call) {
    if (call.input_gradient == nullptr) return;
    compute_room::drop(call.context, call.rows, call.leaf->in.elements(), Layer::threshold(), Layer::scale(), call.output_gradient,
                       call.input_gradient);
  }
};

}  // namespace heddle
