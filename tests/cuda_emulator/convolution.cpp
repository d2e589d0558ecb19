// SPDX-License-Identifier: MIT
// Each result is summed over all terms that it has, wherever they lie: nothing is shared with how Heddle computes a convolution.
#include "convolution.hpp"

#include <algorithm>
#include <limits>

#include "touch.hpp"

namespace cuda_emulator {
namespace {

/// Where the three factors of one term lie: elements of x, w and y.
struct Term {
  std::int64_t x, w, y;
};
/// Calls use(term) for all terms of sample, output channel, place and pixel of the window that exist.
struct Terms {
  const ConvolutionExtents& e;
  [[nodiscard]] std::int64_t depth() const { return e.channels / e.groups; }

  /// The pixel that a window has at a place, or -1.
  [[nodiscard]] std::int64_t pixel(int dimension, std::int64_t place, std::int64_t tap) const {
    const std::int64_t extent = dimension == 0 ? e.height : e.width;
    const std::int64_t at = place * e.stride[dimension] - e.padding[dimension] + tap * e.dilation[dimension];
    return at >= 0 && at < extent ? at : -1;
  }
  /// w lies turned where a convolution is meant.
  [[nodiscard]] std::int64_t weight(std::int64_t out, std::int64_t c, std::int64_t a, std::int64_t b) const {
    const std::int64_t row = e.turned ? e.size[0] - 1 - a : a, column = e.turned ? e.size[1] - 1 - b : b;
    return ((out * depth() + c) * e.size[0] + row) * e.size[1] + column;
  }
  template <class Use> void each(std::int64_t n, std::int64_t out, std::int64_t c, const Use& use) const {
    const std::int64_t channel = out / (e.out / e.groups) * depth() + c;
    for (std::int64_t down = 0; down < e.down; ++down)
      for (std::int64_t across = 0; across < e.across; ++across)
        for (std::int64_t a = 0; a < e.size[0]; ++a)
          for (std::int64_t b = 0; b < e.size[1]; ++b) {
            const std::int64_t y = pixel(0, down, a), x = pixel(1, across, b);
            if (y < 0 || x < 0) continue;
            use(Term{((n * e.channels + channel) * e.height + y) * e.width + x, weight(out, c, a, b),
                     ((n * e.out + out) * e.down + down) * e.across + across});
          }
  }
};
}  // namespace

void touch_convolution(const Convolution& of) {
  for (std::size_t i = 0; i < of.workspace_bytes / sizeof(float); ++i) static_cast<float*>(of.workspace)[i] = std::numeric_limits<float>::quiet_NaN();
  const ConvolutionExtents& e = of.e;
  const Terms terms{e};
  const auto count = static_cast<std::int64_t>(of.results());
  std::fill_n(of.scratch, of.scratch_numbers(), 0.0);
  const auto factor = [&](float number) { return of.tf32 ? rounded_to_tf32(number) : number; };
  for (std::int64_t n = 0; n < e.n; ++n)
    for (std::int64_t out = 0; out < e.out; ++out)
      for (std::int64_t c = 0; c < terms.depth(); ++c)
        terms.each(n, out, c, [&](const Term& t) {
          const std::int64_t to = of.way == Way::forward ? t.y : of.way == Way::data ? t.x : t.w;
          const float a = of.way == Way::data || of.way == Way::forward ? of.w[t.w] : of.x[t.x];
          const float b = of.way == Way::forward ? of.x[t.x] : of.y[t.y];
          const std::int64_t part = (of.way == Way::filter ? t.y : t.w) % of.parts;  // whatever rows are beside
          of.scratch[to * of.parts + part] += static_cast<double>(factor(a)) * static_cast<double>(factor(b));
        });
  for (std::int64_t i = 0; i < count; ++i) {
    float sum = 0;
    for (std::int64_t part = 0; part < of.parts; ++part) sum += static_cast<float>(of.scratch[i * of.parts + part]);
    of.result[i] = of.scale * sum + (of.add_scale == 0 ? 0 : of.add_scale * of.result[i]);
  }
}

void touch_channels(const ChannelNumbers& of) {
  for (std::int64_t c = 0; c < of.channels; ++c) {
    double sum = 0;
    for (std::int64_t n = 0; n < of.n; ++n)
      for (std::int64_t i = 0; i < of.pixels; ++i) {
        const std::int64_t at = (n * of.channels + c) * of.pixels + i;
        if (of.sums)
          sum += static_cast<double>(of.from[at]);
        else
          of.to[at] = of.scale * of.from[c] + (of.add_scale == 0 ? 0 : of.add_scale * of.to[at]);
      }
    if (of.sums) of.to[c] = of.scale * static_cast<float>(sum) + (of.add_scale == 0 ? 0 : of.add_scale * of.to[c]);
  }
}

}  // namespace cuda_emulator
