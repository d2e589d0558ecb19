// SPDX-License-Identifier: MIT
// Room: compute. A layer that has no field kernel of its own, as any function of a row and of its parameters.
// Sees: graph/leaf, seams/concepts, compute/field.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: FieldKernel<L>.
#pragma once

#include <cstdint>

#include "heddle/compute/field/field.hpp"
#include "heddle/graph/leaf.hpp"

namespace heddle::compute_room {

/// Each output of a row is a function of the whole row and of all parameters. The gradient of an input, and of a parameter, is a sum of the output's
/// gradients times functions of what the backward may read; that of a parameter is summed over the rows. So any layer without a line of its own can
/// stand in a proof, as long as no rank runs a part of it: a law by which parts combine is not known. Then specialise heddle::FieldKernel. Token ids
/// and bytes are constants of these functions.
///
/// Shape   any
/// Errors  R32 from prove, if a plan splits such a layer
/// Tested  compute/field/any_layer_test
template <class L> struct FieldAnyLayer {
  static constexpr bool of_heddle = true;
  static constexpr bool backward_in_parts = true;
  static constexpr bool whole_only = true;

  static void forward(const ForwardCall& call) {
    const std::int64_t in = call.leaf->in.elements();
    const std::int64_t out = call.leaf->out.elements();
    const std::uint64_t parameters = digest_of(*call.leaf, call.parameters);
    for (std::int64_t r = 0; r < call.rows; ++r) {
      const std::uint64_t own = call.leaf->in.type != ElementType::float32 ? 0 : Field::digest(call.input + r * in, in);
      const std::uint64_t row = with_second(*call.leaf, own, call.second, r);
      const std::uint64_t ids = digest_of(call, r);
      for (std::int64_t o = 0; o < out; ++o) call.output[r * out + o] = Field::write(any("forward", {row, parameters}, {number(o) + ids}));
      const std::int64_t left = call.statistics == nullptr ? 0 : call.leaf->statistics_elements();
      for (std::int64_t s = 0; s < left; ++s) call.statistics[r * left + s] = Field::write(any("statistics", {row, parameters}, {number(s) + ids}));
    }
  }
  static void backward(const BackwardCall& call) {
    const Leaf& leaf = *call.leaf;
    if (call.parameter_gradients != nullptr && !call.add)
      for (int k = 0; k < leaf.parameter_count; ++k) FieldCompute::zero(call.parameter_gradients[k], leaf.parameters[k].shape.elements());
    const std::uint64_t parameters = call.input_gradient != nullptr || leaf.weights_read ? digest_of(leaf, call.parameters) : 0;
    for (std::int64_t r = 0; r < call.rows; ++r) {
      const std::uint64_t row = saved_row(call, r);
      const std::uint64_t ids = digest_of(call, r);
      const float* const gradient = call.output_gradient + r * leaf.out.elements();
      if (call.input_gradient != nullptr)
        for (std::int64_t i = 0, all = leaf.operand(call.operand).elements(); i < all; ++i)
          call.input_gradient[r * all + i] =
              pulled_back(leaf, gradient, leaf.input_part_reads_saved ? row : 0, parameters, {number(i + call.operand * leaf.in.elements())});
      for (int k = 0; k < leaf.parameter_count && call.parameter_gradients != nullptr; ++k)
        for (std::int64_t i = 0; i < leaf.parameters[k].shape.elements(); ++i) {
          float& sum = call.parameter_gradients[k][i];
          sum = FieldArithmetic::plus(sum, pulled_back(leaf, gradient, row, leaf.weights_read ? parameters : 0, {number(k) + ids, number(i)}));
        }
    }
  }

 private:
  [[nodiscard]] static std::uint64_t number(std::int64_t n) { return static_cast<std::uint64_t>(n); }
  [[nodiscard]] static std::uint64_t any(std::string_view role, std::initializer_list<std::uint64_t> elements,
                                         std::initializer_list<std::uint64_t> constants) {
    return Field::hash(symbol_of<L>(role), elements, constants);
  }
  /// Of the ids or bytes of one row; 0 of a leaf that takes floats, or where they are not saved.
  template <class Call> [[nodiscard]] static std::uint64_t digest_of(const Call& call, std::int64_t row) {
    const std::int64_t each = call.leaf->in.elements();
    std::uint64_t all = 0;
    for (std::int64_t i = 0; i < each && call.ids != nullptr; ++i)
      all = all * 0x100000001b3ULL + static_cast<std::uint32_t>(call.ids[row * each + i]) + 1;
    for (std::int64_t i = 0; i < each && call.bytes != nullptr; ++i) all = all * 0x100000001b3ULL + call.bytes[row * each + i] + 1;
    return all;
  }
  [[nodiscard]] static std::uint64_t digest_of(const Leaf& leaf, const float* const* parameters) {
    std::uint64_t all = 0;
    for (int k = 0; k < leaf.parameter_count; ++k) {
      const std::uint64_t one = Field::digest(parameters[k], leaf.parameters[k].shape.elements());
      all = Field::in_degrees() ? higher_degrees(all, one) : all * 0x9e3779b97f4a7c15ULL + one;
    }
    return all;
  }
  /// Of a row of both values, where there are two.
  [[nodiscard]] static std::uint64_t with_second(const Leaf& leaf, std::uint64_t row, const float* second, std::int64_t r) {
    if (second == nullptr) return row;
    const std::uint64_t other = Field::digest(second + r * leaf.other.elements(), leaf.other.elements());
    return Field::in_degrees() ? higher_degrees(row, other) : row * 0x9e3779b97f4a7c15ULL + other;
  }
  [[nodiscard]] static std::uint64_t saved_row(const BackwardCall& call, std::int64_t r) {
    const Saves saves = call.leaf->saves;
    const std::int64_t in = call.leaf->in.elements();
    const std::int64_t out = call.leaf->out.elements();
    const bool reads = call.parameter_gradients != nullptr || call.leaf->input_part_reads_saved;
    std::uint64_t row = 0;
    if (reads && call.input != nullptr && (saves == Saves::input || saves == Saves::both))
      row = with_second(*call.leaf, Field::digest(call.input + r * in, in), call.second, r);
    if (reads && (saves == Saves::output || saves == Saves::both)) {
      const std::uint64_t made = Field::digest(call.output + r * out, out);
      row = Field::in_degrees() ? higher_degrees(row, made) : row * 0x9e3779b97f4a7c15ULL + made;
    }
    if (const std::int64_t left = call.leaf->statistics_elements(); reads && left > 0) {
      const std::uint64_t found = Field::digest(call.statistics + r * left, left);
      row = Field::in_degrees() ? higher_degrees(row, found) : row * 0x9e3779b97f4a7c15ULL + found;
    }
    return row;
  }
  /// The sum over outputs o of dy_o times a function of o, of `which` element, and of what may be read.
  [[nodiscard]] static float pulled_back(const Leaf& leaf, const float* gradient, std::uint64_t row, std::uint64_t parameters,
                                         std::initializer_list<std::uint64_t> which) {
    FieldSum sum;
    for (std::int64_t o = 0; o < leaf.out.elements(); ++o) {
      std::uint64_t place = number(o);
      for (const std::uint64_t w : which) place = place * 0x100000001b3ULL + w + 1;
      sum.add(Field::read(gradient[o]), any(which.size() == 1 ? "input" : "parameter", {row, parameters}, {place}));
    }
    return sum.element();
  }
};

}  // namespace heddle::compute_room

namespace heddle {

/// The kernel of a layer that names none: the layer stands for any function at all.
template <class L> struct FieldKernel : compute_room::FieldAnyLayer<L> {};

}  // namespace heddle
