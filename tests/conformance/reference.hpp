// SPDX-License-Identifier: MIT
// Room: tests. Every layer and loss as loops in double, each result with the error that float32 may have: what every Compute is held against.
// Sees: graph, core.  Does not see: which backend is tested.
// In: a leaf of any extents with its tensors.  Out: Results, LossResults.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <vector>

#include "heddle/core/random.hpp"
#include "heddle/heddle.hpp"
#include "heddle/run/leaf_under_test.hpp"

namespace conformance {

using namespace heddle;

/// One number, and how far from it a result may lie. A NaN asks for a NaN.
struct Wanted {
  double value = 0;
  double bound = 0;
  bool may_be_nan = false;
  [[nodiscard]] bool agrees(float got) const {
    if (std::isnan(value)) return std::isnan(got);
    if (may_be_nan && std::isnan(got)) return true;
    return std::abs(static_cast<double>(got) - value) <= bound;
  }
};
using Numbers = std::vector<Wanted>;

/// Half the distance from 1 to the next number of the element type that a backend computes with.
struct Precision {
  double u = 0x1p-24;
};

/// A sum of n products in any order, fused or not: the error is at most n u / (1 - n u) times the sum of magnitudes (Higham, sec. 3.1). Two more
/// roundings are for what is there before and for the end. `off` is what the terms themselves may be wrong by.
class Sum {
 public:
  void add(double term, double off = 0) {
    value_ += term;
    magnitudes_ += std::abs(term);
    off_ += off;
    ++terms_;
  }
  [[nodiscard]] Wanted with(Precision p) const { return {value_, static_cast<double>(terms_ + 2) * 1.01 * p.u * magnitudes_ + 1.01 * off_}; }

 private:
  double value_ = 0, magnitudes_ = 0, off_ = 0;
  std::int64_t terms_ = 0;
};

/// What one forward and one backward of a leaf should give.
struct Results {
  Numbers output, statistics, input_gradient;
  std::vector<Numbers> gradients;
  Numbers second_gradient;  ///< of a leaf of two operands
};

/// The tensors of a leaf, as a backend is given them. `gradients` are those that are there before, empty where they are overwritten.
struct Tensors {
  const Leaf& leaf;
  std::int64_t rows;
  const Floats& input;
  const Floats& output_gradient;
  const std::vector<Floats>& parameters;
  const std::vector<Floats>& gradients;
  const CallContext& context;
  const Floats& second;  ///< of a leaf of two operands

  [[nodiscard]] std::int64_t vectors() const { return rows * (leaf.in.elements() / leaf.in.shape.last()); }
  [[nodiscard]] double x(std::int64_t i) const { return at(input, i); }
  [[nodiscard]] double also(std::int64_t i) const { return at(second, i); }
  [[nodiscard]] double dy(std::int64_t i) const { return at(output_gradient, i); }
  [[nodiscard]] double parameter(int p, std::int64_t i) const { return at(parameters[static_cast<std::size_t>(p)], i); }
  /// A sum that begins with the gradient that is there before.
  [[nodiscard]] Sum gradient(int p, std::int64_t i) const {
    Sum sum;
    if (!gradients.empty()) sum.add(at(gradients[static_cast<std::size_t>(p)], i));
    return sum;
  }

 private:
  static double at(const Floats& values, std::int64_t i) { return static_cast<double>(values[static_cast<std::size_t>(i)]); }
};

/// Sizes at, below and beyond blocks and registers, drawn from a seed.
class Sizes {
 public:
  explicit Sizes(std::uint64_t seed) : seed_(seed) {}
  /// 0 .. choices - 1
  std::int64_t below(std::int64_t choices) {
    return static_cast<std::int64_t>(bits64(Seed{seed_}, 7, next_++) % static_cast<std::uint64_t>(choices));
  }
  std::int64_t features(std::int64_t most = 140) {
    constexpr std::int64_t edges[] = {1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 65, 129};
    const std::int64_t drawn = below(3) == 0 ? 1 + below(std::min<std::int64_t>(most, 80)) : edges[below(std::ssize(edges))];
    return std::min(drawn, most);
  }
  std::int64_t rows() {
    constexpr std::int64_t edges[] = {0, 1, 2, 3, 5, 8, 16, 17};
    return edges[below(std::ssize(edges))];
  }
  /// Up to two dimensions before the last one.
  Shape shape(std::int64_t last) {
    Shape drawn;
    for (std::int64_t d = below(3); d > 0; --d) drawn.append(1 + below(4));
    drawn.append(last);
    return drawn;
  }

 private:
  std::uint64_t seed_;
  std::uint64_t next_ = 0;
};

/// Slow<L> has   static Leaf leaf(Sizes&);   L with extents of its own, and   static Results run(const Tensors&, Precision);
template <class L> struct Slow;

// ---- Linear

template <std::int64_t In, std::int64_t Out, class Bias> struct Slow<Linear<In, Out, Bias>> {
  static Leaf leaf(Sizes& sizes) {
    const bool large = sizes.below(16) == 0;
    const std::int64_t in = large ? 300 + sizes.below(40) : sizes.features();
    const std::int64_t out = large ? 130 : sizes.features();
    Leaf drawn = Linear<In, Out, Bias>::describe(Spec{Shape{In}});
    drawn.in.shape = sizes.shape(in);
    drawn.out.shape = drawn.in.shape;
    drawn.out.shape.sizes[drawn.out.shape.dimensions - 1] = out;
    drawn.parameters[0].shape = Shape{out, in};
    drawn.parameters[1].shape = Shape{out};
    return drawn;
  }
  static Results run(const Tensors& t, Precision p) {
    const std::int64_t n = t.vectors(), in = t.leaf.in.shape.last(), out = t.leaf.out.shape.last();
    const bool biased = t.leaf.parameter_count == 2;
    Results r;
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t o = 0; o < out; ++o) {
        Sum sum;
        if (biased) sum.add(t.parameter(1, o));
        for (std::int64_t k = 0; k < in; ++k) sum.add(t.x(i * in + k) * t.parameter(0, o * in + k));
        r.output.push_back(sum.with(p));
      }
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t k = 0; k < in; ++k) {
        Sum sum;
        for (std::int64_t o = 0; o < out; ++o) sum.add(t.dy(i * out + o) * t.parameter(0, o * in + k));
        r.input_gradient.push_back(sum.with(p));
      }
    r.gradients.resize(biased ? 2 : 1);
    for (std::int64_t o = 0; o < out; ++o) {
      for (std::int64_t k = 0; k < in; ++k) {
        Sum sum = t.gradient(0, o * in + k);
        for (std::int64_t i = 0; i < n; ++i) sum.add(t.dy(i * out + o) * t.x(i * in + k));
        r.gradients[0].push_back(sum.with(p));
      }
      if (!biased) continue;
      Sum sum = t.gradient(1, o);
      for (std::int64_t i = 0; i < n; ++i) sum.add(t.dy(i * out + o));
      r.gradients[1].push_back(sum.with(p));
    }
    return r;
  }
};

// ---- norms

/// With statistics of a vector x of d features: a sum of d terms is off by d u times their magnitudes, so the mean by d u max|x|, each difference by
/// that and a rounding, and what is normalised by e = (d + 8) u (1 + max|x| inverse). The inverse has half the relative error of the variance, at
/// most e.
template <class L> struct SlowNorm {
  static Leaf leaf(Sizes& sizes) {
    Leaf drawn = L::describe(L::takes());
    const std::int64_t d = sizes.features();
    drawn.in.shape = drawn.out.shape = sizes.shape(d);
    const std::int64_t kept = drawn.statistics.last();
    drawn.statistics = drawn.in.shape;
    drawn.statistics.sizes[drawn.in.shape.dimensions - 1] = kept;
    for (int k = 0; k < drawn.parameter_count; ++k) drawn.parameters[k].shape = Shape{d};
    return drawn;
  }
  static Results run(const Tensors& t, Precision p) {
    const std::int64_t d = t.leaf.in.shape.last();
    const bool centred = t.leaf.statistics.last() == 2;
    const bool biased = t.leaf.parameter_count == 2;
    const double steps = static_cast<double>(d + 8) * p.u;
    Results r;
    std::vector<std::vector<Sum>> sums(static_cast<std::size_t>(t.leaf.parameter_count));
    for (int k = 0; k < t.leaf.parameter_count; ++k)
      for (std::int64_t j = 0; j < d; ++j) sums[static_cast<std::size_t>(k)].push_back(t.gradient(k, j));
    for (std::int64_t v = 0; v < t.vectors(); ++v) {
      const Vector s{t, v, centred};
      const double e = steps * (1 + s.most * s.inverse);
      if (centred) r.statistics.push_back({s.mean, steps * s.most});
      r.statistics.push_back({s.inverse, 2 * e * s.inverse});
      double level = 0, along = 0, size = 0;
      for (std::int64_t j = 0; j < d; ++j) {
        const double weight = t.parameter(0, j), dy = t.dy(v * d + j), hat = s.hat(t.x(v * d + j));
        r.output.push_back({hat * weight + (biased ? t.parameter(1, j) : 0), 4 * e * (1 + std::abs(hat)) * (1 + std::abs(weight))});
        sums[0][static_cast<std::size_t>(j)].add(dy * hat, std::abs(dy) * 2 * e * (1 + std::abs(hat)));
        if (biased) sums[1][static_cast<std::size_t>(j)].add(dy);
        level += centred ? dy * weight / static_cast<double>(d) : 0;
        along += dy * weight * hat / static_cast<double>(d);
        size = std::max({size, std::abs(dy * weight), std::abs(hat)});
      }
      for (std::int64_t j = 0; j < d; ++j) {
        const double hat = s.hat(t.x(v * d + j));
        r.input_gradient.push_back(
            {s.inverse * (t.dy(v * d + j) * t.parameter(0, j) - level - hat * along), 8 * e * s.inverse * (1 + size) * (1 + size) * (1 + size)});
      }
    }
    r.gradients.resize(sums.size());
    for (std::size_t k = 0; k < sums.size(); ++k)
      for (const Sum& sum : sums[k]) r.gradients[k].push_back(sum.with(p));
    return r;
  }

 private:
  struct Vector {
    double mean = 0, inverse = 0, most = 0;
    Vector(const Tensors& t, std::int64_t v, bool centred) {
      const std::int64_t d = t.leaf.in.shape.last();
      double variance = 0;
      for (std::int64_t j = 0; j < d && centred; ++j) mean += t.x(v * d + j) / static_cast<double>(d);
      for (std::int64_t j = 0; j < d; ++j) {
        const double x = t.x(v * d + j);
        most = std::max(most, std::abs(x));
        variance += (x - mean) * (x - mean) / static_cast<double>(d);
      }
      inverse = 1 / std::sqrt(variance + static_cast<double>(L::epsilon));
    }
    [[nodiscard]] double hat(double x) const { return (x - mean) * inverse; }
  };
};
template <std::int64_t Features, class... Options> struct Slow<LayerNorm<Features, Options...>> : SlowNorm<LayerNorm<Features, Options...>> {};
template <std::int64_t Features, class... Options> struct Slow<RMSNorm<Features, Options...>> : SlowNorm<RMSNorm<Features, Options...>> {};

// ---- layers of one element

/// A function and its derivative, both from the input. Eight roundings of numbers of the size of the input, or of 1.
template <class L> struct SlowElementwise {
  static Leaf leaf(Sizes& sizes) { return L::describe(Spec{sizes.shape(sizes.features())}); }
  static Results run(const Tensors& t, Precision p) {
    Results r;
    for (std::int64_t i = 0; i < t.rows * t.leaf.in.elements(); ++i) {
      const double x = t.x(i);
      const double far = std::isnan(x) ? 0 : std::abs(x);
      const double size = 8 * p.u * (1 + far);
      const double slope = Slow<L>::slope(x);
      r.output.push_back({Slow<L>::value(x), size});
      r.input_gradient.push_back({t.dy(i) * slope, size * std::abs(t.dy(i)) * (1 + far)});
    }
    return r;
  }
};
template <> struct Slow<ReLU> : SlowElementwise<ReLU> {
  static double value(double x) { return x < 0 ? 0 : x; }
  static double slope(double x) { return x <= 0 ? 0 : 1; }
};
template <> struct Slow<GELU> : SlowElementwise<GELU> {
  static double value(double x) { return x * distribution(x); }
  static double slope(double x) { return distribution(x) + x * std::exp(-x * x / 2) / std::sqrt(2 * pi); }

 private:
  static constexpr double pi = 3.14159265358979323846;
  static double distribution(double x) { return std::erfc(-x / std::sqrt(2.0)) / 2; }
};
template <> struct Slow<GELUTanh> : SlowElementwise<GELUTanh> {
  static double value(double x) { return x * (1 + std::tanh(inner(x))) / 2; }
  static double slope(double x) {
    const double far = std::cosh(inner(x));  // infinite where the bend is over
    return (1 + std::tanh(inner(x)) + x * root * (1 + 3 * 0.044715 * x * x) / (far * far)) / 2;
  }

 private:
  static constexpr double root = 0.79788456080286535588;
  static double inner(double x) { return root * (x + 0.044715 * x * x * x); }
};
template <> struct Slow<SiLU> : SlowElementwise<SiLU> {
  static double value(double x) { return x / (1 + std::exp(-x)); }
  static double slope(double x) { return (1 + x / (1 + std::exp(x))) / (1 + std::exp(-x)); }
};
template <auto Numerator, auto Denominator> struct Slow<LeakyReLU<Numerator, Denominator>> : SlowElementwise<LeakyReLU<Numerator, Denominator>> {
  static constexpr double factor = static_cast<double>(Numerator) / static_cast<double>(Denominator);
  static double value(double x) { return x > 0 ? x : x * factor; }
  static double slope(double x) { return x > 0 ? 1 : factor; }
};
template <> struct Slow<Tanh> : SlowElementwise<Tanh> {
  static double value(double x) { return std::tanh(x); }
  static double slope(double x) { return 1 / (std::cosh(x) * std::cosh(x)); }
};
template <> struct Slow<Sigmoid> : SlowElementwise<Sigmoid> {
  static double value(double x) { return 1 / (1 + std::exp(-x)); }
  static double slope(double x) { return value(x) * value(-x); }
};

/// Each vector by itself: its largest element is taken from all, and the powers are summed.
template <class L, bool logarithm> struct SlowSoftmax {
  static Leaf leaf(Sizes& sizes) { return L::describe(Spec{sizes.shape(sizes.features())}); }
  static Results run(const Tensors& t, Precision p) {
    Results r;
    const std::int64_t n = t.leaf.in.shape.last();
    for (std::int64_t v = 0; v < t.vectors(); ++v) {
      double most = t.x(v * n), sum = 0, distance = 0, gradients = 0, off = 0;
      for (std::int64_t j = 0; j < n; ++j) most = std::max(most, t.x(v * n + j));
      for (std::int64_t j = 0; j < n; ++j) sum += std::exp(t.x(v * n + j) - most);
      const auto share = [&](std::int64_t j) { return std::exp(t.x(v * n + j) - most) / sum; };
      for (std::int64_t j = 0; j < n; ++j) distance += share(j) * (most - t.x(v * n + j));
      // A power is wrong by its exponent's rounding, a sum of powers by those of all.
      const auto wrong = [&](std::int64_t j) { return 4 * p.u * (1 + (most - t.x(v * n + j)) + distance + std::log(sum)); };
      for (std::int64_t j = 0; j < n; ++j) {
        const double factor = logarithm ? 1 : share(j);
        gradients += t.dy(v * n + j) * factor;
        off += std::abs(t.dy(v * n + j)) * factor * wrong(j);
      }
      for (std::int64_t j = 0; j < n; ++j) {
        const double dy = t.dy(v * n + j), y = share(j), sizes = std::abs(dy) + std::abs(gradients);
        if (logarithm) {
          r.output.push_back({t.x(v * n + j) - most - std::log(sum), wrong(j)});
          r.input_gradient.push_back({dy - y * gradients, y * (off + 2 * std::abs(gradients) * wrong(j)) + 2 * p.u * sizes});
        } else {
          r.output.push_back({y, y * wrong(j) + smallest});
          r.input_gradient.push_back({y * (dy - gradients), y * (off + sizes * (wrong(j) + 4 * p.u)) + smallest});
        }
      }
    }
    return r;
  }

 private:
  static constexpr double smallest = 0x1p-126;  // below it float32 has fewer digits
};
template <> struct Slow<Softmax> : SlowSoftmax<Softmax, false> {};
template <> struct Slow<LogSoftmax> : SlowSoftmax<LogSoftmax, true> {};

/// A gate and its value, both half a vector away from each other. Roundings as those of a layer of one element, times the size of the other factor.
template <> struct Slow<SwiGLU> {
  static Leaf leaf(Sizes& sizes) { return SwiGLU::describe(Spec{sizes.shape(2 * sizes.features(70))}); }
  static Results run(const Tensors& t, Precision p) {
    Results r;
    const std::int64_t half = t.leaf.out.shape.last();
    r.input_gradient.resize(static_cast<std::size_t>(t.rows * t.leaf.in.elements()));
    for (std::int64_t i = 0; i < t.rows * t.leaf.out.elements(); ++i) {
      const std::int64_t at = i / half * 2 * half + i % half;
      const double gate = t.x(at), value = t.x(at + half), dy = t.dy(i), open = 1 / (1 + std::exp(-gate));
      const auto size = [](double of) { return std::isnan(of) ? 1 : 1 + std::abs(of); };
      const double bound = 16 * p.u * size(gate) * size(value) * size(dy);
      r.output.push_back({gate * open * value, bound});
      r.input_gradient[static_cast<std::size_t>(at)] = {dy * value * open * (1 + gate * (1 - open)), bound};
      r.input_gradient[static_cast<std::size_t>(at + half)] = {dy * gate * open, bound};
    }
    return r;
  }
};

/// The mask of each element is drawn from its number in the batch, alone. What is dropped is 0, whatever it was.
template <auto Numerator, auto Denominator> struct Slow<Dropout<Numerator, Denominator>> {
  using L = Dropout<Numerator, Denominator>;
  static Leaf leaf(Sizes& sizes) { return L::describe(Spec{sizes.shape(sizes.features())}); }
  static Results run(const Tensors& t, Precision p) {
    Results r;
    const std::int64_t n = t.leaf.in.elements();
    for (std::int64_t i = 0; i < t.rows * n; ++i) {
      const auto number = static_cast<std::uint64_t>(t.context.first_row * n + i);
      const bool dropped = mask_bits(t.context.seed, t.context.stream(), number) < L::threshold();
      const double factor = !t.context.trains ? 1 : dropped ? 0 : static_cast<double>(Denominator) / static_cast<double>(Denominator - Numerator);
      const auto scaled = [&](double of) { return factor == 0 ? Wanted{} : Wanted{of * factor, 2.02 * p.u * std::abs(of * factor)}; };
      r.output.push_back(scaled(t.x(i)));
      r.input_gradient.push_back(scaled(t.dy(i)));
    }
    return r;
  }
};

// ---- layers without arithmetic

/// Values and gradients go on as they are.
template <class L> struct SlowReshape {
  static Results run(const Tensors& t, Precision) {
    Results r;
    for (std::int64_t i = 0; i < t.rows * t.leaf.in.elements(); ++i) {
      r.output.push_back({t.x(i), 0});
      r.input_gradient.push_back({t.dy(i), 0});
    }
    return r;
  }
};
template <> struct Slow<Flatten> : SlowReshape<Flatten> {
  static Leaf leaf(Sizes& sizes) { return Flatten::describe(Spec{sizes.shape(sizes.features())}); }
};
template <std::int64_t... Of> struct Slow<Unflatten<Of...>> : SlowReshape<Unflatten<Of...>> {
  static Leaf leaf(Sizes& sizes) {
    Shape shape;
    if (sizes.below(2) == 0) shape.append(1 + sizes.below(4));
    shape.append((1 * ... * Of));
    return Unflatten<Of...>::describe(Spec{shape});
  }
};

// ---- Embedding

template <std::int64_t Vocabulary, std::int64_t Features, class... Options> struct Slow<Embedding<Vocabulary, Features, Options...>> {
  static Leaf leaf(Sizes& sizes) {
    const std::int64_t tokens = 1 + sizes.below(40), features = sizes.features();
    Leaf drawn = Embedding<Vocabulary, Features, Options...>::describe(Spec{Shape{1}, ElementType::int32});
    drawn.in.shape = sizes.shape(1 + sizes.below(9));
    drawn.out.shape = drawn.in.shape;
    drawn.out.shape.append(features);
    drawn.parameters[0].shape = Shape{tokens, features};
    drawn.vocabulary = tokens;
    if (sizeof...(Options) > 0) drawn.parameters[0].padding_row = sizes.below(tokens);
    return drawn;
  }
  static Results run(const Tensors& t, Precision p) {
    const std::int64_t ids = t.rows * t.leaf.in.elements(), d = t.leaf.out.shape.last(), tokens = t.leaf.vocabulary;
    const auto id = [&](std::int64_t i) { return std::bit_cast<std::int32_t>(t.input[static_cast<std::size_t>(i)]); };
    Results r;
    for (std::int64_t i = 0; i < ids; ++i)
      for (std::int64_t j = 0; j < d; ++j) r.output.push_back({t.parameter(0, id(i) * d + j), 0});
    r.gradients.resize(1);
    for (std::int64_t token = 0; token < tokens; ++token)
      for (std::int64_t j = 0; j < d; ++j) {
        Sum sum = t.gradient(0, token * d + j);
        for (std::int64_t i = 0; i < ids; ++i)
          if (id(i) == token && token != t.leaf.parameters[0].padding_row) sum.add(t.dy(i * d + j));
        r.gradients[0].push_back(sum.with(p));
      }
    return r;
  }
};

// ---- Rescaling

template <std::int64_t Numerator, std::int64_t Denominator> struct Slow<Rescaling<Numerator, Denominator>> {
  static Leaf leaf(Sizes& sizes) { return Rescaling<Numerator, Denominator>::describe(Spec{sizes.shape(sizes.features()), ElementType::uint8}); }
  static Results run(const Tensors& t, Precision p) {
    Results r;
    for (std::int64_t i = 0; i < t.rows * t.leaf.in.elements(); ++i) {
      const double exact = static_cast<double>(reinterpret_cast<const std::uint8_t*>(t.input.data())[i]) * Numerator / Denominator;
      r.output.push_back({exact, 2 * p.u * exact});
    }
    return r;
  }
};

// ---- pooling

/// A walk over all pixels of the padded image, window by window. visit(window, pixel of the values or -1) in the order of the pixels.
template <class Visit> void walk_windows(const Leaf& leaf, const graph_room::SlidingWindow& w, std::int64_t rows, const Visit& visit) {
  const auto [channels, height, width] = std::array{leaf.in.shape.sizes[0], leaf.in.shape.sizes[1], leaf.in.shape.sizes[2]};
  const std::int64_t down = leaf.out.shape.sizes[1], across = leaf.out.shape.sizes[2];
  for (std::int64_t i = 0; i < rows * channels * down * across; ++i)
    for (std::int64_t a = 0; a < w.size[0]; ++a)
      for (std::int64_t b = 0; b < w.size[1]; ++b) {
        const std::int64_t y = i / across % down * w.stride[0] + a - w.padding[0], x = i % across * w.stride[1] + b - w.padding[1];
        const bool inside = y >= 0 && y < height && x >= 0 && x < width;
        visit(i, inside ? (i / (down * across) * height + y) * width + x : -1);
      }
}
template <class L> struct SlowPooling {
  static Leaf leaf(Sizes& sizes) { return L::describe(Spec{Shape(1 + sizes.below(5), 3 + sizes.below(9), 3 + sizes.below(9))}); }
};
/// No rounding: a largest is one of the pixels. A gradient is a sum over the windows that have the pixel as their largest.
template <class... Options> struct Slow<MaxPool2d<Options...>> : SlowPooling<MaxPool2d<Options...>> {
  using L = MaxPool2d<Options...>;
  static Results run(const Tensors& t, Precision p) {
    std::vector<std::int64_t> largest(static_cast<std::size_t>(t.rows * t.leaf.out.elements()), -1);
    walk_windows(t.leaf, L::windows, t.rows, [&](std::int64_t window, std::int64_t pixel) {
      std::int64_t& to = largest[static_cast<std::size_t>(window)];
      if (pixel >= 0 && (to < 0 || t.x(pixel) > t.x(to) || std::isnan(t.x(pixel)))) to = pixel;
    });
    std::vector<Sum> sums(static_cast<std::size_t>(t.rows * t.leaf.in.elements()));
    Results r;
    for (std::int64_t i = 0; i < std::ssize(largest); ++i) {
      const std::int64_t pixel = largest[static_cast<std::size_t>(i)];
      r.output.push_back({t.x(pixel), 0});
      sums[static_cast<std::size_t>(pixel)].add(t.dy(i));
    }
    for (const Sum& sum : sums) r.input_gradient.push_back(sum.with(p));
    return r;
  }
};
template <class... Options> struct Slow<AvgPool2d<Options...>> : SlowPooling<AvgPool2d<Options...>> {
  using L = AvgPool2d<Options...>;
  static Results run(const Tensors& t, Precision p) {
    std::vector<Sum> means(static_cast<std::size_t>(t.rows * t.leaf.out.elements())), sums(static_cast<std::size_t>(t.rows * t.leaf.in.elements()));
    const auto pixels = static_cast<double>(L::windows.pixels());
    walk_windows(t.leaf, L::windows, t.rows, [&](std::int64_t window, std::int64_t pixel) {
      if (pixel < 0) return;
      means[static_cast<std::size_t>(window)].add(t.x(pixel) / pixels);
      sums[static_cast<std::size_t>(pixel)].add(t.dy(window) / pixels);
    });
    Results r;
    for (const Sum& mean : means) r.output.push_back(mean.with(p));
    for (const Sum& sum : sums) r.input_gradient.push_back(sum.with(p));
    return r;
  }
};

/// Every product of every window, looked for pixel by pixel.
template <std::int64_t In, std::int64_t Out, class... Options> struct Slow<Conv2d<In, Out, Options...>> {
  using L = Conv2d<In, Out, Options...>;
  static Leaf leaf(Sizes& sizes) {
    constexpr std::int64_t groups = L::facts.groups;
    const bool large = sizes.below(12) == 0;  // an image that takes several blocks
    Leaf drawn = L::describe(Spec{large ? Shape(In, 61, 70) : Shape(In, 5 + sizes.below(9), 5 + sizes.below(9))});
    const std::int64_t in = large ? 5 : 1 + sizes.below(6), out = large ? 3 : 1 + sizes.below(18);
    drawn.in.shape.sizes[0] = groups * in;
    drawn.out.shape.sizes[0] = groups * out;
    drawn.parameters[0].shape.sizes[0] = drawn.parameters[1].shape.sizes[0] = groups * out;
    drawn.parameters[0].shape.sizes[1] = in;
    return drawn;
  }
  static Results run(const Tensors& t, Precision p) {
    const Leaf& l = t.leaf;
    const auto [groups, inputs] = std::array{L::facts.groups, l.in.shape.sizes[0] / L::facts.groups};
    const auto [height, width, down, across] = std::array{l.in.shape.sizes[1], l.in.shape.sizes[2], l.out.shape.sizes[1], l.out.shape.sizes[2]};
    const graph_room::SlidingWindow& w = L::windows;
    std::vector<Sum> outputs, pixels(static_cast<std::size_t>(t.rows * l.in.elements())), weights, biases;
    for (std::int64_t i = 0; i < l.parameters[0].shape.elements(); ++i) weights.push_back(t.gradient(0, i));
    for (std::int64_t o = 0; o < l.out.shape.sizes[0] && L::has_bias; ++o) biases.push_back(t.gradient(1, o));
    for (std::int64_t r = 0; r < t.rows; ++r)
      for (std::int64_t o = 0; o < l.out.shape.sizes[0]; ++o)
        for (std::int64_t at = 0; at < down * across; ++at) {
          const double dy = t.dy((r * l.out.shape.sizes[0] + o) * down * across + at);
          Sum sum;
          if (L::has_bias) sum.add(t.parameter(1, o));
          if (L::has_bias) biases[static_cast<std::size_t>(o)].add(dy);
          for (std::int64_t c = 0; c < inputs; ++c)
            for (std::int64_t a = 0; a < w.size[0]; ++a)
              for (std::int64_t b = 0; b < w.size[1]; ++b) {
                const std::int64_t y = at / across * w.stride[0] - w.padding[0] + a * w.dilation[0];
                const std::int64_t x = at % across * w.stride[1] - w.padding[1] + b * w.dilation[1];
                if (y < 0 || y >= height || x < 0 || x >= width) continue;
                const std::int64_t channel = o / (l.out.shape.sizes[0] / groups) * inputs + c;
                const std::int64_t pixel = ((r * groups * inputs + channel) * height + y) * width + x;
                const std::int64_t weight = ((o * inputs + c) * w.size[0] + a) * w.size[1] + b;
                sum.add(t.x(pixel) * t.parameter(0, weight));
                pixels[static_cast<std::size_t>(pixel)].add(dy * t.parameter(0, weight));
                weights[static_cast<std::size_t>(weight)].add(dy * t.x(pixel));
              }
          outputs.push_back(sum);
        }
    Results r;
    for (const Sum& sum : outputs) r.output.push_back(sum.with(p));
    for (const Sum& sum : pixels) r.input_gradient.push_back(sum.with(p));
    r.gradients.resize(L::has_bias ? 2 : 1);
    for (const Sum& sum : weights) r.gradients[0].push_back(sum.with(p));
    for (const Sum& sum : biases) r.gradients[1].push_back(sum.with(p));
    return r;
  }
};

/// PyTorch's formula of the first pixel of a place and of the one behind its last.
template <auto... Sizes> struct Slow<AdaptiveAvgPool2d<Sizes...>> : SlowPooling<AdaptiveAvgPool2d<Sizes...>> {
  static Results run(const Tensors& t, Precision p) {
    const std::int64_t height = t.leaf.in.shape.sizes[1], width = t.leaf.in.shape.sizes[2];
    const auto down = static_cast<double>(t.leaf.out.shape.sizes[1]), across = static_cast<double>(t.leaf.out.shape.sizes[2]);
    const auto first = [](double place, double pixels, double places) { return std::floor(place * pixels / places); };
    const auto behind = [](double place, double pixels, double places) { return std::ceil((place + 1) * pixels / places); };
    std::vector<Sum> sums(static_cast<std::size_t>(t.rows * t.leaf.in.elements()));
    Results r;
    for (std::int64_t image = 0, i = 0; image < t.rows * t.leaf.in.shape.sizes[0]; ++image)
      for (double y = 0; y < down; ++y)
        for (double x = 0; x < across; ++x, ++i) {
          const auto top = first(y, static_cast<double>(height), down), bottom = behind(y, static_cast<double>(height), down);
          const auto left = first(x, static_cast<double>(width), across), right = behind(x, static_cast<double>(width), across);
          Sum mean;
          for (double a = top; a < bottom; ++a)
            for (double b = left; b < right; ++b) {
              const std::int64_t pixel = (image * height + static_cast<std::int64_t>(a)) * width + static_cast<std::int64_t>(b);
              mean.add(t.x(pixel) / ((bottom - top) * (right - left)));
              sums[static_cast<std::size_t>(pixel)].add(t.dy(i) / ((bottom - top) * (right - left)));
            }
          r.output.push_back(mean.with(p));
        }
    for (const Sum& sum : sums) r.input_gradient.push_back(sum.with(p));
    return r;
  }
};

// ---- positions

template <std::int64_t Length, std::int64_t Features> struct Slow<LearnedPositions<Length, Features>> {
  static Leaf leaf(Sizes& sizes) {
    const std::int64_t features = sizes.features(), length = 1 + sizes.below(9);
    Leaf drawn = LearnedPositions<Length, Features>::describe(Spec{Shape(2, Features)});
    drawn.in.shape = drawn.out.shape = sizes.below(2) == 0 ? Shape(length, features) : Shape(2, length, features);
    drawn.parameters[0].shape = Shape(length + sizes.below(3), features);
    return drawn;
  }
  static Results run(const Tensors& t, Precision p) {
    const std::int64_t of_sequence = t.leaf.in.shape.last() * t.leaf.in.shape.sizes[t.leaf.in.shape.dimensions - 2];
    Results r;
    std::vector<Sum> sums;
    for (std::int64_t i = 0; i < t.leaf.parameters[0].shape.elements(); ++i) sums.push_back(t.gradient(0, i));
    for (std::int64_t i = 0; i < t.rows * t.leaf.in.elements(); ++i) {
      Sum sum;
      sum.add(t.x(i));
      sum.add(t.parameter(0, i % of_sequence));
      r.output.push_back(sum.with(p));
      r.input_gradient.push_back({t.dy(i), 0});
      sums[static_cast<std::size_t>(i % of_sequence)].add(t.dy(i));
    }
    r.gradients.resize(1);
    for (const Sum& sum : sums) r.gradients[0].push_back(sum.with(p));
    return r;
  }
};
/// Cosine and sine round once, and so do two products and their sum.
template <std::int64_t Features, class... Options> struct Slow<Rotary<Features, Options...>> {
  using L = Rotary<Features, Options...>;
  static Leaf leaf(Sizes& sizes) {
    const std::int64_t length = 1 + sizes.below(9), width = Features * (L::Said::heads() + 2 * L::Said::key_values());
    return L::describe(Spec{sizes.below(2) == 0 ? Shape(length, width) : Shape(2, length, width)});
  }
  static Results run(const Tensors& t, Precision p) {
    const std::int64_t width = t.leaf.in.shape.last(), positions = t.leaf.in.shape.sizes[t.leaf.in.shape.dimensions - 2];
    Results r;
    for (std::int64_t v = 0; v < t.vectors(); ++v)
      for (std::int64_t i = 0; i < width; ++i) {
        const std::int64_t at = v * width + i, half = Features / 2;
        if (i >= Features * (L::Said::heads() + L::Said::key_values())) {
          r.output.push_back({t.x(at), 0});
          r.input_gradient.push_back({t.dy(at), 0});
          continue;
        }
        const bool first = i % Features < half;
        const std::int64_t other = first ? at + half : at - half;
        const double angle = static_cast<double>(v % positions) /
                             std::pow(static_cast<double>(L::base), 2 * static_cast<double>(i % half) / static_cast<double>(Features));
        const double cosine = std::cos(angle), sine = first ? -std::sin(angle) : std::sin(angle);
        const auto off = [&](double a, double b) { return 5 * p.u * (std::abs(a) + std::abs(b)); };
        r.output.push_back({cosine * t.x(at) + sine * t.x(other), off(t.x(at), t.x(other))});
        r.input_gradient.push_back({cosine * t.dy(at) - sine * t.dy(other), off(t.dy(at), t.dy(other))});
      }
    return r;
  }
};

// ---- losses

/// One grain of a loss: `features` of all `positions` of a row together, whole.
struct LossCase {
  std::int64_t rows, features, positions, total_rows, left_out;
  const Floats& output;
  const Floats& class_weights;  // none: each is 1

  /// Any sum of the weights of a step, of which this grain is a part.
  [[nodiscard]] double sum_of_weights() const { return class_weights.empty() ? 0 : 0.75 * static_cast<double>(total_rows * positions); }
};
struct LossResults {
  Wanted sum;
  Numbers gradient;
};

/// SlowLoss<Loss> has   static std::vector<Loss::Target> targets(const LossCase&);   and   static LossResults run(const LossCase&, targets,
/// Precision).
template <class Loss> struct SlowLoss;

template <std::derived_from<CrossEntropy> Loss> struct SlowLoss<Loss> {
  using Targets = std::vector<std::int32_t>;
  static inline const bool leaves_out = !graph_room::counts_target<Loss>(-100);
  static Targets targets(const LossCase& c) {
    Targets drawn;
    for (std::int64_t i = 0; i < c.rows * c.positions; ++i)
      drawn.push_back(leaves_out && i % 3 == 1 ? -100 : static_cast<std::int32_t>((7 * i + 3) % (c.features / c.positions)));
    return drawn;
  }
  /// x - max rounds (4 u absolute of logits up to 2), exp 2 u, the scale, two products and the difference u each, all at most 1 / total. Each power
  /// is off by 6 u relative, and so is the logarithm of their sum; the sum over rows rounds once to a float. 16 u cover parts, whose terms round once
  /// more.
  static LossResults run(const LossCase& c, const Targets& targets, Precision p) {
    const std::int64_t classes = c.features / c.positions;
    const double total = c.class_weights.empty() ? static_cast<double>(c.total_rows * c.positions - c.left_out) : c.sum_of_weights();
    LossResults r;
    for (std::int64_t i = 0; i < c.rows * c.positions; ++i) {
      if (leaves_out && targets[static_cast<std::size_t>(i)] == -100) {
        r.gradient.insert(r.gradient.end(), static_cast<std::size_t>(classes), Wanted{});
        continue;
      }
      const auto x = [&](std::int64_t j) { return static_cast<double>(c.output[static_cast<std::size_t>(i * classes + j)]); };
      double powers = 0;
      for (std::int64_t j = 0; j < classes; ++j) powers += std::exp(x(j));
      const std::int64_t target = targets[static_cast<std::size_t>(i)];
      const auto weight = [&](std::int64_t j) {
        return c.class_weights.empty() ? 1 : static_cast<double>(c.class_weights[static_cast<std::size_t>(j)]);
      };
      double all = 0;  // of what the classes have of a target, weighed
      for (std::int64_t j = 0; j < classes; ++j) {
        const double share = Loss::smoothing / static_cast<double>(classes) + (j == target ? 1 - Loss::smoothing : 0);
        r.sum.value += share * weight(j) * (std::log(powers) - x(j)) / static_cast<double>(c.positions);
        all += share * weight(j);
      }
      for (std::int64_t j = 0; j < classes; ++j) {
        const double share = Loss::smoothing / static_cast<double>(classes) + (j == target ? 1 - Loss::smoothing : 0);
        r.gradient.push_back(
            {(all * std::exp(x(j)) / powers - share * weight(j)) / total, 16 * all * p.u / total + 2 * p.u * share * weight(j) / total});
      }
    }
    const double most = c.class_weights.empty() ? 1 : static_cast<double>(*std::max_element(c.class_weights.begin(), c.class_weights.end()));
    r.sum.bound = 12 * most * p.u * static_cast<double>(c.rows) + 2 * p.u * r.sum.value;
    return r;
  }
};

/// Values and slopes of one element in double.
template <class Loss> struct SlowElement;
template <> struct SlowElement<MeanAbsoluteError> {
  static double loss(double x, double t) { return std::abs(x - t); }
  static double slope(double x, double t) { return x > t ? 1 : x < t ? -1 : x - t; }
};
template <std::int64_t N, std::int64_t D> struct SlowElement<Huber<N, D>> {
  static constexpr double distance = static_cast<double>(N) / static_cast<double>(D);
  static double loss(double x, double t) {
    return std::abs(x - t) <= distance ? (x - t) * (x - t) / 2 : distance * std::abs(x - t) - distance * distance / 2;
  }
  static double slope(double x, double t) { return std::clamp(x - t, -distance, distance); }
};
template <> struct SlowElement<BinaryCrossEntropy> {
  static double loss(double x, double t) { return -(t * std::log(1 / (1 + std::exp(-x))) + (1 - t) * std::log(1 / (1 + std::exp(x)))); }
  static double slope(double x, double t) { return 1 / (1 + std::exp(-x)) - t; }
};
/// Values are of doubles and round once; of a slope, at most 1 + |t|, some roundings and an exp, and the scale.
template <class Loss>
requires requires { SlowElement<Loss>::slope(0, 0); }
struct SlowLoss<Loss> {
  using Targets = std::vector<float>;
  static Targets targets(const LossCase& c) {
    Targets drawn;
    for (std::int64_t i = 0; i < c.rows * c.features; ++i) drawn.push_back(uniform(Seed{78}, 1, static_cast<std::uint64_t>(i), 0.0F, 1.0F));
    return drawn;
  }
  static LossResults run(const LossCase& c, const Targets& targets, Precision p) {
    LossResults r;
    const auto total = static_cast<double>(c.features * c.total_rows);
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const auto x = static_cast<double>(c.output[i]), target = static_cast<double>(targets[i]);
      r.sum.value += SlowElement<Loss>::loss(x, target) / static_cast<double>(c.features);
      r.gradient.push_back({SlowElement<Loss>::slope(x, target) / total, 12 * p.u / total});
    }
    r.sum.bound = 3 * p.u * r.sum.value;
    return r;
  }
};

template <> struct SlowLoss<MeanSquaredError> {
  using Targets = std::vector<float>;
  static Targets targets(const LossCase& c) {
    Targets drawn;
    for (std::int64_t i = 0; i < c.rows * c.features; ++i) drawn.push_back(uniform(Seed{77}, 1, static_cast<std::uint64_t>(i), -1.0F, 1.0F));
    return drawn;
  }
  /// The difference, the scale and a product round once each; squares of rounded differences, and one rounding at the end.
  static LossResults run(const LossCase& c, const Targets& targets, Precision p) {
    LossResults r;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      const double difference = static_cast<double>(c.output[i]) - static_cast<double>(targets[i]);
      const double slope = 2 * difference / static_cast<double>(c.features * c.total_rows);
      r.sum.value += difference * difference / static_cast<double>(c.features);
      r.gradient.push_back({slope, 3.01 * p.u * std::abs(slope)});
    }
    r.sum.bound = 3.01 * p.u * r.sum.value;
    return r;
  }
};

}  // namespace conformance
