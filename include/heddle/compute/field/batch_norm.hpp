// SPDX-License-Identifier: MIT
// Room: compute. BatchNorm2d in the field: statistics are any functions of a channel of a grain, running ones are sums of such.
// Sees: graph/layers/batch_norm, seams/concepts, compute/field.  Does not see: policies, programs.
// In: ForwardCall, BackwardCall.  Out: FieldKernel<BatchNorm2d>.
#pragma once

#include <cstdint>
#include <vector>

#include "heddle/compute/field/field.hpp"
#include "heddle/graph/layers/batch_norm.hpp"

namespace heddle::compute_room {

/// With statistics s that are any functions of all values x of a channel in a grain: y_i = w h(x_i, s) + b for any function h, the same for each
/// channel. The backward reads the statistics that were left: dw = sum of dy_i h(x_i, s), db = sum of dy_i, and dx_i is the sum over j of dy_j w
/// times any function of i, j, x and s. The sums for running statistics are any functions of s and the number of values. What trains nothing takes
/// the running statistics for s, and dx_i is dy_i w times any function of x_i and s. 2 rows of (3, 1, 2) have 3 channels of 4 values.
///
/// Law     channels stand alone, so a rank may have some of them; a grain has its numbers wherever it is run
/// Tested  compute/field/batch_norm_test
template <class L> struct FieldBatchNorm {
  static constexpr bool of_heddle = true;
  static constexpr bool backward_in_parts = true;

  static void forward(const ForwardCall& call) {
    const Grain grain{*call.leaf, call.rows};
    for (std::int64_t c = 0; c < grain.channels && call.rows > 0; ++c) {
      float own[2] = {call.parameters[2][c], call.parameters[3][c]};
      if (call.context.trains) {
        const std::uint64_t all = grain.digest(call.input, c);
        for (std::uint64_t s = 0; s < 2; ++s) own[s] = Field::write(Field::hash(symbol_of<L>("statistics"), {all}, {s}));
      }
      for (std::int64_t r = 0; r < call.rows && call.statistics != nullptr; ++r)
        for (std::int64_t s = 0; s < 2; ++s) call.statistics[(r * grain.channels + c) * 2 + s] = own[s];
      const std::uint64_t statistics = Field::digest(own, 2);
      grain.each(c, [&](std::int64_t i) {
        FieldSum sum{Field::read(call.parameters[1][c])};
        sum.add(Field::read(call.parameters[0][c]), normalised(call.input[i], statistics));
        call.output[i] = sum.element();
      });
    }
  }
  static void backward(const BackwardCall& call) {
    const Grain grain{*call.leaf, call.rows};
    float* const* const sums = call.parameter_gradients;
    for (int p = 0; p < 4 && sums != nullptr && !call.add; ++p) FieldCompute::zero(sums[p], grain.channels);
    for (std::int64_t c = 0; c < grain.channels && call.rows > 0; ++c) {
      const float* const left = call.statistics + c * 2;
      const std::uint64_t statistics = Field::digest(left, 2);
      if (sums != nullptr) {
        FieldSum along{Field::read(sums[0][c])};
        grain.each(c, [&](std::int64_t i) {
          along.add(Field::read(call.output_gradient[i]), normalised(call.input[i], statistics));
          sums[1][c] = FieldArithmetic::plus(sums[1][c], call.output_gradient[i]);
        });
        sums[0][c] = along.element();
        const std::int64_t n = call.context.trains ? grain.count() : 0;  // running statistics that are read are not made
        for (int s = 0; s < 2; ++s)
          if (n > s) sums[2 + s][c] = FieldArithmetic::plus(sums[2 + s][c], weighed(left[s], n));
      }
      if (call.input_gradient != nullptr) pull_back(call, grain, c, statistics);
    }
  }

 protected:
  /// The values of one grain by channels, in the order of its rows: 2 rows of (3, 1, 2) have 3 channels of 4.
  struct Grain {
    std::int64_t channels, values, rows;
    Grain(const Leaf& leaf, std::int64_t rows_given) : channels(leaf.in.shape.sizes[0]), values(leaf.in.elements() / channels), rows(rows_given) {}
    [[nodiscard]] std::int64_t count() const { return rows * values; }
    template <class Visit> void each(std::int64_t c, const Visit& visit) const {
      for (std::int64_t r = 0; r < rows; ++r)
        for (std::int64_t i = 0; i < values; ++i) visit((r * channels + c) * values + i);
    }
    [[nodiscard]] std::uint64_t digest(const float* from, std::int64_t c) const {
      std::vector<float> all;
      each(c, [&](std::int64_t i) { all.push_back(from[i]); });
      return Field::digest(all.data(), count());
    }
  };
  [[nodiscard]] static std::uint64_t normalised(float x, std::uint64_t statistics) {
    return Field::hash(symbol_of<L>("normalised"), {Field::read(x), statistics});
  }

 private:
  [[nodiscard]] static float weighed(float statistic, std::int64_t n) {
    return Field::write(Field::hash(symbol_of<L>("weighed"), {Field::read(statistic)}, {static_cast<std::uint64_t>(n)}));
  }
  static void pull_back(const BackwardCall& call, const Grain& grain, std::int64_t c, std::uint64_t statistics) {
    const std::uint64_t weight = Field::read(call.parameters[0][c]);
    const std::uint64_t all = call.context.trains ? grain.digest(call.input, c) : 0;
    std::uint64_t to = 0;
    grain.each(c, [&](std::int64_t i) {
      FieldSum sum;
      std::uint64_t from = 0;
      if (call.context.trains)
        grain.each(c, [&](std::int64_t j) {
          const std::uint64_t slope = Field::hash(symbol_of<L>("slope"), {all, statistics}, {to, from++});
          sum.add(Field::times(Field::read(call.output_gradient[j]), weight), slope);
        });
      else
        sum.add(Field::times(Field::read(call.output_gradient[i]), weight),
                Field::hash(symbol_of<L>("still"), {Field::read(call.input[i]), statistics}));
      ++to;
      call.input_gradient[i] = sum.element();
    });
  }
};

/// With Synchronised: a grain tells the sum of any function of each of its values, then of any function of each and of the first sum; the statistics
/// are any functions of both sums and of the number of all values. Backward it tells the sum of dy_j times any function of x_j and s, and of dy_j;
/// with these sums t and u dx_i is w times the sum of dy_i, t and u, each times any function of x_i, s and the number of values.
///
/// Law     sums do not depend on how values are divided into grains, ranks or layouts
/// Tested  compute/field/batch_norm_test
template <class L> struct FieldSynchronised : FieldBatchNorm<L> {
  using Grain = typename FieldBatchNorm<L>::Grain;

  static void sums(const ForwardCall& call) {
    tell(call, [](const ForwardCall&, std::int64_t, float x) { return Field::hash(symbol_of<L>("first"), {Field::read(x)}); });
  }
  static void squares(const ForwardCall& call) {
    tell(call, [](const ForwardCall& of, std::int64_t c, float x) {
      return Field::hash(symbol_of<L>("second"), {Field::read(x), Field::read(of.told[0][c])}, {all_values(of)});
    });
  }
  static void normalise(const ForwardCall& call) {
    const Grain grain{*call.leaf, call.rows};
    for (std::int64_t c = 0; c < grain.channels && call.rows > 0; ++c) {
      float own[2] = {};
      for (std::uint64_t s = 0; s < 2; ++s)
        own[s] = call.told == nullptr
                     ? call.statistics[c * 2 + static_cast<std::int64_t>(s)]
                     : Field::write(Field::hash(symbol_of<L>("statistics"), {Field::read(call.told[0][c]), Field::read(call.told[1][c])},
                                                {s, all_values(call)}));
      for (std::int64_t r = 0; r < call.rows && call.statistics != nullptr && call.told != nullptr; ++r)
        for (std::int64_t s = 0; s < 2; ++s) call.statistics[(r * grain.channels + c) * 2 + s] = own[s];
      const std::uint64_t statistics = Field::digest(own, 2);
      grain.each(c, [&](std::int64_t i) {
        FieldSum sum{Field::read(call.parameters[1][c])};
        sum.add(Field::read(call.parameters[0][c]), FieldBatchNorm<L>::normalised(call.input[i], statistics));
        call.output[i] = sum.element();
      });
    }
  }
  /// The gradients of parameters are those of a grain alone, of the statistics that all have.
  static void gradient_sums(const BackwardCall& call) {
    const Grain grain{*call.leaf, call.rows};
    float* const* const of = call.parameter_gradients;
    for (int p = 0; p < 4 && of != nullptr && !call.add; ++p) FieldCompute::zero(of[p], grain.channels);
    for (std::int64_t c = 0; c < grain.channels; ++c) {
      FieldSum along, slope;
      float level = 0;
      const std::uint64_t statistics = call.rows > 0 ? Field::digest(call.statistics + c * 2, 2) : 0;
      grain.each(c, [&](std::int64_t i) {
        along.add(Field::read(call.output_gradient[i]), FieldBatchNorm<L>::normalised(call.input[i], statistics));
        slope.add(Field::read(call.output_gradient[i]), Field::hash(symbol_of<L>("slope"), {Field::read(call.input[i]), statistics}));
        level = FieldArithmetic::plus(level, call.output_gradient[i]);
      });
      if (call.tells != nullptr) {
        call.tells[2 * c] = slope.element();
        call.tells[2 * c + 1] = level;
      }
      if (of == nullptr || call.rows == 0) continue;
      of[0][c] = FieldArithmetic::plus(of[0][c], along.element());
      of[1][c] = FieldArithmetic::plus(of[1][c], level);
      const std::uint64_t values = all_values(call);
      for (int s = 0; s < 2; ++s)
        if (values > static_cast<std::uint64_t>(s))
          of[2 + s][c] = FieldArithmetic::plus(of[2 + s][c], share(call.statistics[c * 2 + s], values, grain));
    }
  }
  static void pull_back(const BackwardCall& call) {
    const Grain grain{*call.leaf, call.rows};
    for (std::int64_t c = 0; c < grain.channels && call.rows > 0; ++c) {
      const std::uint64_t statistics = Field::digest(call.statistics + c * 2, 2);
      const std::uint64_t weight = Field::read(call.parameters[0][c]);
      grain.each(c, [&](std::int64_t i) {
        const auto any = [&](std::uint64_t which) {
          const std::initializer_list<std::uint64_t> elements = {Field::read(call.input[i]), statistics};
          return Field::times(weight, which == 0 ? Field::hash(symbol_of<L>("back"), elements, {which, all_values(call)})
                                                 : Field::hash_again(symbol_of<L>("back"), elements, {which, all_values(call)}));
        };
        FieldSum sum;
        sum.add(Field::read(call.output_gradient[i]), any(0));
        sum.add(Field::read(call.told[0][2 * c]), any(1));
        sum.add(Field::read(call.told[0][2 * c + 1]), any(2));
        call.input_gradient[i] = sum.element();
      });
    }
  }
  static constexpr ForwardPhase forward_phases[] = {&FieldSynchronised::sums, &FieldSynchronised::squares, &FieldSynchronised::normalise};
  static constexpr BackwardPhase backward_phases[] = {&FieldSynchronised::gradient_sums, &FieldSynchronised::pull_back};

 private:
  template <class Call> [[nodiscard]] static std::uint64_t all_values(const Call& call) {
    return static_cast<std::uint64_t>(call.context.rows_together * (call.leaf->in.elements() / call.leaf->in.shape.sizes[0]));
  }
  /// Of a sum for running statistics: as many times any function of a statistic as the grain has values.
  [[nodiscard]] static float share(float statistic, std::uint64_t values, const Grain& grain) {
    return Field::write(
        Field::times(Field::hash(symbol_of<L>("weighed"), {Field::read(statistic)}, {values}), Field::image(static_cast<float>(grain.count()))));
  }
  template <class Term> static void tell(const ForwardCall& call, const Term& term) {
    const Grain grain{*call.leaf, call.rows};
    for (std::int64_t c = 0; c < grain.channels; ++c) {
      std::uint64_t sum = 0;
      grain.each(c, [&](std::int64_t i) { sum = Field::plus(sum, term(call, c, call.input[i])); });
      call.tells[c] = Field::write(sum);
    }
  }
};

}  // namespace heddle::compute_room

namespace heddle {

template <std::int64_t Channels, class... Options>
struct FieldKernel<graph_room::BatchNorm2d<Channels, Options...>> : compute_room::FieldBatchNorm<graph_room::BatchNorm2d<Channels, Options...>> {};
template <std::int64_t Channels, class... Options>
requires graph_room::BatchNorm2d<Channels, Options...>::synchronised struct FieldKernel<graph_room::BatchNorm2d<Channels, Options...>>
    : compute_room::FieldSynchronised<graph_room::BatchNorm2d<Channels, Options...>> {
};

}  // namespace heddle
