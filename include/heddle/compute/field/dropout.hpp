// SPDX-License-Identifier: MIT
// Room: compute. Dropout in the field: the very mask of training, and a product.
// Sees: graph/layers/dropout, seams/concepts, core/random, compute/field.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: FieldKernel<Dropout>.
#pragma once

#include <cstdint>

#include "heddle/compute/field/field.hpp"
#include "heddle/core/random.hpp"
#include "heddle/graph/layers/dropout.hpp"

namespace heddle::compute_room {

/// y = x / (1 - p) or 0, by a mask that is drawn element by element from the context of the call: a plan whose ranks draw another one is another
/// function. In a degree run nothing is dropped.
///
/// Law     an element has one number in the whole batch, so any part of a value may be on another rank
/// Tested  compute/field/dropout_test
template <class L> struct FieldDropout {
  static constexpr bool of_heddle = true;

  static void forward(const ForwardCall& call) { drop(call.context, call.rows, call.leaf->in.elements(), call.input, call.output); }
  static void backward(const BackwardCall& call) {
    if (call.input_gradient != nullptr) drop(call.context, call.rows, call.leaf->in.elements(), call.output_gradient, call.input_gradient);
  }

 private:
  static void drop(const CallContext& context, std::int64_t rows, std::int64_t elements, const float* source, float* target) {
    for (std::int64_t i = 0; i < rows * elements; ++i) {
      const std::uint64_t element = context.number_of(i, elements);
      const bool kept = Field::in_degrees() || mask_bits(context.seed, context.stream(), element) >= L::threshold();
      target[i] = !context.trains ? source[i] : kept ? Field::write(Field::times(Field::read(source[i]), Field::image(L::scale()))) : 0.0F;
    }
  }
};

}  // namespace heddle::compute_room

namespace heddle {

template <auto Numerator, auto Denominator>
struct FieldKernel<graph_room::Dropout<Numerator, Denominator>> : compute_room::FieldDropout<graph_room::Dropout<Numerator, Denominator>> {};

}  // namespace heddle
