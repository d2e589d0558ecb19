// SPDX-License-Identifier: MIT
// Room: tests. Attention as loops in double over every pair of positions, with the error that float32 may have.
// Sees: conformance/reference.  Does not see: which backend is tested.
// In: a SelfAttention of any extents with its tensors.  Out: Results.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "conformance/reference.hpp"

namespace conformance {

/// Of kernels that round factors. A weight is one when it multiplies a value, and so is a slope of a score: each is off by `factors` of itself there,
/// beside the error that it has. Outputs and gradients that are kept rounded are off by `values` of themselves, and D = dO O, which is made of such
/// an output, by `factors` and `values` of the magnitudes that it sums.
struct Roundings {
  double factors = 0, values = 0;  // 2^-11 is that of TF32, 2^-8 of bfloat16
};

/// A sum of d products is off by e = (d + 4) u times their magnitudes, and so is a score; its power by that and by the rounding of the difference
/// from the largest, relative to itself. So are the weights, twice, and a sum of T of them by T u more. Each later product adds the errors of its
/// factors.
template <class... Options> struct Slow<SelfAttention<Options...>> {
  using L = SelfAttention<Options...>;

  static Leaf leaf(Sizes& sizes) {
    const std::int64_t groups = 1 + sizes.below(2), shared = 1 + sizes.below(3), d = sizes.features(70), positions = 1 + sizes.below(6);
    const std::int64_t long_one = sizes.below(12) == 0 ? 66 : 0;
    Leaf drawn = L::describe(Spec{Shape{1, L::Said::heads() + 2 * L::Said::key_values()}});
    drawn.in.shape = Shape{positions + long_one, (groups * shared + 2 * groups) * (long_one > 0 ? 3 : d)};
    drawn.out.shape = Shape{positions + long_one, groups * shared * (long_one > 0 ? 3 : d)};
    drawn.statistics = Shape{positions + long_one, groups * shared};
    return drawn;
  }
  static Results run(const Tensors& t, Precision p, Roundings r = {}) {
    Run all{t, p, {1.01 * r.factors, 1.01 * r.values}};
    return all.results();
  }

 private:
  struct Run {
    const Tensors& t;
    double u;
    Roundings rounded;
    std::int64_t positions, width, out, heads, d, groups, sequences;
    Results r;

    Run(const Tensors& tensors, Precision p, Roundings roundings)
        : t(tensors), u(p.u), rounded(roundings), positions(t.leaf.in.shape.sizes[t.leaf.in.shape.dimensions - 2]), width(t.leaf.in.shape.last()),
          out(t.leaf.out.shape.last()), heads(t.leaf.statistics.last()), d(out / heads), groups((width - out) / (2 * d)),
          sequences(t.rows * (t.leaf.in.elements() / (positions * width))) {}

    Results results() {
      r.output.resize(index(sequences * positions * out));
      r.input_gradient.resize(index(sequences * positions * width));
      r.statistics.resize(index(sequences * positions * heads));
      for (std::int64_t s = 0; s < sequences; ++s)
        for (std::int64_t h = 0; h < heads; ++h)
          for (std::int64_t i = 0; i < positions; ++i) one_query(s, h, i);
      for (Numbers* const kept : {&r.output, &r.input_gradient})
        for (Wanted& one : *kept) one.bound += rounded.values * (std::abs(one.value) + one.bound);
      for (std::int64_t s = 0; s < sequences && L::causal; ++s) forgive_what_lies_behind(s);
      return std::move(r);
    }

   private:
    static std::size_t index(std::int64_t i) { return static_cast<std::size_t>(i); }
    [[nodiscard]] std::int64_t in(std::int64_t s, std::int64_t j, std::int64_t head, std::int64_t c) const {
      return (s * positions + j) * width + head * d + c;
    }
    void add(std::int64_t at, double a, double off_a, double b) {
      Wanted& sum = r.input_gradient[index(at)];
      sum.value += a * b;
      sum.bound += 2 * std::abs(b) * (off_a + std::abs(a) * static_cast<double>(positions * heads + 8) * u);
    }
    /// By what weight j of a query is multiplied: of one sequence a row, its number is that of the query times the positions, and j.
    [[nodiscard]] double kept(std::int64_t s, std::int64_t h, std::int64_t i, std::int64_t j) const {
      if (L::Said::drop().threshold == 0 || !t.context.trains) return 1;
      const std::int64_t query = ((t.context.first_row + s) * positions + i) * heads + h;
      const bool dropped =
          mask_bits(t.context.seed, t.context.stream(), static_cast<std::uint64_t>(query * positions + j)) < L::Said::drop().threshold;
      return dropped ? 0 : static_cast<double>(L::Said::drop().scale);
    }
    void one_query(std::int64_t s, std::int64_t h, std::int64_t i) {
      const std::int64_t key = heads + h / (heads / groups), value = key + groups;
      const std::int64_t end = L::causal ? i + 1 : positions;
      const double scale = 1 / std::sqrt(static_cast<double>(d)), products = static_cast<double>(d + 4) * u;
      const std::int64_t own = (s * positions + i) * out + h * d;
      std::vector<double> weights;
      double most = -std::numeric_limits<double>::infinity(), far = 0, sum = 0;
      for (std::int64_t j = 0; j < end; ++j) {
        double score = 0, size = 0;
        for (std::int64_t c = 0; c < d; ++c) {
          const double term = t.x(in(s, i, h, c)) * t.x(in(s, j, key, c)) * scale;
          score += term;
          size += std::abs(term);
        }
        weights.push_back(score);
        most = std::max(most, score);
        far = std::max(far, products * size + 4 * u * (size + std::abs(score)));
      }
      for (double& weight : weights) sum += weight = std::exp(weight - most);
      for (double& weight : weights) weight /= sum;
      const double off = 4 * far + static_cast<double>(2 * end + 16) * u;  // of a weight, relative to it
      r.statistics[index((s * positions + i) * heads + h)] = {most + std::log(sum), off + 4 * u * std::abs(most + std::log(sum))};
      std::vector<double> slopes;
      double along = 0, off_slopes = 0;
      for (std::int64_t j = 0; j < end; ++j) {
        double slope = 0, size = 0;
        const double stays = kept(s, h, i, j), weight = weights[index(j)] * stays;
        for (std::int64_t c = 0; c < d; ++c) {
          const double v = t.x(in(s, j, value, c)), dy = t.dy(own + c);
          r.output[index(own + c)].value += weight * v;
          r.output[index(own + c)].bound += (2 * off + rounded.factors) * weight * std::abs(v);
          slope += stays * dy * v;
          size += std::abs(stays * dy * v);
          add(in(s, j, value, c), weight, (2 * off + rounded.factors) * weight, dy);
        }
        slopes.push_back(slope);
        along += weights[index(j)] * slope;
        off_slopes = std::max(off_slopes, (products + 4 * off + rounded.factors + rounded.values) * size);
      }
      for (std::int64_t j = 0; j < end; ++j) {
        const double slope = weights[index(j)] * (slopes[index(j)] - along) * scale;
        const double wrong = weights[index(j)] * scale * (2 * off_slopes + 4 * off * (std::abs(slopes[index(j)]) + std::abs(along))) +
                             rounded.factors * std::abs(slope);
        for (std::int64_t c = 0; c < d; ++c) {
          add(in(s, i, h, c), slope, wrong, t.x(in(s, j, key, c)));
          add(in(s, j, key, c), slope, wrong, t.x(in(s, i, h, c)));
        }
      }
    }
    /// A weight of 0 times a NaN that lies behind is a NaN, or is left out: nothing is said of a sequence with one, but what must be NaN.
    void forgive_what_lies_behind(std::int64_t s) {
      bool spoilt = false;
      for (std::int64_t i = 0; i < positions * width; ++i) spoilt = spoilt || std::isnan(t.x(s * positions * width + i));
      const auto forgive = [&](Numbers& numbers, std::int64_t each) {
        for (std::int64_t i = 0; i < positions * each; ++i) {
          Wanted& one = numbers[index(s * positions * each + i)];
          one.may_be_nan = !std::isnan(one.value);
        }
      };
      if (!spoilt) return;
      forgive(r.output, out);
      forgive(r.input_gradient, width);
    }
  };
};

}  // namespace conformance
