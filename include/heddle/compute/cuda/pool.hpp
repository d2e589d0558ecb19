// SPDX-License-Identifier: MIT
// Room: compute. Pooling on a card: a thread, or a warp, has one window in the forward, and a thread one pixel in the backward.
// Sees: graph/layers/pool, seams/concepts, compute/cuda.  Does not see: policies, programs.
// In: ForwardCallIn, BackwardCallIn of CudaMemory.  Out: Kernel<MaxPool2d, CudaCompute>, the same of AvgPool2d and AdaptiveAvgPool2d.
#pragma once

#include <concepts>
#include <cstdint>
#include <type_traits>

#include "heddle/compute/cuda/cuda.hpp"
#include "heddle/compute/cuda/divisor.hpp"
#include "heddle/compute/cuda/values.hpp"
#include "heddle/core/finite.hpp"
#include "heddle/graph/layers/pool.hpp"

namespace heddle::compute_room {

/// begin .. end - 1, of pixels or of places along one dimension. Pixels 2 to 4 are {2, 5}.
struct PoolRange {
  std::int64_t begin, end;
};

/// A SlidingWindow along one dimension, as a card reads it. 3 pixels at every second place of 7 with 1 of padding: place 0 has pixels 0 and 1, pixel
/// 1 lies in places 0 and 1.
struct SlidingLine {
  std::int64_t size, stride, padding, pixels, places;
  Divisor by_stride;
  SlidingLine(const graph_room::SlidingWindow& w, int dimension, std::int64_t of_pixels, std::int64_t of_places)
      : size(w.size[dimension]), stride(w.stride[dimension]), padding(w.padding[dimension]), pixels(of_pixels), places(of_places), by_stride(stride) {
  }
  [[nodiscard]] HEDDLE_HOST_DEVICE PoolRange pixels_of(std::int64_t place) const {
    const std::int64_t first = place * stride - padding, behind = first + size;
    return {first > 0 ? first : 0, behind < pixels ? behind : pixels};
  }
  [[nodiscard]] HEDDLE_HOST_DEVICE PoolRange places_of(std::int64_t pixel) const {
    const std::int64_t at = pixel + padding, behind = by_stride.quotient_of(at) + 1;
    return {at < size ? 0 : by_stride.quotient_of(at - size) + 1, behind < places ? behind : places};
  }
};
/// AdaptiveWindows along one dimension. Of 5 pixels 3 places have pixels 0 to 1, 1 to 3 and 3 to 4, so pixel 1 lies in places 0 and 1.
struct AdaptiveLine {
  Divisor pixels, places;
  AdaptiveLine(const graph_room::AdaptiveWindows&, int, std::int64_t of_pixels, std::int64_t of_places) : pixels(of_pixels), places(of_places) {}
  [[nodiscard]] HEDDLE_HOST_DEVICE PoolRange pixels_of(std::int64_t place) const { return cut(place, pixels, places); }
  [[nodiscard]] HEDDLE_HOST_DEVICE PoolRange places_of(std::int64_t pixel) const { return cut(pixel, places, pixels); }

 private:
  /// What lies across part `i` of `parts` equal ones of `all`: floor(i all / parts) .. ceil((i + 1) all / parts) - 1. Neither pixels nor places are
  /// other than parts of the same line.
  [[nodiscard]] HEDDLE_HOST_DEVICE static PoolRange cut(std::int64_t i, const Divisor& all, const Divisor& parts) {
    return {parts.quotient_of(i * all.divisor()), parts.quotient_of((i + 1) * all.divisor() + parts.divisor() - 1)};
  }
};
template <class Windows>
using LineOf = std::conditional_t<std::is_same_v<std::remove_cv_t<Windows>, graph_room::SlidingWindow>, SlidingLine, AdaptiveLine>;

/// All windows of one call. 8 rows of 16 channels of 28 x 28 pixels with windows of 2 x 2 are 128 planes of 784 pixels and 196 places.
template <class Line> struct PoolWindows {
  Line down, across;
  std::int64_t planes;
  std::int64_t height, width;  // pixels
  std::int64_t places_down, places_across;
  Divisor by_width, by_height, by_places_across, by_places_down;
  float share;  // of a pixel in the mean of a window; 0: 1 / pixels of the window

  template <class Windows>
  PoolWindows(const Leaf& leaf, std::int64_t rows, const Windows& w)
      : down(w, 0, leaf.in.shape.sizes[1], leaf.out.shape.sizes[1]), across(w, 1, leaf.in.shape.sizes[2], leaf.out.shape.sizes[2]),
        planes(rows * leaf.in.shape.sizes[0]), height(leaf.in.shape.sizes[1]), width(leaf.in.shape.sizes[2]), places_down(leaf.out.shape.sizes[1]),
        places_across(leaf.out.shape.sizes[2]), by_width(width), by_height(height), by_places_across(places_across), by_places_down(places_down),
        share(0) {
    if constexpr (std::is_same_v<Line, SlidingLine>) share = w.share({}, {});
  }
  [[nodiscard]] std::int64_t outputs() const { return planes * places_down * places_across; }
  [[nodiscard]] std::int64_t inputs() const { return planes * height * width; }

  /// The window of output i: where its plane begins, and its pixels. Output 197 of those has plane 784, rows {0, 2} and columns {2, 4}.
  struct Window {
    std::int64_t plane;
    PoolRange rows, columns;
  };
  [[nodiscard]] HEDDLE_DEVICE Window window(std::int64_t i) const {
    const std::int64_t line = by_places_across.quotient_of(i), plane = by_places_down.quotient_of(line);
    return {plane * height * width, down.pixels_of(line - plane * places_down), across.pixels_of(i - line * places_across)};
  }
  /// Input i: its pixel, where outputs of its plane begin, and the places of its windows. Input 785 has plane 784, y 0, x 1, outputs 196, and {0, 1}
  /// twice.
  struct Pixel {
    std::int64_t plane, y, x, outputs;
    PoolRange rows, columns;
  };
  [[nodiscard]] HEDDLE_DEVICE Pixel pixel(std::int64_t i) const {
    const std::int64_t line = by_width.quotient_of(i), plane = by_height.quotient_of(line), y = line - plane * height, x = i - line * width;
    return {plane * height * width, y, x, plane * places_down * places_across, down.places_of(y), across.places_of(x)};
  }
  [[nodiscard]] HEDDLE_DEVICE float share_of(const PoolRange& rows, const PoolRange& columns) const {
    return share != 0 ? share : 1.0F / static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
  }
};
using SlidingPool = PoolWindows<SlidingLine>;

/// The largest pixel of each window; the last NaN if it has one.
struct MaxOfWindows {
  static constexpr const char* name = "MaxOfWindows";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B, class Value>
  HEDDLE_DEVICE void operator()(B& b, SlidingPool w, std::int64_t outputs, const Value* from, Value* to) const {
    const std::int64_t i = std::int64_t{b.index()} * b.threads() + b.thread();
    if (i >= outputs) return;
    const auto [plane, rows, columns] = w.window(i);
    float largest = as_float(from[plane + rows.begin * w.width + columns.begin]);
    for (std::int64_t y = rows.begin; y < rows.end; ++y)
      for (std::int64_t x = columns.begin; x < columns.end; ++x) {
        const float pixel = as_float(from[plane + y * w.width + x]);
        if (pixel > largest || is_nan(pixel)) largest = pixel;
      }
    to[i] = as_value<Value>(largest);
  }
};
/// The gradient of each pixel: the sum of those of the windows that it is the largest of, the last NaN, else the first of those that are equal. A
/// thread looks at all pixels of the windows of its pixel, so no thread adds to what another has written.
struct MaxOfWindowsBack {
  static constexpr const char* name = "MaxOfWindowsBack";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B, class Value>
  HEDDLE_DEVICE void operator()(B& b, SlidingPool w, std::int64_t inputs, const Value* from, const Value* given, Value* to) const {
    const std::int64_t i = std::int64_t{b.index()} * b.threads() + b.thread();
    if (i >= inputs) return;
    const auto at = w.pixel(i);
    float sum = 0;
    for (std::int64_t y = at.rows.begin; y < at.rows.end; ++y)
      for (std::int64_t x = at.columns.begin; x < at.columns.end; ++x)
        if (is_taken(w, from + at.plane, at.y, at.x, w.down.pixels_of(y), w.across.pixels_of(x)))
          sum += as_float(given[at.outputs + y * w.places_across + x]);
    to[i] = as_value<Value>(sum);
  }

 private:
  template <class Value>
  [[nodiscard]] HEDDLE_DEVICE static bool is_taken(const SlidingPool& w, const Value* image, std::int64_t own_y, std::int64_t own_x,
                                                   const PoolRange& rows, const PoolRange& columns) {
    const float own = as_float(image[own_y * w.width + own_x]);
    const bool own_nan = is_nan(own);
    for (std::int64_t y = rows.begin; y < rows.end; ++y)
      for (std::int64_t x = columns.begin; x < columns.end; ++x) {
        const float pixel = as_float(image[y * w.width + x]);
        const bool before = y < own_y || (y == own_y && x < own_x), itself = y == own_y && x == own_x;
        const bool beats = is_nan(pixel) ? !own_nan || !before : !own_nan && (before ? pixel >= own : pixel > own);
        if (beats && !itself) return false;
      }
    return true;
  }
};

/// The mean of each window by one thread, in the order of its pixels.
template <class Line> struct MeanOfWindows {
  static constexpr const char* name = "MeanOfWindows";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B, class Value>
  HEDDLE_DEVICE void operator()(B& b, PoolWindows<Line> w, std::int64_t outputs, const Value* from, Value* to) const {
    const std::int64_t i = std::int64_t{b.index()} * b.threads() + b.thread();
    if (i >= outputs) return;
    const auto [plane, rows, columns] = w.window(i);
    float sum = 0;
    for (std::int64_t y = rows.begin; y < rows.end; ++y)
      for (std::int64_t x = columns.begin; x < columns.end; ++x) sum += as_float(from[plane + y * w.width + x]);
    to[i] = as_value<Value>(sum * w.share_of(rows, columns));
  }
};
/// The same by one warp, for large windows: lanes take pixels side by side.
template <class Line> struct MeanOfLargeWindows {
  static constexpr const char* name = "MeanOfLargeWindows";
  static constexpr bool cooperative = true;
  template <BlockOfThreads B, class Value>
  HEDDLE_DEVICE void operator()(B& b, PoolWindows<Line> w, std::int64_t outputs, const Value* from, Value* to) const {
    const std::int64_t i = std::int64_t{b.index()} * (b.threads() / warp_threads) + b.thread() / warp_threads;
    if (i >= outputs) return;  // all lanes of a warp or none
    const auto [plane, rows, columns] = w.window(i);
    const auto across = static_cast<std::uint32_t>(columns.end - columns.begin), pixels = static_cast<std::uint32_t>(rows.end - rows.begin) * across;
    float sum = 0;
    for (auto p = static_cast<std::uint32_t>(b.thread() % warp_threads); p < pixels; p += warp_threads)
      sum += as_float(from[plane + (rows.begin + p / across) * w.width + columns.begin + p % across]);
    sum = warp_fold<Sum>(b, sum);
    if (b.thread() % warp_threads == 0) to[i] = as_value<Value>(sum * w.share_of(rows, columns));
  }
};
/// The gradient of each pixel: the sum of its shares in the means of its windows.
template <class Line> struct MeanOfWindowsBack {
  static constexpr const char* name = "MeanOfWindowsBack";
  static constexpr bool cooperative = false;
  template <BlockOfThreads B, class Value>
  HEDDLE_DEVICE void operator()(B& b, PoolWindows<Line> w, std::int64_t inputs, const Value* given, Value* to) const {
    const std::int64_t i = std::int64_t{b.index()} * b.threads() + b.thread();
    if (i >= inputs) return;
    const auto at = w.pixel(i);
    float sum = 0;
    for (std::int64_t y = at.rows.begin; y < at.rows.end; ++y)
      for (std::int64_t x = at.columns.begin; x < at.columns.end; ++x)
        sum += as_float(given[at.outputs + y * w.places_across + x]) * w.share_of(w.down.pixels_of(y), w.across.pixels_of(x));
    to[i] = as_value<Value>(sum);
  }
};

/// AvgPool2d and AdaptiveAvgPool2d on CudaCompute or what derives from it.
///
/// Errors  R36; rows may be 0
/// Tested  compute/cuda/pool_test
template <class L> struct CudaAveragePool {
  using Line = LineOf<decltype(L::windows)>;
  template <class Value = float> static void forward(const ForwardCallIn<CudaMemory>& call) {
    const PoolWindows<Line> w(*call.leaf, call.rows, L::windows);
    constexpr std::int64_t large = 32;
    if (w.height * w.width >= large * w.places_down * w.places_across)  // of the leaf alone, so the order of sums is, too
      launch<MeanOfLargeWindows<Line>>(call.space.queue->stream, extents_of(w.outputs() * warp_threads), w, w.outputs(), values_at<Value>(call.input),
                                       values_at<Value>(call.output));
    else
      launch<MeanOfWindows<Line>>(call.space.queue->stream, extents_of(w.outputs()), w, w.outputs(), values_at<Value>(call.input),
                                  values_at<Value>(call.output));
  }
  template <class Value = float> static void backward(const BackwardCallIn<CudaMemory>& call) {
    if (call.input_gradient == nullptr) return;
    const PoolWindows<Line> w(*call.leaf, call.rows, L::windows);
    launch<MeanOfWindowsBack<Line>>(call.space.queue->stream, extents_of(w.inputs()), w, w.inputs(), values_at<Value>(call.output_gradient),
                                    values_at<Value>(call.input_gradient));
  }
};

}  // namespace heddle::compute_room

namespace heddle {

/// MaxPool2d on CudaCompute or what derives from it.
///
/// Errors  R36; rows may be 0
/// Tested  compute/cuda/pool_test
template <class... Options, std::derived_from<compute_room::CudaCompute> C> struct Kernel<graph_room::MaxPool2d<Options...>, C> {
  using L = graph_room::MaxPool2d<Options...>;
  using TakesBFloat16 = Kernel;
  template <class Value = float> static void forward(const seams_room::ForwardCallIn<compute_room::CudaMemory>& call) {
    const compute_room::SlidingPool w(*call.leaf, call.rows, L::windows);
    compute_room::launch<compute_room::MaxOfWindows>(call.space.queue->stream, compute_room::extents_of(w.outputs()), w, w.outputs(),
                                                     compute_room::values_at<Value>(call.input), compute_room::values_at<Value>(call.output));
  }
  template <class Value = float> static void backward(const seams_room::BackwardCallIn<compute_room::CudaMemory>& call) {
    if (call.input_gradient == nullptr) return;
    const compute_room::SlidingPool w(*call.leaf, call.rows, L::windows);
    compute_room::launch<compute_room::MaxOfWindowsBack>(
        call.space.queue->stream, compute_room::extents_of(w.inputs()), w, w.inputs(), compute_room::values_at<Value>(call.input),
        compute_room::values_at<Value>(call.output_gradient), compute_room::values_at<Value>(call.input_gradient));
  }
};

template <class... Options, std::derived_from<compute_room::CudaCompute> C>
struct Kernel<graph_room::AvgPool2d<Options...>, C> : compute_room::CudaAveragePool<graph_room::AvgPool2d<Options...>> {
  using TakesBFloat16 = Kernel;
};
template <auto... Sizes, std::derived_from<compute_room::CudaCompute> C>
struct Kernel<graph_room::AdaptiveAvgPool2d<Sizes...>, C> : compute_room::CudaAveragePool<graph_room::AdaptiveAvgPool2d<Sizes...>> {
  using TakesBFloat16 = Kernel;
};

}  // namespace heddle
