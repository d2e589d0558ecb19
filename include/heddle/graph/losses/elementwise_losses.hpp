// SPDX-License-Identifier: MIT
// Room: graph. Losses of each element by itself: MeanAbsoluteError, Huber, BinaryCrossEntropy, and what a loss of two functions is.
// Sees: core, graph.  Does not see: policies, devices, memory.
// In: predictions and targets of the same shape.  Out: a LossDescription.
#pragma once

#include <cmath>
#include <concepts>
#include <cstdint>
#include <string_view>

#include "heddle/core/host_device.hpp"
#include "heddle/graph/loss.hpp"

namespace heddle::graph_room {

/// A loss given by two functions of one element and its target: the loss, and its slope along the element. It needs no kernel of its own.
///   static double loss(float x, float target)      static float slope(float x, float target)
/// A card runs them if both are HEDDLE_HOST_DEVICE.
template <class L>
concept ElementwiseLoss = LossDescription<L> && std::same_as<typename L::Target, float> && requires(float x, float target) {
  { L::loss(x, target) } -> std::same_as<double>;
  { L::slope(x, target) } -> std::same_as<float>;
};

/// What such a loss says of itself beside its name and its functions: the mean is over rows and elements. `L` derives from it.
///
/// Shape   predictions (B, ...) and targets of the same shape
/// Errors  G03 if the output is not float32
/// Tested  graph/losses/elementwise_losses_test
template <class L> struct MeanOverElements {  // NOLINT(bugprone-crtp-constructor-accessibility): nobody makes one
  using Target = float;

  static constexpr Diagnosis accepts(const Spec& output) {
    if (output.type == ElementType::float32) return {};
    return Diagnosis{Code{'G', 3}, L::name()} << " takes float32 but the model gives " << name_of(output.type)
                                              << ". Fix: end the model with a layer that gives float32.";
  }
  static constexpr std::int64_t target_features(const Spec& output) { return output.elements(); }
  static constexpr std::int64_t flops(const Spec& output) { return counted_product(4, output.elements()); }
};

/// |x - target|, mean over rows and elements, as torch.nn.L1Loss. Where both are equal the slope is 0.
///
/// Shape   predictions (B, ...) and targets of the same shape
/// Errors  G03 if the output is not float32
/// Tested  graph/losses/elementwise_losses_test, conformance/compute_eigen_test, golden/losses_test, equivalence/losses_test
struct MeanAbsoluteError : MeanOverElements<MeanAbsoluteError> {
  static constexpr std::string_view name() { return "MeanAbsoluteError"; }
  HEDDLE_HOST_DEVICE static double loss(float x, float target) { return std::fabs(static_cast<double>(x) - static_cast<double>(target)); }
  HEDDLE_HOST_DEVICE static float slope(float x, float target) { return x > target ? 1.0F : x < target ? -1.0F : x - target; }
};

/// What Huber does, its distance as a number: with 1 the loss of 3 and target 1 is 1.5, its slope 1.
struct HuberOf {
  double distance;
  [[nodiscard]] HEDDLE_HOST_DEVICE double loss(float x, float target) const {
    const double off = std::fabs(static_cast<double>(x) - static_cast<double>(target));
    return off > distance ? distance * (off - distance / 2) : off * off / 2;
  }
  [[nodiscard]] HEDDLE_HOST_DEVICE float slope(float x, float target) const {
    const auto most = static_cast<float>(distance);
    const float off = x - target;
    return off > most ? most : off < -most ? -most : off;
  }
};

/// d^2 / 2 where |d| = |x - target| is at most Numerator / Denominator, the distance beyond which it grows as |d|; mean over rows and elements, as
/// torch.nn.HuberLoss. Huber<> has the distance 1, Huber<1, 2> a half.
///
/// Shape   predictions (B, ...) and targets of the same shape
/// Errors  G03 if the output is not float32, or the distance is not above 0
/// Source  sources.md#huber
/// Tested  as MeanAbsoluteError
template <std::int64_t Numerator = 1, std::int64_t Denominator = 1> struct Huber : MeanOverElements<Huber<Numerator, Denominator>> {
  static constexpr double distance = static_cast<double>(Numerator) / static_cast<double>(Denominator == 0 ? 1 : Denominator);
  static constexpr std::string_view name() { return "Huber"; }
  static constexpr Diagnosis accepts(const Spec& output) {
    if (Numerator < 1 || Denominator < 1)
      return Diagnosis{Code{'G', 3}, name()} << " has a distance of " << Numerator << " / " << Denominator
                                             << ", which is not above 0. Fix: write Huber<1, 2> for a half, or Huber<> for 1.";
    return MeanOverElements<Huber>::accepts(output);
  }
  HEDDLE_HOST_DEVICE static double loss(float x, float target) { return HuberOf{distance}.loss(x, target); }
  HEDDLE_HOST_DEVICE static float slope(float x, float target) { return HuberOf{distance}.slope(x, target); }
};

/// log(1 + exp(x)) - x target of logits and targets from 0 to 1, mean over rows and elements, as torch.nn.BCEWithLogitsLoss: each element answers a
/// question of its own.
///
/// Shape   logits (B, ...) and targets of the same shape
/// Errors  G03 if the output is not float32
/// Tested  as MeanAbsoluteError
struct BinaryCrossEntropy : MeanOverElements<BinaryCrossEntropy> {
  static constexpr std::string_view name() { return "BinaryCrossEntropy"; }
  static constexpr std::string_view applies = "Sigmoid";
  HEDDLE_HOST_DEVICE static double loss(float x, float target) {
    const auto logit = static_cast<double>(x);
    return (logit > 0 ? logit : 0) - logit * static_cast<double>(target) + std::log1p(std::exp(-std::fabs(logit)));
  }
  HEDDLE_HOST_DEVICE static float slope(float x, float target) {
    const float power = std::exp(x > 0 ? -x : x);  // at most 1
    return (x > 0 ? 1 / (1 + power) : power / (1 + power)) - target;
  }
};

}  // namespace heddle::graph_room

namespace heddle {
using graph_room::BinaryCrossEntropy, graph_room::Huber, graph_room::MeanAbsoluteError;
}  // namespace heddle

namespace heddle::extending {
using graph_room::MeanOverElements;
}  // namespace heddle::extending
