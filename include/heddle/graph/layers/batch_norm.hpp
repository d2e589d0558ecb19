// SPDX-License-Identifier: MIT
// Room: graph. BatchNorm2d of images, with PyTorch's parameter names, initialisation and running statistics.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the Spec of the input.  Out: Leaf.
#pragma once

#include <concepts>
#include <cstdint>

#include "heddle/core/type_name.hpp"
#include "heddle/graph/layers/norm.hpp"
#include "heddle/graph/leaf.hpp"

namespace heddle::graph_room {

/// How far a step takes running statistics to those of its rows: Numerator / Denominator of the way. Momentum<1, 10> is 0.1.
///
/// Tested  graph/layers/batch_norm_test, fail/G25_momentum_above_one
template <auto Numerator, auto Denominator = 1> struct Momentum {
  static constexpr auto momentum_denominator = Denominator;
  static constexpr bool is_fraction = std::integral<std::remove_cv_t<decltype(Numerator)>> && std::integral<std::remove_cv_t<decltype(Denominator)>>;
  static constexpr bool is_sound = is_fraction && Numerator >= 0 && Denominator >= 1 && Numerator <= Denominator;
  static constexpr float value() { return static_cast<float>(static_cast<double>(Numerator) / static_cast<double>(Denominator)); }
};

/// BatchNorm2d<64, Synchronised> takes mean and variance over one micro-batch of all ranks that split the batch, as torch.nn.SyncBatchNorm does.
///
/// Tested  graph/layers/batch_norm_test, equivalence/synchronised_test
struct Synchronised {
  static constexpr bool over_ranks = true;
};

/// What the options of BatchNorm2d say: at most one Epsilon, one Momentum and one Synchronised.
template <class... Options> struct BatchNormOptions {
  template <class Option> static constexpr bool is_momentum = requires { Option::momentum_denominator; };
  static constexpr int epsilons = NormOptions<Options...>::epsilons;
  template <class Option> static constexpr bool is_over_ranks = requires { Option::over_ranks; };
  static constexpr int momenta = (0 + ... + (is_momentum<Options> ? 1 : 0));
  static constexpr int over_ranks = (0 + ... + (is_over_ranks<Options> ? 1 : 0));
  static constexpr bool all_known = epsilons + momenta + over_ranks == static_cast<int>(sizeof...(Options));

  template <class Option> static constexpr bool sound() {
    if constexpr (is_momentum<Option>)
      return Option::is_sound;
    else
      return true;
  }
  static constexpr bool momentum_in_range = (true && ... && sound<Options>());
  template <class Option> static constexpr float named_or(float otherwise) {
    if constexpr (is_momentum<Option> && sound<Option>())
      return Option::value();
    else
      return otherwise;
  }
  static constexpr float momentum(float otherwise) {
    ((otherwise = named_or<Options>(otherwise)), ...);
    return otherwise;
  }
};

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias, channel by channel, as torch.nn.BatchNorm2d. In training mean and variance are those of
/// a grain, the rows that are summed as one: a micro-batch of a replica, unless Grain<R> is named. Each grain is so normalised wherever it is run.
/// A prediction, an evaluation and what is Frozen take running_mean and running_var instead. Once a step these go Momentum of the way to the means
/// over all rows of what grains had, of which the variances are those of a sample: PyTorch's numbers, where a step is one grain. A grain of one value
/// a channel has no such variance and counts nothing there. A step that is skipped changes neither.
///
/// With Synchronised mean and variance are those of a micro-batch of all ranks: torch.nn.SyncBatchNorm's numbers, with the bits of one device that
/// has the same micro-batches and grains. The sums follow the grain tree. Two sums of a float a channel cross the ranks forward, one of two backward,
/// in every micro-batch; what runs again repeats none.
/// Epsilon is 1e-5 and Momentum 1 / 10 unless they are named.
///
/// Shape   (Channels, H, W) stays as it is; weight, bias, running_mean and running_var (Channels); statistics (Channels, 2): mean and variance of the
///         grain, in each of its rows
/// Moves   Synchronised: 2 (N-1)/N x 16 x Channels per micro-batch, over N ranks   [bytes per rank]
/// Errors  G01 if the value is no (Channels, H, W); G06, G25 as LayerNorm; B14 one row with one value a channel; G15 tied
/// Source  sources.md#batch-norm
/// Tested  graph/layers/batch_norm_test, compute/eigen/batch_norm_test, compute/field/batch_norm_test, golden/batch_norm_test,
///         equivalence/batch_norm_test, equivalence/synchronised_test
template <std::int64_t Channels, class... Options> struct BatchNorm2d {
  using KernelLayer = BatchNorm2d;
  static constexpr float epsilon = NormOptions<Options...>::epsilon(1e-5F);
  static constexpr float momentum = BatchNormOptions<Options...>::momentum(0.1F);
  static constexpr bool synchronised = BatchNormOptions<Options...>::over_ranks > 0;

  static constexpr Leaf describe(Spec in) {
    Leaf leaf;
    leaf.kind << "BatchNorm2d";
    leaf.spelled << "BatchNorm2d<";
    write_digits(leaf.spelled, Channels);
    NormOptions<Options...>::write(leaf.spelled);
    leaf.spelled << '>';
    leaf.in = leaf.out = in;
    leaf.saves = Saves::input;
    leaf.weights_read = false;  // what the weight multiplies is made of the input and its statistics
    if (leaf.fault = refusal(leaf, in); !leaf.fault.ok()) return leaf;
    leaf.out.sequence = -1;  // whatever the value before it has: the first dimension is channels
    const std::int64_t values = in.elements() / in.shape.sizes[0];
    leaf.statistics = Shape{Channels, 2};
    leaf.rows_together = values == 1 ? 2 : 1;
    leaf.momentum = momentum;
    leaf.with({"weight", Shape{Channels}, Initial::ones}).with({"bias", Shape{Channels}, Initial::zeros});
    leaf.with({"running_mean", Shape{Channels}, Initial::zeros, 1, 1}).with({"running_var", Shape{Channels}, Initial::ones, 1, 2});
    leaf.forward_flops = counted_product(7, in.elements());
    leaf.weight_flops = counted_product(4, in.elements());
    leaf.backward_flops = counted_sum(leaf.weight_flops, counted_product(8, in.elements()));
    Signature channels{laid::shard(0), laid::shard(0), laid::shard(0), laid::shard(0), {}, {}};
    for (int p = 0; p < leaf.parameter_count; ++p) channels.with(p, laid::shard(0), laid::shard(0));
    channels.with_statistics(laid::shard(0));
    if constexpr (synchronised) {
      leaf.forward_phases.then_sum(Channels).then_sum(Channels);  // of values, of squares of what they are off their mean
      leaf.backward_phases.then_sum(2 * Channels);                // of gradients, and of gradients times what they are off it
      channels.with_parts_of_sums();
    }
    leaf.splits(channels);
    return leaf;
  }

 private:
  using Named = BatchNormOptions<Options...>;
  static constexpr Diagnosis refusal(const Leaf& leaf, const Spec& in) {
    constexpr std::int64_t most_channels = std::int64_t{1} << 30;
    const auto refuse = [&](int code) { return Diagnosis{Code{'G', code}, leaf.spelled.view()}; };
    if (Channels < 1 || Channels > most_channels)
      return refuse(6) << " has a size that is not between 1 and " << most_channels << ". Fix: write the number of channels of the value before it.";
    if (Named::epsilons > 1 || Named::momenta > 1 || Named::over_ranks > 1) return refuse(25) << " names an option twice. Fix: keep one of them.";
    if (!Named::all_known)
      return refuse(25)
             << " names what is no option of BatchNorm2d. Fix: write Synchronised, Epsilon<6> for 1e-6, Momentum<1, 100> for 0.01, or nothing.";
    if (!NormOptions<Options...>::in_range)
      return refuse(25) << " has an epsilon that is not between 1e-1 and 1e-30. Fix: write the digits of what is added: Epsilon<5> is 1e-5.";
    if (!Named::momentum_in_range) return refuse(25) << " has a momentum that is no fraction between 0 and 1. Fix: write Momentum<1, 10> for 0.1.";
    if (in.type != ElementType::float32)
      return refuse(1) << " takes float32 but the value before it has " << name_of(in.type) << ". Fix: put a layer that gives float32 before it.";
    if (in.shape.dimensions != 3)
      return refuse(1) << " takes images, of channels, height and width, but the value before it has " << in.shape
                       << ". Fix: put Unflatten before it, or LayerNorm<" << in.shape.last() << "> in its place.";
    if (in.shape.sizes[0] == Channels) return {};
    Diagnosis other = refuse(1) << " takes " << Channels << " channels but the value before it has " << in.shape;
    if (in.shape.last() == Channels)
      return other << ", and channels stand before height and width. Fix: give images of " << Shape(Channels, in.shape.sizes[0], in.shape.sizes[1])
                   << ", or write BatchNorm2d<" << in.shape.sizes[0] << "> if they are so.";
    return other << ". Fix: write BatchNorm2d<" << in.shape.sizes[0] << ">.";
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::BatchNorm2d, graph_room::Momentum, graph_room::Synchronised;
}  // namespace heddle
