// SPDX-License-Identifier: MIT
// Room: compute. Pooling on the CPU: each window by itself, in the order of its pixels.
// Sees: graph/layers/pool, seams/concepts, compute/eigen.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: Kernel<MaxPool2d, EigenCompute>, the same of AvgPool2d and AdaptiveAvgPool2d.
#pragma once

#include <concepts>
#include <cstdint>

#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/core/finite.hpp"
#include "heddle/graph/layers/pool.hpp"

namespace heddle::compute_room {

/// visit(first pixel of the image, number of the output, rows of pixels, columns of pixels) for each window of each channel of all samples.
template <class Windows, class Visit> void each_window(const Leaf& leaf, std::int64_t samples, const Windows& windows, const Visit& visit) {
  const std::int64_t height = leaf.in.shape.sizes[1], width = leaf.in.shape.sizes[2];
  std::int64_t output = 0;
  for (std::int64_t image = 0; image < samples * leaf.in.shape.sizes[0]; ++image)
    for (std::int64_t y = 0; y < leaf.out.shape.sizes[1]; ++y) {
      const auto rows = windows.range(0, y, height);
      for (std::int64_t x = 0; x < leaf.out.shape.sizes[2]; ++x) visit(image * height * width, output++, rows, windows.range(1, x, width));
    }
}

/// visit(place, pixel) for each pixel of a window of an image, row by row.
template <class Visit>
void each_pixel(const float* image, std::int64_t width, graph_room::SlidingWindow::Range rows, graph_room::SlidingWindow::Range columns,
                const Visit& visit) {
  for (std::int64_t y = rows.begin; y < rows.end; ++y)
    for (std::int64_t x = columns.begin; x < columns.end; ++x) visit(y * width + x, image[y * width + x]);
}
/// The largest pixel of a window, or NaN if it has one. No processor can guess which pixel is larger, so there is no branch on it.
inline float largest_pixel(const float* image, std::int64_t width, graph_room::SlidingWindow::Range rows, graph_room::SlidingWindow::Range columns) {
  float largest = image[rows.begin * width + columns.begin];
  bool any_nan = false;
  each_pixel(image, width, rows, columns, [&](std::int64_t, float pixel) {
    largest = pixel > largest ? pixel : largest;
    any_nan |= is_nan(pixel);
  });
  if (!any_nan) return largest;
  float nan = 0;
  each_pixel(image, width, rows, columns, [&](std::int64_t, float pixel) { nan = is_nan(pixel) ? pixel : nan; });
  return nan;
}
/// The place of that pixel: the last NaN, else the first of those that are equal.
inline std::int64_t place_of_largest(const float* image, std::int64_t width, graph_room::SlidingWindow::Range rows,
                                     graph_room::SlidingWindow::Range columns) {
  const float largest = largest_pixel(image, width, rows, columns);
  std::int64_t place = rows.begin * width + columns.begin;
  if (is_nan(largest)) {
    each_pixel(image, width, rows, columns, [&](std::int64_t at, float pixel) { place = is_nan(pixel) ? at : place; });
    return place;
  }
  for (std::int64_t y = rows.end; y-- > rows.begin;)
    for (std::int64_t x = columns.end; x-- > columns.begin;) place = image[y * width + x] == largest ? y * width + x : place;
  return place;
}

/// Windows that lie side by side in an image without padding, whose sizes the compiler knows: of 2 x 2 pixels it makes four loads and no loop.
///
/// Law     largest pixels and places are those of largest_pixel and place_of_largest
/// Tested  compute/eigen/pool_test
template <graph_room::SlidingWindow Window> struct WindowsSideBySide {
  static constexpr bool fits = Window.padding[0] == 0 && Window.padding[1] == 0 && Window.dilation[0] == 1 && Window.dilation[1] == 1 &&
                               Window.stride[0] >= Window.size[0] && Window.stride[1] >= Window.size[1];
  static constexpr graph_room::SlidingWindow::Range rows{0, Window.size[0]}, columns{0, Window.size[1]};
  /// As that of the window, none of whose windows leaves the image.
  [[nodiscard]] static constexpr graph_room::SlidingWindow::Range range(int dimension, std::int64_t place, std::int64_t /*pixels*/) {
    return {place * Window.stride[dimension], place * Window.stride[dimension] + Window.size[dimension]};
  }
  /// Of the pixels 1, 7, 7 and 0 of an image that is 5 wide the largest is 7, at place 1.
  struct Found {
    float largest;
    std::int64_t place;
  };
  /// Of the window whose first pixel is there; no branch on which pixel is larger.
  [[nodiscard]] static Found find(const float* first, std::int64_t width) {
    Found found{*first, 0};
    bool any_nan = false;
    for (std::int64_t y = 0; y < Window.size[0]; ++y)
      for (std::int64_t x = 0; x < Window.size[1]; ++x) {
        const float pixel = first[y * width + x];
        found.largest = pixel > found.largest ? pixel : found.largest;
        any_nan |= is_nan(pixel);
      }
    if (any_nan) return {largest_pixel(first, width, rows, columns), place_of_largest(first, width, rows, columns)};
    for (std::int64_t y = Window.size[0]; y-- > 0;)
      for (std::int64_t x = Window.size[1]; x-- > 0;) {
        const std::int64_t here = -static_cast<std::int64_t>(first[y * width + x] == found.largest);  // all bits, or none
        found.place = (here & (y * width + x)) | (~here & found.place);
      }
    return found;
  }
  static void forward(const ForwardCall& call) {
    const std::int64_t width = call.leaf->in.shape.sizes[2];
    each_window(*call.leaf, call.rows, WindowsSideBySide{},
                [from = call.input, to = call.output, width](std::int64_t image, std::int64_t output, auto down, auto right) {
                  to[output] = find(from + image + down.begin * width + right.begin, width).largest;
                });
  }
  static void backward(const BackwardCall& call) {
    const std::int64_t width = call.leaf->in.shape.sizes[2];
    EigenCompute::zero(call.input_gradient, call.rows * call.leaf->in.elements());
    each_window(*call.leaf, call.rows, WindowsSideBySide{},
                [from = call.input, given = call.output_gradient, to = call.input_gradient, width](std::int64_t image, std::int64_t output, auto down,
                                                                                                   auto right) {
                  const std::int64_t first = image + down.begin * width + right.begin;
                  to[first + find(from + first, width).place] = given[output];
                });
  }
};

inline void max_pool_forward(const ForwardCall& call, const graph_room::SlidingWindow& window) {
  const std::int64_t width = call.leaf->in.shape.sizes[2];
  each_window(*call.leaf, call.rows, window, [&](std::int64_t image, std::int64_t output, auto rows, auto columns) {
    call.output[output] = largest_pixel(call.input + image, width, rows, columns);
  });
}
inline void max_pool_backward(const BackwardCall& call, const graph_room::SlidingWindow& window) {
  const std::int64_t width = call.leaf->in.shape.sizes[2];
  EigenCompute::zero(call.input_gradient, call.rows * call.leaf->in.elements());
  each_window(*call.leaf, call.rows, window, [&](std::int64_t image, std::int64_t output, auto rows, auto columns) {
    call.input_gradient[image + place_of_largest(call.input + image, width, rows, columns)] += call.output_gradient[output];
  });
}

template <class Windows> void average_pool_forward(const ForwardCall& call, const Windows& windows) {
  const std::int64_t width = call.leaf->in.shape.sizes[2];
  each_window(*call.leaf, call.rows, windows, [&](std::int64_t image, std::int64_t output, auto rows, auto columns) {
    float sum = 0;
    for (std::int64_t y = rows.begin; y < rows.end; ++y)
      for (std::int64_t x = columns.begin; x < columns.end; ++x) sum += call.input[image + y * width + x];
    call.output[output] = sum * windows.share(rows, columns);
  });
}
template <class Windows> void average_pool_backward(const BackwardCall& call, const Windows& windows) {
  const std::int64_t width = call.leaf->in.shape.sizes[2];
  EigenCompute::zero(call.input_gradient, call.rows * call.leaf->in.elements());
  each_window(*call.leaf, call.rows, windows, [&](std::int64_t image, std::int64_t output, auto rows, auto columns) {
    const float gradient = call.output_gradient[output] * windows.share(rows, columns);
    for (std::int64_t y = rows.begin; y < rows.end; ++y)
      for (std::int64_t x = columns.begin; x < columns.end; ++x) call.input_gradient[image + y * width + x] += gradient;
  });
}

/// AvgPool2d and AdaptiveAvgPool2d on EigenCompute or what derives from it.
///
/// Errors  none; rows may be 0
/// Tested  compute/eigen/pool_test
template <class L> struct AveragePoolKernel {
  static void forward(const ForwardCall& call) { average_pool_forward(call, L::windows); }
  static void backward(const BackwardCall& call) {
    if (call.input_gradient != nullptr) average_pool_backward(call, L::windows);
  }
};

}  // namespace heddle::compute_room

namespace heddle {

/// MaxPool2d on EigenCompute or what derives from it.
///
/// Errors  none; rows may be 0
/// Tested  compute/eigen/pool_test
template <class... Options, std::derived_from<compute_room::EigenCompute> C> struct Kernel<graph_room::MaxPool2d<Options...>, C> {
  static constexpr graph_room::SlidingWindow window = graph_room::MaxPool2d<Options...>::windows;
  using SideBySide = compute_room::WindowsSideBySide<window>;
  static void forward(const seams_room::ForwardCall& call) {
    if constexpr (SideBySide::fits)
      SideBySide::forward(call);
    else
      compute_room::max_pool_forward(call, window);
  }
  static void backward(const seams_room::BackwardCall& call) {
    if (call.input_gradient == nullptr) return;
    if constexpr (SideBySide::fits)
      SideBySide::backward(call);
    else
      compute_room::max_pool_backward(call, window);
  }
};

template <class... Options, std::derived_from<compute_room::EigenCompute> C>
struct Kernel<graph_room::AvgPool2d<Options...>, C> : compute_room::AveragePoolKernel<graph_room::AvgPool2d<Options...>> {};
template <auto... Sizes, std::derived_from<compute_room::EigenCompute> C>
struct Kernel<graph_room::AdaptiveAvgPool2d<Sizes...>, C> : compute_room::AveragePoolKernel<graph_room::AdaptiveAvgPool2d<Sizes...>> {};

}  // namespace heddle
