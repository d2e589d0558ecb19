// SPDX-License-Identifier: MIT
// Room: tests. What several losses must give: each of them in arrays of its own, times its weight.
// Sees: graph, conformance/reference.  Does not see: any backend.
// In: one grain of Losses<...>.  Out: SlowLoss<Losses<...>>, outputs_of_losses.
#pragma once

#include <cmath>
#include <cstdint>
#include <type_traits>
#include <utility>
#include <vector>

#include "conformance/reference.hpp"

namespace conformance {

/// How many outputs a loss reads of a position; 0 if any.
template <class Loss> inline constexpr std::int64_t outputs_of_losses = 0;
template <class... Each>
inline constexpr std::int64_t outputs_of_losses<heddle::Losses<Each...>> = (0 + ... + graph_room::ReadLossOf<Each>::said.reads.elements());

template <class... Each> struct SlowLoss<heddle::Losses<Each...>> {
  using All = heddle::Losses<Each...>;
  using Targets = std::vector<TargetValue>;

  /// What the losses read of a row: c.features numbers, of c.positions positions.
  static Spec spec(const LossCase& c) { return {c.positions > 1 ? Shape{c.positions, c.features / c.positions} : Shape{c.features}}; }

  /// One of them: its part of each position, as a row of its own.
  template <class One> struct Part {
    using Loss = typename graph_room::ReadLossOf<One>::Loss;
    PlaceOfLoss place;
    Floats output, weights;
    LossCase alone;

    Part(const LossCase& c, int number)
        : place(All::place_of(number, spec(c))), alone{c.rows * c.positions,
                                                       place.reads.elements(),
                                                       1,
                                                       c.total_rows * c.positions,
                                                       graph_room::counts_target<Loss>(-100) ? 0 : c.left_out,
                                                       output,
                                                       weights} {
      for (std::int64_t i = 0; i < c.rows * c.positions; ++i)
        for (std::int64_t j = 0; j < alone.features; ++j) output.push_back(c.output[static_cast<std::size_t>(i * place.stride + place.first + j)]);
      if (graph_room::weighs_classes<Loss>() && !c.class_weights.empty())
        weights.assign(c.class_weights.begin(), c.class_weights.begin() + alone.features);
    }
    [[nodiscard]] std::int64_t target(const LossCase& c, std::int64_t i, std::int64_t j) const {
      return i / c.positions * All::target_features(spec(c)) + place.first_target + i % c.positions * place.targets + j;
    }
    [[nodiscard]] double divisor() const {
      return alone.class_weights.empty() ? static_cast<double>(alone.total_rows - alone.left_out) : alone.sum_of_weights();
    }
  };

  static Targets targets(const LossCase& c) {
    Targets all(static_cast<std::size_t>(c.rows * All::target_features(spec(c))));
    int number = 0;
    (..., draw<Each>(c, number++, all));
    return all;
  }
  static LossResults run(const LossCase& c, const Targets& targets, Precision p) {
    LossResults all;
    all.gradient.resize(c.output.size());
    int number = 0;
    (..., add<Each>(c, number++, targets, p, all));
    all.sum.bound += 4 * p.u * std::abs(all.sum.value);
    return all;
  }

 private:
  template <class One> static void draw(const LossCase& c, int number, Targets& all) {
    if (!All::said[number].shares.empty()) return;
    const Part<One> part{c, number};
    const auto own = SlowLoss<typename Part<One>::Loss>::targets(part.alone);
    for (std::int64_t i = 0; i < part.alone.rows; ++i)
      for (std::int64_t j = 0; j < part.place.targets; ++j)
        all[static_cast<std::size_t>(part.target(c, i, j))] = own[static_cast<std::size_t>(i * part.place.targets + j)];
  }
  template <class One> static void add(const LossCase& c, int number, const Targets& targets, Precision p, LossResults& all) {
    const Part<One> part{c, number};
    typename SlowLoss<typename Part<One>::Loss>::Targets own;
    for (std::int64_t i = 0; i < part.alone.rows; ++i)
      for (std::int64_t j = 0; j < part.place.targets; ++j) {
        const TargetValue target = targets[static_cast<std::size_t>(part.target(c, i, j))];
        if constexpr (std::is_same_v<typename Part<One>::Loss::Target, std::int32_t>)
          own.push_back(target.label());
        else
          own.push_back(target.value());
      }
    const LossResults alone = SlowLoss<typename Part<One>::Loss>::run(part.alone, own, p);
    const double weight = All::said[number].weight, scale = weight * static_cast<double>(c.total_rows) / part.divisor();
    all.sum.value += scale * alone.sum.value;
    all.sum.bound += scale * (alone.sum.bound + 4 * p.u * std::abs(alone.sum.value) + 4 * p.u * static_cast<double>(part.alone.rows));
    for (std::int64_t i = 0; i < part.alone.rows; ++i)
      for (std::int64_t j = 0; j < part.alone.features; ++j) {
        const Wanted& slope = alone.gradient[static_cast<std::size_t>(i * part.alone.features + j)];
        all.gradient[static_cast<std::size_t>(i * part.place.stride + part.place.first + j)] = {
            weight * slope.value, weight * (slope.bound + 2 * p.u * std::abs(slope.value)), slope.may_be_nan};
      }
  }
};

}  // namespace conformance
