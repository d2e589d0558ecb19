// SPDX-License-Identifier: MIT
// Room: compute. Pooling in the field: a mean as it is, the largest as any function of its window.
// Sees: graph/layers/pool, seams/concepts, compute/field.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: FieldKernel<MaxPool2d>, FieldKernel<AvgPool2d>, FieldKernel<AdaptiveAvgPool2d>.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/compute/field/field.hpp"
#include "heddle/graph/layers/pool.hpp"

namespace heddle::compute_room {

/// The pixels of an image that lie in one window: their places, row by row. The first of 2 x 2 pixels of an image 5 wide are 0, 1, 5 and 6.
template <class Windows> class PixelsOfWindows {
 public:
  PixelsOfWindows(const Leaf& leaf, const Windows& windows) : leaf_(&leaf), windows_(&windows) {}
  template <class Visit> void each(std::int64_t samples, const Visit& visit) {
    const Shape& in = leaf_->in.shape;
    const Shape& out = leaf_->out.shape;
    for (std::int64_t i = 0; i < samples * leaf_->out.elements(); ++i) {
      const std::int64_t image = i / (out.sizes[1] * out.sizes[2]) * in.sizes[1] * in.sizes[2];
      const auto rows = windows_->range(0, i / out.sizes[2] % out.sizes[1], in.sizes[1]);
      const auto columns = windows_->range(1, i % out.sizes[2], in.sizes[2]);
      places_.clear();
      for (std::int64_t y = rows.begin; y < rows.end; ++y)
        for (std::int64_t x = columns.begin; x < columns.end; ++x) places_.push_back(image + y * in.sizes[2] + x);
      visit(i, places_, windows_->share(rows, columns));
    }
  }

 private:
  const Leaf* leaf_;
  const Windows* windows_;
  std::vector<std::int64_t> places_;
};

/// y = sum of the pixels of a window times what each counts.
///
/// Law     each channel has windows of its own, so a rank may have some of them
/// Tested  compute/field/pool_test
template <class L> struct FieldAveragePool {
  static constexpr bool of_heddle = true;

  static void forward(const ForwardCall& call) {
    PixelsOfWindows{*call.leaf, L::windows}.each(call.rows, [&](std::int64_t output, const std::vector<std::int64_t>& pixels, float share) {
      FieldSum sum;
      for (const std::int64_t p : pixels) sum.add(Field::read(call.input[p]), Field::image(share));
      call.output[output] = sum.element();
    });
  }
  static void backward(const BackwardCall& call) {
    if (call.input_gradient == nullptr) return;
    FieldCompute::zero(call.input_gradient, call.rows * call.leaf->in.elements());
    PixelsOfWindows{*call.leaf, L::windows}.each(call.rows, [&](std::int64_t output, const std::vector<std::int64_t>& pixels, float share) {
      const float gradient = Field::write(Field::times(Field::read(call.output_gradient[output]), Field::image(share)));
      for (const std::int64_t p : pixels) call.input_gradient[p] = FieldArithmetic::plus(call.input_gradient[p], gradient);
    });
  }
};

/// y = any function of the pixels of a window; the gradient of each of them is that of y times any function of the pixels and of which of them it is.
///
/// Law     as FieldAveragePool
/// Tested  compute/field/pool_test
template <class L> struct FieldMaxPool {
  static constexpr bool of_heddle = true;

  static void forward(const ForwardCall& call) {
    PixelsOfWindows{*call.leaf, L::windows}.each(call.rows, [&](std::int64_t output, const std::vector<std::int64_t>& pixels, float) {
      call.output[output] = Field::write(Field::hash(symbol_of<L>("forward"), {digest(call.input, pixels)}));
    });
  }
  static void backward(const BackwardCall& call) {
    if (call.input_gradient == nullptr) return;
    FieldCompute::zero(call.input_gradient, call.rows * call.leaf->in.elements());
    PixelsOfWindows{*call.leaf, L::windows}.each(call.rows, [&](std::int64_t output, const std::vector<std::int64_t>& pixels, float) {
      const std::uint64_t all = digest(call.input, pixels);
      for (std::size_t k = 0; k < pixels.size(); ++k) {
        const std::uint64_t slope = Field::hash(symbol_of<L>("backward"), {all}, {static_cast<std::uint64_t>(k)});
        float& to = call.input_gradient[pixels[k]];
        to = FieldArithmetic::plus(to, Field::write(Field::times(Field::read(call.output_gradient[output]), slope)));
      }
    });
  }

 private:
  static std::uint64_t digest(const float* input, const std::vector<std::int64_t>& pixels) {
    std::vector<float> values;
    for (const std::int64_t p : pixels) values.push_back(input[p]);
    return Field::digest(values.data(), std::ssize(values));
  }
};

}  // namespace heddle::compute_room

namespace heddle {

template <class... Options> struct FieldKernel<graph_room::MaxPool2d<Options...>> : compute_room::FieldMaxPool<graph_room::MaxPool2d<Options...>> {};
template <class... Options>
struct FieldKernel<graph_room::AvgPool2d<Options...>> : compute_room::FieldAveragePool<graph_room::AvgPool2d<Options...>> {};
template <auto... Sizes>
struct FieldKernel<graph_room::AdaptiveAvgPool2d<Sizes...>> : compute_room::FieldAveragePool<graph_room::AdaptiveAvgPool2d<Sizes...>> {};

}  // namespace heddle
