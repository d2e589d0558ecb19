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
  static void forward(const seams_room::ForwardCall& call) { compute_room::max_pool_forward(call, graph_room::MaxPool2d<Options...>::windows); }
  static void backward(const seams_room::BackwardCall& call) {
    if (call.input_gradient != nullptr) compute_room::max_pool_backward(call, graph_room::MaxPool2d<Options...>::windows);
  }
};

template <class... Options, std::derived_from<compute_room::EigenCompute> C>
struct Kernel<graph_room::AvgPool2d<Options...>, C> : compute_room::AveragePoolKernel<graph_room::AvgPool2d<Options...>> {};
template <auto... Sizes, std::derived_from<compute_room::EigenCompute> C>
struct Kernel<graph_room::AdaptiveAvgPool2d<Sizes...>, C> : compute_room::AveragePoolKernel<graph_room::AdaptiveAvgPool2d<Sizes...>> {};

}  // namespace heddle
