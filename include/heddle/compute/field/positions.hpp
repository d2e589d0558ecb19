// SPDX-License-Identifier: MIT
// Room: compute. LearnedPositions and Rotary in the field: sums and turns as they are.
// Sees: graph/layers/positions, seams/concepts, compute/field.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: FieldKernel<LearnedPositions>, FieldKernel<Rotary>.
#pragma once

#include <cmath>
#include <cstdint>

#include "heddle/compute/field/field.hpp"
#include "heddle/graph/layers/positions.hpp"

namespace heddle::compute_room {

/// y = x + row of its position.
///
/// Tested  compute/field/positions_test
struct FieldLearnedPositions {
  static constexpr bool of_heddle = true;
  static constexpr bool backward_in_parts = true;

  static void forward(const ForwardCall& call) {
    const std::int64_t n = of_sequence(*call.leaf);
    for (std::int64_t i = 0; i < call.rows * call.leaf->in.elements(); ++i)
      call.output[i] = FieldArithmetic::plus(call.input[i], call.parameters[0][i % n]);
  }
  static void backward(const BackwardCall& call) {
    const std::int64_t n = of_sequence(*call.leaf), all = call.rows * call.leaf->in.elements();
    for (std::int64_t i = 0; i < all && call.input_gradient != nullptr; ++i) call.input_gradient[i] = call.output_gradient[i];
    if (call.parameter_gradients == nullptr) return;
    float* const sums = call.parameter_gradients[0];
    if (!call.add) FieldCompute::zero(sums, call.leaf->parameters[0].shape.elements());
    for (std::int64_t i = 0; i < all; ++i) sums[i % n] = FieldArithmetic::plus(sums[i % n], call.output_gradient[i]);
  }

 private:
  [[nodiscard]] static std::int64_t of_sequence(const Leaf& leaf) { return graph_room::positions_of(leaf.in.shape) * leaf.in.shape.last(); }
};

/// A pair (x, y) of position t becomes (c x - s y, c y + s x) with the numbers that the floats cos and sin of its angle stand for; its gradient is
/// turned back.
///
/// Law     heads are turned alike, so a rank may have some of them
/// Tested  compute/field/positions_test
template <class L> struct FieldRotary {
  static constexpr bool of_heddle = true;

  static void forward(const ForwardCall& call) { turn(*call.leaf, call.rows, call.input, call.output, true); }
  static void backward(const BackwardCall& call) {
    if (call.input_gradient != nullptr) turn(*call.leaf, call.rows, call.output_gradient, call.input_gradient, false);
  }

 private:
  static void turn(const Leaf& leaf, std::int64_t rows, const float* from, float* to, bool ahead) {
    constexpr std::int64_t pairs = L::features / 2;
    const std::int64_t width = leaf.in.shape.last(), positions = graph_room::positions_of(leaf.in.shape);
    const std::int64_t turned = width / (L::sharing + 2) * (L::sharing + 1);
    for (std::int64_t v = 0; v < rows * leaf.in.elements() / width; ++v)
      for (std::int64_t i = 0; i < width; ++i) {
        const std::int64_t at = v * width + i, pair = i % pairs;
        if (i >= turned) {
          to[at] = from[at];
          continue;
        }
        const bool first = i % L::features < pairs;
        const std::uint64_t own = Field::read(from[at]), other = Field::read(from[first ? at + pairs : at - pairs]);
        const double angle = static_cast<double>(v % positions) *
                             std::pow(static_cast<double>(L::base), -2 * static_cast<double>(pair) / static_cast<double>(L::features));
        const auto sine = static_cast<float>(first == ahead ? -std::sin(angle) : std::sin(angle));
        to[at] =
            Field::write(Field::plus(Field::times(Field::image(static_cast<float>(std::cos(angle))), own), Field::times(Field::image(sine), other)));
      }
  }
};

}  // namespace heddle::compute_room

namespace heddle {

template <std::int64_t Length, std::int64_t Features>
struct FieldKernel<graph_room::LearnedPositions<Length, Features>> : compute_room::FieldLearnedPositions {};
template <std::int64_t Features, class... Options>
struct FieldKernel<graph_room::Rotary<Features, Options...>> : compute_room::FieldRotary<graph_room::Rotary<Features, Options...>> {};

}  // namespace heddle
