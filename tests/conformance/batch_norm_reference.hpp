// SPDX-License-Identifier: MIT
// Room: tests. BatchNorm2d as loops in double over every value of a channel.
// Sees: conformance/reference.  Does not see: which backend is tested.
// In: a leaf of any extents with its tensors.  Out: Results.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "conformance/reference.hpp"

namespace conformance {

/// With n values x of a channel: mean and variance are off as those of a vector of n features (SlowNorm), what is normalised by
/// e = (n + 8) u (1 + max|x| inverse), or that of one value where running statistics are read.
template <std::int64_t Channels, class... Options> struct Slow<BatchNorm2d<Channels, Options...>> {
  using L = BatchNorm2d<Channels, Options...>;
  static Leaf leaf(Sizes& sizes) {
    const std::int64_t channels = 1 + sizes.below(5), height = sizes.below(2) == 0 ? 1 : sizes.features(5), width = sizes.features(33);
    Leaf drawn = L::describe(Spec{Shape{Channels, 2, 2}});
    drawn.in.shape = drawn.out.shape = Shape{channels, height, width};
    drawn.statistics = Shape{channels, 2};
    for (int k = 0; k < drawn.parameter_count; ++k) drawn.parameters[k].shape = Shape{channels};
    return drawn;
  }
  static Results run(const Tensors& t, Precision p) {
    const std::int64_t channels = t.leaf.in.shape.sizes[0];
    const auto all = static_cast<std::size_t>(t.rows * t.leaf.in.elements());
    Results r;
    r.output.resize(all);
    r.input_gradient.resize(all);
    r.statistics.resize(static_cast<std::size_t>(t.rows * channels * 2));
    r.gradients.resize(4);
    for (std::int64_t c = 0; c < channels; ++c) channel(t, p, c, r);
    return r;
  }

 private:
  template <class Visit> static void each(const Tensors& t, std::int64_t c, const Visit& visit) {
    const std::int64_t channels = t.leaf.in.shape.sizes[0], values = t.leaf.in.elements() / channels;
    for (std::int64_t row = 0; row < t.rows; ++row)
      for (std::int64_t i = 0; i < values; ++i) visit((row * channels + c) * values + i);
  }
  static void channel(const Tensors& t, Precision p, std::int64_t c, Results& r) {
    const bool trains = t.context.trains;
    const std::int64_t channels = t.leaf.in.shape.sizes[0];
    const auto n = static_cast<double>(t.rows * (t.leaf.in.elements() / channels));
    double mean = trains ? 0 : t.parameter(2, c), variance = trains ? 0 : t.parameter(3, c), most = 0, level = 0, along = 0;
    if (trains) each(t, c, [&](std::int64_t i) { mean += t.x(i) / n; });
    if (trains) each(t, c, [&](std::int64_t i) { variance += (t.x(i) - mean) * (t.x(i) - mean) / n; });
    each(t, c, [&](std::int64_t i) { most = std::max({most, std::abs(t.x(i)), std::abs(mean)}); });
    const double inverse = 1 / std::sqrt(variance + static_cast<double>(L::epsilon)), weight = t.parameter(0, c);
    const double steps = ((trains ? n : 1) + 8) * p.u, e = steps * (1 + most * inverse);
    const auto hat = [&](std::int64_t i) { return (t.x(i) - mean) * inverse; };
    Sum weights = t.gradient(0, c), biases = t.gradient(1, c);
    each(t, c, [&](std::int64_t i) {
      r.output[static_cast<std::size_t>(i)] = {hat(i) * weight + t.parameter(1, c), 4 * e * (1 + std::abs(hat(i))) * (1 + std::abs(weight))};
      weights.add(t.dy(i) * hat(i), std::abs(t.dy(i)) * 2 * e * (1 + std::abs(hat(i))));
      biases.add(t.dy(i));
      level += t.dy(i) / n;
      along += t.dy(i) * hat(i) / n;
    });
    each(t, c, [&](std::int64_t i) {
      const double taken = trains ? level + hat(i) * along : 0;
      const double size = 1 + std::max({std::abs(t.dy(i)), std::abs(weight), trains ? std::abs(hat(i)) : 0});
      r.input_gradient[static_cast<std::size_t>(i)] = {weight * inverse * (t.dy(i) - taken), 8 * e * inverse * size * size * size * size};
    });
    const Wanted first{mean, trains ? steps * most : 0}, second{variance, trains ? 4 * steps * (1 + most) * (1 + most) : 0};
    for (std::int64_t row = 0; row < t.rows; ++row) {
      r.statistics[static_cast<std::size_t>((row * channels + c) * 2)] = first;
      r.statistics[static_cast<std::size_t>((row * channels + c) * 2 + 1)] = second;
    }
    r.gradients[0].push_back(weights.with(p));
    r.gradients[1].push_back(biases.with(p));
    for (int k : {2, 3}) {
      Sum sum = t.gradient(k, c);
      const double times = trains && n > k - 2 ? k == 2 ? n : n * n / (n - 1) : 0;
      if (times > 0) sum.add(times * (k == 2 ? mean : variance), times * (k == 2 ? first : second).bound);
      r.gradients[static_cast<std::size_t>(k)].push_back(sum.with(p));
    }
  }
};

}  // namespace conformance
