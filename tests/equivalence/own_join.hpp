// SPDX-License-Identifier: MIT
// A join of a user: the product of two values, element by element, whose backward reads both again.
#pragma once

#include <cstdint>
#include <string_view>

#include "heddle/backend/cpu_threads.hpp"

namespace own {

using namespace heddle;
using namespace heddle::extending;

struct Multiply {
  static constexpr std::string_view done() { return "multiplied"; }
  static constexpr Spec wanted(const Spec& first, const Spec&) { return first; }
  static constexpr Leaf describe(const Spec& first, const Spec& second) {
    Leaf leaf;
    leaf.kind << "Multiply";
    leaf.spelled << "Multiply";
    leaf.in = leaf.out = first;
    leaf.other = second;
    leaf.operands = 2;
    leaf.saves = Saves::input;  // both values
    leaf.forward_flops = first.elements();
    leaf.backward_flops = 2 * first.elements();
    for (int d = 0; d < first.shape.dimensions; ++d) leaf.splits({laid::shard(d), laid::shard(d), laid::shard(d), laid::shard(d), {}, {}});
    return leaf;
  }
};

}  // namespace own

template <class Compute> struct heddle::Kernel<own::Multiply, Compute> {
  static void forward(const extending::ForwardCall& call) {
    for (std::int64_t i = 0; i < call.rows * call.leaf->in.elements(); ++i) call.output[i] = call.input[i] * call.second[i];
  }
  static void backward(const extending::BackwardCall& call) {
    const float* const factor = call.operand == 0 ? call.second : call.input;
    for (std::int64_t i = 0; i < call.rows * call.leaf->in.elements() && call.input_gradient != nullptr; ++i)
      call.input_gradient[i] = call.output_gradient[i] * factor[i];
  }
};
