// SPDX-License-Identifier: MIT
// Room: graph. Windows that step over the height and the width of images: KernelSize, Stride, Padding and Dilation with PyTorch's meaning.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the options of a layer and the Spec of its input.  Out: SlidingWindow, or a Diagnosis.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "heddle/graph/leaf.hpp"
#include "heddle/graph/spelled.hpp"

namespace heddle::graph_room {

/// A window of an image, in pixels: [0] is of the height, [1] of the width.
///
/// 3 x 3 pixels at every second place of an image of 7 x 7 with 1 of padding are at 4 x 4 places, the first of which has 2 x 2 pixels of the image.
/// Tested  graph/layers/window_test
struct SlidingWindow {
  std::int64_t size[2] = {1, 1};
  std::int64_t stride[2] = {1, 1};
  std::int64_t padding[2] = {0, 0};   ///< before the first and behind the last pixel
  std::int64_t dilation[2] = {1, 1};  ///< from one pixel of the window to the next

  [[nodiscard]] constexpr std::int64_t pixels() const { return size[0] * size[1]; }
  /// From the first pixel of a window to its last: 3 pixels with a dilation of 2 span 5.
  [[nodiscard]] constexpr std::int64_t span(int dimension) const { return (size[dimension] - 1) * dilation[dimension] + 1; }
  /// How many windows a dimension of so many pixels has; the last pixels may be in none. 0 or less: the window is larger than the padded image.
  [[nodiscard]] constexpr std::int64_t places(int dimension, std::int64_t pixels) const {
    const std::int64_t room = pixels + 2 * padding[dimension] - span(dimension);
    return room < 0 ? 0 : room / stride[dimension] + 1;
  }
  /// Pixels begin .. end - 1 of a dimension lie in its window number `place`, if its dilation is 1.
  struct Range {
    std::int64_t begin, end;
  };
  [[nodiscard]] constexpr Range range(int dimension, std::int64_t place, std::int64_t pixels) const {
    const std::int64_t first = place * stride[dimension] - padding[dimension];
    const std::int64_t behind = first + size[dimension];
    return {first > 0 ? first : 0, behind < pixels ? behind : pixels};
  }
  /// What a pixel counts in the mean of a window, whatever part of it lies beside the image.
  [[nodiscard]] constexpr float share(const Range&, const Range&) const { return 1.0F / static_cast<float>(pixels()); }
  friend constexpr bool operator==(const SlidingWindow&, const SlidingWindow&) = default;
};

/// Windows that divide an image into so many places, whatever its size: place i of n has pixels floor(i P / n) .. ceil((i + 1) P / n) - 1 of P. Of 5
/// pixels, 3 places have pixels 0 to 1, 1 to 3 and 3 to 4.
///
/// Tested  graph/layers/window_test
struct AdaptiveWindows {
  std::int64_t count[2] = {1, 1};

  using Range = SlidingWindow::Range;
  [[nodiscard]] constexpr Range range(int dimension, std::int64_t place, std::int64_t pixels) const {
    const std::int64_t n = count[dimension];
    return {place * pixels / n, ((place + 1) * pixels + n - 1) / n};
  }
  /// Of all windows of a dimension; a pixel in two counts twice.
  [[nodiscard]] constexpr std::int64_t pixels(int dimension, std::int64_t pixels) const {
    std::int64_t all = 0;
    for (std::int64_t i = 0; i < count[dimension]; ++i) all += range(dimension, i, pixels).end - range(dimension, i, pixels).begin;
    return all;
  }
  [[nodiscard]] constexpr float share(const Range& rows, const Range& columns) const {
    return 1.0F / static_cast<float>((rows.end - rows.begin) * (columns.end - columns.begin));
  }
};

/// One number for height and width, or one for each.
template <auto... Sizes> struct OfWindow {
  static constexpr bool is_sound = (sizeof...(Sizes) == 1 || sizeof...(Sizes) == 2) && (std::integral<std::remove_cv_t<decltype(Sizes)>> && ...);
  static constexpr int count = sizeof...(Sizes);
  static constexpr std::int64_t of(int dimension) {
    if constexpr (is_sound) {
      const std::int64_t sizes[] = {static_cast<std::int64_t>(Sizes)...};
      return sizes[count == 2 ? dimension : 0];
    } else {
      return 1;
    }
  }
};
/// PyTorch's kernel_size: KernelSize<3> is 3 x 3 pixels, KernelSize<3, 5> is 3 high and 5 wide.
template <auto... Pixels> struct KernelSize : OfWindow<Pixels...> { static constexpr int window_option = 0; };
/// PyTorch's stride: a window stands at every Stride<2>-th place. Without it windows of a pooling lie side by side.
template <auto... Pixels> struct Stride : OfWindow<Pixels...> { static constexpr int window_option = 1; };
/// PyTorch's padding: the image is that much larger on each of its sides.
template <auto... Pixels> struct Padding : OfWindow<Pixels...> { static constexpr int window_option = 2; };
/// PyTorch's dilation: the pixels of a window of a convolution are Dilation<2> pixels apart.
template <auto... Pixels> struct Dilation : OfWindow<Pixels...> { static constexpr int window_option = 3; };

/// What the options of a layer say of its window. KernelSize<3>, Stride<2> are a window of 3 x 3, of
/// which 1, 1, 0 and 0 options were named and 0 were others.
struct WindowFacts {
  SlidingWindow window;
  static constexpr int options = 4;
  int named[options]{};  ///< how often: KernelSize, Stride, Padding, Dilation
  int others = 0;        ///< what is none of them
  bool sound = true;     ///< each has one or two whole numbers

  /// One of the first `allowed` options.
  template <class Option, int allowed> constexpr void take() {
    if constexpr (requires { requires Option::window_option < allowed; }) {
      ++named[Option::window_option];
      sound = sound && Option::is_sound;
      std::int64_t* const to[] = {window.size, window.stride, window.padding, window.dilation};
      for (int d = 0; d < 2; ++d) to[Option::window_option][d] = Option::of(d);
    } else {
      ++others;
    }
  }
};

/// Those of a pooling, whose stride is its size unless it is named.
template <class... Options> [[nodiscard]] constexpr WindowFacts window_of_pooling() {
  WindowFacts facts;
  (facts.template take<Options, 3>(), ...);
  for (int d = 0; d < 2 && facts.named[1] == 0; ++d) facts.window.stride[d] = facts.window.size[d];
  return facts;
}

/// "KernelSize<3>, Stride<2>, Padding<1>", of the options that were named.
constexpr void write_window_options(Text<64>& to, const WindowFacts& facts) {
  constexpr std::string_view words[] = {"KernelSize<", "Stride<", "Padding<", "Dilation<"};
  const SlidingWindow& w = facts.window;
  const std::int64_t* const sizes[] = {w.size, w.stride, w.padding, w.dilation};
  bool first = true;
  for (int option = 0; option < WindowFacts::options; ++option) {
    if (facts.named[option] == 0) continue;
    to << (first ? "" : ", ") << words[option];
    first = false;
    write_digits(to, sizes[option][0]);
    if (sizes[option][1] != sizes[option][0]) {
      to << ", ";
      write_digits(to, sizes[option][1]);
    }
    to << '>';
  }
}
/// "MaxPool2d<KernelSize<3>, Stride<2>, Padding<1>>", of the options that were named.
constexpr void write_pooling(Text<64>& to, std::string_view kind, const WindowFacts& facts) {
  if (!facts.sound) {  // nothing that was written can be shown as it was
    to << kind << "<...>";
    return;
  }
  to << kind << '<';
  write_window_options(to, facts);
  to << '>';
}

/// What is wrong with a value that is no image.
[[nodiscard]] constexpr Diagnosis refused_image(const Leaf& leaf, const Spec& in) {
  const auto refuse = [&] { return Diagnosis{Code{'G', 1}, leaf.spelled.view()}; };
  if (in.type != ElementType::float32)
    return refuse() << " takes float32 but the value before it has " << name_of(in.type) << ". Fix: put a layer that gives float32 before it.";
  if (in.shape.dimensions == 2)
    return refuse() << " takes images, of channels, height and width, but the value before it has " << in.shape << ". Fix: write Input<1, "
                    << in.shape.sizes[0] << ", " << in.shape.sizes[1] << "> for images of one channel.";
  if (in.shape.dimensions != 3)
    return refuse() << " takes images, of channels, height and width, but the value before it has " << in.shape << ". Fix: put Unflatten before it.";
  return {};
}

/// What is wrong with the options of a window by themselves. A layer of its kind may have these `options`, and is written as the `example`.
[[nodiscard]] constexpr Diagnosis refused_options(const Leaf& leaf, const WindowFacts& facts, std::string_view options, std::string_view example) {
  constexpr std::int64_t most_pixels = std::int64_t{1} << 20;
  const SlidingWindow& w = facts.window;
  const auto refuse = [&](int code) { return Diagnosis{Code{'G', code}, leaf.spelled.view()}; };
  if (facts.others > 0) return refuse(25) << " names what is no option of " << leaf.kind.view() << ". Fix: write " << options << '.';
  for (const int named : facts.named)
    if (named > 1) return refuse(25) << " names an option twice. Fix: keep one of them.";
  if (!facts.sound) return refuse(25) << " has an option of other than one or two whole numbers. Fix: write KernelSize<3>, or KernelSize<3, 5>.";
  if (facts.named[0] == 0) return refuse(25) << " does not say how large its window is. Fix: write " << example << '.';
  for (int d = 0; d < 2; ++d) {
    for (const std::int64_t pixels : {w.size[d], w.stride[d], w.dilation[d]})
      if (pixels < 1 || pixels > most_pixels)
        return refuse(6) << " has a size or a stride that is not between 1 and " << most_pixels << ". Fix: write how many pixels.";
  }
  return {};
}
/// What is wrong with a window for images of another shape than (channels, height, width), or that are smaller.
[[nodiscard]] constexpr Diagnosis refused_places(const Leaf& leaf, const SlidingWindow& w, const Spec& in) {
  if (const Diagnosis found = refused_image(leaf, in); !found.ok()) return found;
  for (int d = 0; d < 2; ++d) {
    if (w.places(d, in.shape.sizes[1 + d]) >= 1) continue;
    Diagnosis found = Diagnosis{Code{'G', 1}, leaf.spelled.view()} << " has a window of " << w.span(0) << " x " << w.span(1) << " pixels";
    if (w.dilation[0] > 1 || w.dilation[1] > 1) found << ", dilated,";
    return found << " but the value before it has " << in.shape << ", padded on each side by " << w.padding[0] << " and " << w.padding[1]
                 << ". Fix: take a KernelSize of at most " << (in.shape.sizes[1] + 2 * w.padding[0] - 1) / w.dilation[0] + 1 << " and "
                 << (in.shape.sizes[2] + 2 * w.padding[1] - 1) / w.dilation[1] + 1 << '.';
  }
  return {};
}

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Dilation, graph_room::KernelSize, graph_room::Padding, graph_room::Stride;
}  // namespace heddle
