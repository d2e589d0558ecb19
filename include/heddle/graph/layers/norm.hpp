// SPDX-License-Identifier: MIT
// Room: graph. LayerNorm and RMSNorm of the last dimension, with PyTorch's parameter names and initialisation.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: the Spec of the input.  Out: Leaf.
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>
#include <type_traits>

#include "heddle/core/type_name.hpp"
#include "heddle/graph/layers/linear.hpp"
#include "heddle/graph/leaf.hpp"
#include "heddle/graph/spelled.hpp"

namespace heddle::graph_room {

/// Added to a variance or a mean square before its root is taken: 10 to the power of -Digits. Epsilon<6> is 1e-6.
///
/// Tested  graph/layers/norm_test, fail/G25_epsilon_of_no_digits
template <auto Digits> struct Epsilon {
  static constexpr auto epsilon_digits = Digits;
  static constexpr bool is_sound = std::integral<std::remove_cv_t<decltype(Digits)>> && Digits >= 1 && Digits <= 30;
  static constexpr float value() {
    double result = 1;
    for (int i = 0; i < Digits; ++i) result /= 10;
    return static_cast<float>(result);
  }
};

/// What the options of a norm say: the arguments behind the features. Those of LayerNorm<8, NoBias> are 1, of which 1 is of the bias.
template <class... Options> struct NormOptions {
  template <class Option> static constexpr bool is_epsilon = requires { Option::epsilon_digits; };
  static constexpr int count = sizeof...(Options);
  static constexpr int biases = (0 + ... + (std::same_as<Options, NoBias> || std::same_as<Options, WithBias> ? 1 : 0));
  static constexpr int epsilons = (0 + ... + (is_epsilon<Options> ? 1 : 0));
  static constexpr bool has_bias = !(false || ... || std::same_as<Options, NoBias>);

  template <class Option> static constexpr bool sound() {
    if constexpr (is_epsilon<Option>)
      return Option::is_sound;
    else
      return true;
  }
  static constexpr bool in_range = (true && ... && sound<Options>());
  template <class Option> static constexpr float named_or(float otherwise) {
    if constexpr (is_epsilon<Option> && sound<Option>())
      return Option::value();
    else
      return otherwise;
  }
  static constexpr float epsilon(float otherwise) {
    ((otherwise = named_or<Options>(otherwise)), ...);
    return otherwise;
  }
  /// ", NoBias, Epsilon<6>" as they were written.
  static constexpr void write(Text<64>& to) { (void(to << ", " << type_name<Options>().view()), ...); }
};

/// What both norms have in common: each vector of the last dimension is divided by its own size, and by nothing of other vectors, so any other
/// dimension may be split over ranks, each of which then has a term of the gradients of the parameters.
template <class Options> [[nodiscard]] constexpr Leaf describe_norm(std::string_view kind, std::int64_t features, int statistics, const Spec& in) {
  constexpr std::int64_t most_features = std::int64_t{1} << 30;
  Leaf leaf;
  leaf.kind << kind;
  leaf.spelled << kind << '<';
  write_digits(leaf.spelled, features);
  Options::write(leaf.spelled);
  leaf.spelled << '>';
  leaf.in = leaf.out = in;
  leaf.saves = Saves::input;
  leaf.weights_read = false;  // what the weight multiplies is made of the input and its statistics
  if (features < 1 || features > most_features) {
    leaf.fault = Diagnosis{Code{'G', 6}, leaf.spelled.view()} << " has a size that is not between 1 and " << most_features
                                                              << ". Fix: write the number of features of the value before it.";
  } else if (Options::biases > 1 || Options::epsilons > 1) {
    leaf.fault = Diagnosis{Code{'G', 25}, leaf.spelled.view()} << " names an option twice. Fix: keep one of them.";
  } else if (Options::biases + Options::epsilons < Options::count || (statistics == 1 && Options::biases > 0)) {
    leaf.fault = Diagnosis{Code{'G', 25}, leaf.spelled.view()} << " names what is no option of " << kind << ". Fix: write Epsilon<6> for 1e-6"
                                                               << (statistics == 2 ? ", NoBias for no bias" : "") << ", or nothing.";
  } else if (!Options::in_range) {
    leaf.fault = Diagnosis{Code{'G', 25}, leaf.spelled.view()} << " has an epsilon that is not between 1e-1 and 1e-30. Fix: write the digits of "
                                                                  "what is added: Epsilon<5> is 1e-5.";
  } else if (in.type != ElementType::float32) {
    leaf.fault = Diagnosis{Code{'G', 1}, leaf.spelled.view()} << " takes float32 but the value before it has " << name_of(in.type)
                                                              << ". Fix: put a layer that gives float32 before it.";
  } else if (in.shape.last() != features) {
    leaf.fault = Diagnosis{Code{'G', 1}, leaf.spelled.view()} << " takes " << features << " features but the value before it has " << in.shape
                                                              << ". Fix: write " << kind << '<' << in.shape.last() << ">.";
  }
  if (!leaf.fault.ok()) return leaf;
  leaf.statistics = in.shape;
  leaf.statistics.sizes[in.shape.dimensions - 1] = statistics;
  leaf.with({"weight", Shape{features}, Initial::ones});
  if (statistics == 2 && Options::has_bias) leaf.with({"bias", Shape{features}, Initial::zeros});
  leaf.forward_flops = counted_product(statistics == 2 ? 8 : 5, in.elements());
  leaf.weight_flops = counted_product(2 + leaf.parameter_count, in.elements());
  leaf.backward_flops = counted_sum(leaf.weight_flops, counted_product(statistics == 2 ? 9 : 7, in.elements()));
  for (int d = 0; d + 1 < in.shape.dimensions; ++d) {
    Signature each{laid::shard(d), laid::shard(d), laid::shard(d), laid::shard(d), {}, {}};
    for (int p = 0; p < leaf.parameter_count; ++p) each.with(p, laid::replicate, laid::partial);
    leaf.splits(each.with_statistics(laid::shard(d)));
  }
  return leaf;
}

/// y = (x - mean) / sqrt(variance + epsilon) * weight + bias over the last dimension, as torch.nn.LayerNorm; the variance is that of all features
/// (divided by their number). Epsilon is 1e-5 unless Epsilon<Digits> is named; LayerNorm<64, NoBias> has no bias.
/// The forward leaves mean and 1 / sqrt(variance + epsilon) of each vector for the backward.
///
/// Shape   (..., Features) stays as it is; weight (Features), bias (Features); statistics (..., 2)
/// Errors  G01 if the last dimension of the value is not Features; G06 a size out of range; G25 an option twice, or no epsilon
/// Source  sources.md#layer-norm
/// Tested  graph/layers/norm_test, compute/eigen/norm_test, compute/field/norm_test, golden/norm_test, equivalence/norm_test
template <std::int64_t Features, class... Options> struct LayerNorm {
  using KernelLayer = LayerNorm;
  static constexpr float epsilon = NormOptions<Options...>::epsilon(1e-5F);
  static constexpr Spec takes() { return Spec{Shape{Features}}; }
  static constexpr Leaf describe(Spec in) { return describe_norm<NormOptions<Options...>>("LayerNorm", Features, 2, in); }
};

/// y = x / sqrt(mean of x^2 + epsilon) * weight over the last dimension, as torch.nn.RMSNorm. Epsilon is 2^-23, which PyTorch takes if none is named,
/// unless Epsilon<Digits> is named.
/// The forward leaves 1 / sqrt(mean of x^2 + epsilon) of each vector for the backward.
///
/// Shape   (..., Features) stays as it is; weight (Features); statistics (..., 1)
/// Errors  as LayerNorm
/// Source  sources.md#rmsnorm
/// Tested  as LayerNorm
template <std::int64_t Features, class... Options> struct RMSNorm {
  using KernelLayer = RMSNorm;
  static constexpr float epsilon = NormOptions<Options...>::epsilon(0x1p-23F);
  static constexpr Spec takes() { return Spec{Shape{Features}}; }
  static constexpr Leaf describe(Spec in) { return describe_norm<NormOptions<Options...>>("RMSNorm", Features, 1, in); }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::Epsilon, graph_room::LayerNorm, graph_room::RMSNorm;
}  // namespace heddle
