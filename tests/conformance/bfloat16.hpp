// SPDX-License-Identifier: MIT
// Room: tests. Arithmetic of fewer bits: how far TF32 is off, and the law of kernels that take bfloat16. What one makes of values is what it makes of
// the same values as floats, rounded once.
// Sees: conformance/compute.  Does not see: which backend is tested.
// In: a layer or a loss, and two Computes, of floats and of bfloat16.  Out: the first law that is broken, as a sentence; empty if all are kept.
#pragma once

#include <cmath>
#include <cstdint>
#include <sstream>
#include <string>
#include <type_traits>
#include <vector>

#include "conformance/attention_reference.hpp"
#include "conformance/compute.hpp"
#include "heddle/core/bfloat16.hpp"

namespace conformance {

inline float kept_as_bfloat16(float number) { return core_room::widened(core_room::rounded(number)); }
inline void keep_as_bfloat16(Floats& values) {
  for (float& value : values) value = kept_as_bfloat16(value);
}

/// Kernels that ask a library for sums of products, of whose terms it may add others first: two results are then one step of bfloat16 apart, and sums
/// in float32 as far as their rounding. Every other kernel has the same bits.
template <class L> inline constexpr bool asks_for_products = false;
template <std::int64_t In, std::int64_t Out, class... Options> inline constexpr bool asks_for_products<Linear<In, Out, Options...>> = true;
template <std::int64_t In, std::int64_t Out, class... Options> inline constexpr bool asks_for_products<Conv2d<In, Out, Options...>> = true;

/// Kernels that round inside what they multiply, as attention on tensor cores rounds its weights: loops in double say how far they may be off.
template <class L> inline constexpr bool rounds_inside = false;
template <class... Options> inline constexpr bool rounds_inside<SelfAttention<Options...>> = true;
inline constexpr Roundings roundings_of_bfloat16{0x1p-8, 0x1p-8};

/// With factors rounded to 10 bits behind the point a term of a sum is wrong by 2^-10 of itself, which the bound of a sum of n terms, (n + 2) u, has
/// in it.
inline constexpr Precision precision_of_tf32{0x1p-11};

/// A layer of two Computes, of floats and of bfloat16. run_rounded is null where its kernels do not round inside.
struct HalvesOnTrial {
  LayerOnTrial floats, halves;
  bool asks_for_products;
  Results (*run_rounded)(const Tensors&);
};
template <class L> [[nodiscard]] Results run_rounded(const Tensors& t) { return Slow<L>::run(t, Precision{}, roundings_of_bfloat16); }
template <class L> [[nodiscard]] constexpr auto run_rounded_of() -> Results (*)(const Tensors&) {
  if constexpr (rounds_inside<L>)
    return &run_rounded<L>;
  else
    return nullptr;
}

/// Two runs of one leaf, of the same numbers, which bfloat16 holds.
class HalvesTrial {
 public:
  HalvesTrial(const HalvesOnTrial& layer, std::uint64_t seed) : layer_(layer), floats_(layer.floats, seed), halves_(layer.halves, seed) {
    round_given(floats_.test());
    round_given(halves_.test());
  }
  [[nodiscard]] std::string place() const { return floats_.place(); }
  std::string numbers() {
    auto& a = floats_.test();
    auto& b = halves_.test();
    const std::int64_t rows = floats_.rows();
    for (auto* const t : {&a.output, &a.statistics, &b.output, &b.statistics}) fill(*t, nan);
    if (layer_.run_rounded != nullptr) return within_roundings(b);
    a.forward(0, rows);
    b.forward(0, rows);
    keep_as_bfloat16(a.output);  // what the backward may read
    if (std::string broken = differ("the output", b.output, a.output, true); !broken.empty()) return broken;
    if (std::string broken = differ("the statistics", b.statistics, a.statistics, false); !broken.empty()) return broken;
    b.output = a.output;
    b.statistics = a.statistics;
    for (const bool add : {false, true}) {
      backward(a, add);
      backward(b, add);
      keep_as_bfloat16(a.input_gradient);
      keep_as_bfloat16(a.second_gradient);
      std::string broken = a.has_input_gradient() ? differ("the gradient of the input", b.input_gradient, a.input_gradient, true) : std::string{};
      if (broken.empty()) broken = differ("the gradient of the second input", b.second_gradient, a.second_gradient, true);
      for (std::size_t k = 0; k < a.gradients.size() && broken.empty(); ++k)
        broken = differ("the gradient of '" + std::string{a.leaf().parameters[k].name.view()} + "'", b.gradients[k], a.gradients[k], false);
      if (!broken.empty()) return broken;
    }
    return {};
  }

 private:
  std::string within_roundings(AnyLeafUnderTest& t) {
    const std::vector<Floats> nothing;
    t.forward(0, floats_.rows());
    backward(t, false);
    const Results wanted = layer_.run_rounded({t.leaf(), floats_.rows(), t.input, t.output_gradient, t.parameters, nothing, t.context, t.second});
    std::string broken = off("the output", t.output, wanted.output);
    if (broken.empty()) broken = off("the statistics", t.statistics, wanted.statistics);
    if (broken.empty()) broken = off("the gradient of the input", t.input_gradient, wanted.input_gradient);
    return broken;
  }
  static void round_given(AnyLeafUnderTest& t) {
    if (t.has_input_gradient()) keep_as_bfloat16(t.input);  // else ids or bytes
    keep_as_bfloat16(t.second);
    keep_as_bfloat16(t.output_gradient);
    for (std::size_t k = 0; k < t.parameters.size(); ++k)
      if (!t.leaf().parameters[k].tracked()) keep_as_bfloat16(t.parameters[k]);
  }
  void backward(AnyLeafUnderTest& t, bool add) {
    fill(t.input_gradient, nan);
    fill(t.second_gradient, nan);
    for (std::size_t k = 0; k < t.gradients.size(); ++k) t.gradients[k] = drawn(std::ssize(t.gradients[k]), 40 + k);
    t.backward(0, floats_.rows(), add);
  }
  [[nodiscard]] std::string differ(const std::string& what, const Floats& got, const Floats& wanted, bool rounded) const {
    std::ostringstream said;
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      const bool both_nan = std::isnan(got[i]) && std::isnan(wanted[i]);
      const bool same = std::memcmp(&got[i], &wanted[i], sizeof(float)) == 0;
      const double apart = std::abs(static_cast<double>(got[i]) - static_cast<double>(wanted[i]));
      const double step = rounded ? 0x1p-7 * std::abs(static_cast<double>(wanted[i])) : 0.0;
      // Sums of some hundred products of numbers below 1, whose rounding is 2^-24 of the partial sums.
      if (both_nan || same || (layer_.asks_for_products && apart <= step + 1e-4)) continue;
      said << "element " << i << " of " << what << " is " << got[i] << " in bfloat16, and of floats " << wanted[i];
      return said.str();
    }
    return {};
  }
  HalvesOnTrial layer_;
  LayerTrial floats_;
  LayerTrial halves_;
};

/// So many trials of a layer whose kernel takes bfloat16: manners, and the numbers of floats.
[[nodiscard]] inline std::string broken_law(const HalvesOnTrial& layer, int trials) {
  for (int i = 1; i <= trials; ++i) {
    LayerTrial trial{layer.halves, static_cast<std::uint64_t>(i)};
    if (const std::string broken = trial.manners(); !broken.empty()) return trial.place() + broken;
    HalvesTrial both{layer, static_cast<std::uint64_t>(i)};
    if (const std::string broken = both.numbers(); !broken.empty()) return both.place() + broken;
  }
  return {};
}
template <class L, class OfFloats, class OfHalves> [[nodiscard]] std::string broken_law_of_bfloat16(int trials) {
  return broken_law(HalvesOnTrial{layer_on_trial<L, OfFloats>, layer_on_trial<L, OfHalves>, asks_for_products<L>, run_rounded_of<L>()}, trials);
}

/// The same of a loss, whole and in parts: sums and terms have the bits of floats, gradients are rounded once.
template <class Loss, class OfFloats, class OfHalves> [[nodiscard]] std::string broken_law_of_loss_in_bfloat16(int trials) {
  for (int i = 1; i <= trials; ++i) {
    const auto seed = static_cast<std::uint64_t>(i);
    LossTrial<Loss, OfHalves> trial{seed};
    for (const std::string& broken : {trial.manners(), trial.outside()})
      if (!broken.empty()) return trial.place() + broken;
    LossTrial<Loss, OfFloats> of_floats{seed};
    for (const bool parts : {false, true}) {
      trial.keep_outputs_as(kept_as_bfloat16);
      of_floats.keep_outputs_as(kept_as_bfloat16);
      auto got = trial.all_numbers(parts, [](float number) { return number; });
      auto wanted = of_floats.all_numbers(parts, kept_as_bfloat16);
      if (!equal_bits(got.first, wanted.first)) return trial.place() + "sums or terms have other bits than those of floats";
      if (!equal_bits(got.second, wanted.second)) return trial.place() + "a gradient is not that of floats, rounded once";
    }
  }
  return {};
}

}  // namespace conformance
