// SPDX-License-Identifier: MIT
// Room: compute. Conv2d in the field: the same products and sums, modulo a prime.
// Sees: graph/layers/convolution, seams/concepts, compute/field.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: FieldKernel<Conv2d>.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/compute/field/field.hpp"
#include "heddle/graph/layers/convolution.hpp"

namespace heddle::compute_room {

/// Which output, pixel and weight meet in the products of one sample.
/// A window of 3 x 3 pixels in the corner of a padded image has 4 products for each channel, with weights 4, 5, 7 and 8.
class FieldTaps {
 public:
  FieldTaps(const Leaf& leaf, const graph_room::SlidingWindow& window) : leaf_(&leaf), window_(&window) {}
  /// visit(output, pixel, weight) for each product, output by output.
  template <class Visit> void each(const Visit& visit) const {
    const Shape &in = leaf_->in.shape, &out = leaf_->out.shape, &weight = leaf_->parameters[0].shape;
    const std::int64_t inputs = weight.sizes[1], outputs = out.sizes[0] / (in.sizes[0] / inputs), of_channel = inputs * window_->pixels();
    std::int64_t output = 0;
    for (std::int64_t channel = 0; channel < out.sizes[0]; ++channel)
      for (std::int64_t row = 0; row < out.sizes[1]; ++row)
        for (std::int64_t column = 0; column < out.sizes[2]; ++column, ++output) {
          std::int64_t k = channel * of_channel;
          for (std::int64_t c = channel / outputs * inputs, last = c + inputs; c < last; ++c)
            for (std::int64_t i = 0; i < window_->size[0]; ++i) {
              const std::int64_t y = pixel(0, row, i), line = (c * in.sizes[1] + y) * in.sizes[2];
              for (std::int64_t j = 0; j < window_->size[1]; ++j, ++k)
                if (const std::int64_t x = pixel(1, column, j); y >= 0 && y < in.sizes[1] && x >= 0 && x < in.sizes[2]) visit(output, line + x, k);
            }
        }
  }

 private:
  [[nodiscard]] std::int64_t pixel(int dimension, std::int64_t place, std::int64_t of_window) const {
    return place * window_->stride[dimension] - window_->padding[dimension] + of_window * window_->dilation[dimension];
  }
  const Leaf* leaf_;
  const graph_room::SlidingWindow* window_;
};

/// y = sum of weights times pixels, plus the bias; gradients are those of a linear function.
///
/// Tested  compute/field/convolution_test
template <class L> struct FieldConvolution {
  static constexpr bool of_heddle = true;
  static constexpr bool backward_in_parts = true;

  static void forward(const ForwardCall& call) {
    const Leaf& leaf = *call.leaf;
    const std::int64_t places = leaf.out.elements() / leaf.out.shape.sizes[0];
    const FieldTaps taps{leaf, L::windows};
    for (std::int64_t s = 0; s < call.rows; ++s) {
      std::vector<FieldSum> sums;
      for (std::int64_t i = 0; i < leaf.out.elements(); ++i)
        sums.emplace_back(leaf.parameter_count == 2 ? Field::read(call.parameters[1][i / places]) : 0);
      const float* const input = call.input + s * leaf.in.elements();
      taps.each([&](std::int64_t output, std::int64_t pixel, std::int64_t weight) {
        sums[static_cast<std::size_t>(output)].add(Field::read(input[pixel]), Field::read(call.parameters[0][weight]));
      });
      for (std::int64_t i = 0; i < leaf.out.elements(); ++i) call.output[s * leaf.out.elements() + i] = sums[static_cast<std::size_t>(i)].element();
    }
  }
  static void backward(const BackwardCall& call) {
    const Leaf& leaf = *call.leaf;
    const std::int64_t in = leaf.in.elements(), out = leaf.out.elements();
    const FieldTaps taps{leaf, L::windows};
    for (int p = 0; p < leaf.parameter_count && call.parameter_gradients != nullptr && !call.add; ++p)
      FieldCompute::zero(call.parameter_gradients[p], leaf.parameters[p].shape.elements());
    if (call.input_gradient != nullptr) FieldCompute::zero(call.input_gradient, call.rows * in);
    for (std::int64_t s = 0; s < call.rows; ++s) {
      const float* const gradient = call.output_gradient + s * out;
      if (call.input_gradient != nullptr)
        taps.each([&](std::int64_t output, std::int64_t pixel, std::int64_t weight) {
          add(call.input_gradient[s * in + pixel], gradient[output], call.parameters[0][weight]);
        });
      if (call.parameter_gradients == nullptr) continue;
      taps.each([&](std::int64_t output, std::int64_t pixel, std::int64_t weight) {
        add(call.parameter_gradients[0][weight], gradient[output], call.input[s * in + pixel]);
      });
      for (std::int64_t i = 0; i < out && leaf.parameter_count == 2; ++i) {
        float& to = call.parameter_gradients[1][i / (out / leaf.out.shape.sizes[0])];
        to = FieldArithmetic::plus(to, gradient[i]);
      }
    }
  }

 private:
  static void add(float& to, float a, float b) { to = FieldArithmetic::plus(to, Field::write(Field::times(Field::read(a), Field::read(b)))); }
};

}  // namespace heddle::compute_room

namespace heddle {

template <std::int64_t In, std::int64_t Out, class... Options>
struct FieldKernel<graph_room::Conv2d<In, Out, Options...>> : compute_room::FieldConvolution<graph_room::Conv2d<In, Out, Options...>> {};

}  // namespace heddle
