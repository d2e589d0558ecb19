// SPDX-License-Identifier: MIT
// Room: compute. Softmax and LogSoftmax in the field: any function of a vector.
// Sees: graph/layers/softmax, seams/concepts, compute/field.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: FieldKernel<Softmax>, FieldKernel<LogSoftmax>.
#pragma once

#include <cstdint>

#include "heddle/compute/field/field.hpp"
#include "heddle/graph/layers/softmax.hpp"

namespace heddle::compute_room {

/// y_j is any function of j and of the vector x; dx_i is the sum over j of dy_j times any function of i, j and of the vector y.
/// Of 3 features a vector has 3 functions forward and 9 backward.
///
/// Law     vectors stand alone, so a rank may have some of them
/// Tested  compute/field/softmax_test
template <class L> struct FieldSoftmax {
  static constexpr bool of_heddle = true;

  static void forward(const ForwardCall& call) {
    const std::int64_t n = call.leaf->in.shape.last();
    for (std::int64_t at = 0, end = call.rows * call.leaf->in.elements(); at < end; at += n) {
      const std::uint64_t vector = Field::digest(call.input + at, n);
      for (std::int64_t j = 0; j < n; ++j)
        call.output[at + j] = Field::write(Field::hash(symbol_of<L>("forward"), {vector}, {static_cast<std::uint64_t>(j)}));
    }
  }
  static void backward(const BackwardCall& call) {
    if (call.input_gradient == nullptr) return;
    const std::int64_t n = call.leaf->in.shape.last();
    for (std::int64_t at = 0, end = call.rows * call.leaf->in.elements(); at < end; at += n) {
      const std::uint64_t vector = Field::digest(call.output + at, n);
      for (std::int64_t i = 0; i < n; ++i) {
        FieldSum sum;
        for (std::int64_t j = 0; j < n; ++j)
          sum.add(Field::read(call.output_gradient[at + j]),
                  Field::hash(symbol_of<L>("backward"), {vector}, {static_cast<std::uint64_t>(i), static_cast<std::uint64_t>(j)}));
        call.input_gradient[at + i] = sum.element();
      }
    }
  }
};

}  // namespace heddle::compute_room

namespace heddle {

template <> struct FieldKernel<graph_room::Softmax> : compute_room::FieldSoftmax<graph_room::Softmax> {};
template <> struct FieldKernel<graph_room::LogSoftmax> : compute_room::FieldSoftmax<graph_room::LogSoftmax> {};

}  // namespace heddle
