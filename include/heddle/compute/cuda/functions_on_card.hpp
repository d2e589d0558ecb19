// SPDX-License-Identifier: MIT
// Room: compute. What kernels run of a layer or of a loss: functions of one float, or what a target counts. Numbers that are template arguments of a
// description are arguments of a kernel, so one kernel serves all of them.
// Sees: graph/layers, graph/losses, compute/cuda/block.  Does not see: calls, streams, programs.
// In: ElementwiseLayer, ElementwiseLoss, CrossEntropy.  Out: FunctionsOnCard, LossOnCard, RuleOfLoss.
#pragma once

#include <cstdint>

#include "heddle/compute/cuda/block.hpp"
#include "heddle/graph/layers/leaky_relu.hpp"
#include "heddle/graph/leaf.hpp"
#include "heddle/graph/losses/cross_entropy.hpp"
#include "heddle/graph/losses/elementwise_losses.hpp"

namespace heddle::compute_room {

/// The functions of a layer as a kernel runs them: those of the layer itself, without a number of their own.
template <class L> struct FunctionsOfLayer {
  using Functions = L;
  [[nodiscard]] HEDDLE_DEVICE static float forward(float x) { return L::forward(x); }
  [[nodiscard]] HEDDLE_DEVICE static float backward(float saved, float gradient) { return L::backward(saved, gradient); }
};
/// functions() is what a kernel is given of the layer: of ReLU an object without members, of LeakyReLU<1, 5> a Leak of 0.2.
///
/// Tested  compute/cuda/functions_on_card_test
template <class L> struct FunctionsOnCard {
  [[nodiscard]] static FunctionsOfLayer<L> functions() { return {}; }
};
template <auto Numerator, auto Denominator> struct FunctionsOnCard<graph_room::LeakyReLU<Numerator, Denominator>> {
  [[nodiscard]] static graph_room::Leak functions() { return graph_room::Leak{graph_room::LeakyReLU<Numerator, Denominator>::factor}; }
};

/// The functions of a loss as a kernel runs them: those of the loss itself.
template <class Loss> struct FunctionsOfLoss {
  using Functions = Loss;
  [[nodiscard]] HEDDLE_DEVICE static double loss(float x, float target) { return Loss::loss(x, target); }
  [[nodiscard]] HEDDLE_DEVICE static float slope(float x, float target) { return Loss::slope(x, target); }
};
/// functions() is what a kernel is given of the loss: of Huber<1, 2> a HuberOf of 0.5.
template <class Loss> struct LossOnCard {
  [[nodiscard]] static FunctionsOfLoss<Loss> functions() { return {}; }
};
template <std::int64_t Numerator, std::int64_t Denominator> struct LossOnCard<graph_room::Huber<Numerator, Denominator>> {
  [[nodiscard]] static graph_room::HuberOf functions() { return graph_room::HuberOf{graph_room::Huber<Numerator, Denominator>::distance}; }
};

/// What kernels ask a CrossEntropy with options: CrossEntropyWith<Ignored<-100>, LabelSmoothing<1, 10>> is {0.1, true, -100}.
template <bool Smooths> struct RuleOfTargets {
  double share = 0;  ///< of a target that all classes have
  bool leaves_out = false;
  std::int32_t ignored = 0;

  static constexpr bool smooths = Smooths;
  [[nodiscard]] HEDDLE_DEVICE double smoothing() const { return Smooths ? share : 0; }
  [[nodiscard]] HEDDLE_DEVICE bool counts(std::int32_t target) const { return !leaves_out || target != ignored; }
};
/// The same of a CrossEntropy of the user's own, by its functions: it may leave out whatever it will.
template <class Loss> struct OwnRuleOfTargets {
  using Functions = Loss;
  static constexpr bool smooths = Loss::smoothing > 0;
  [[nodiscard]] HEDDLE_DEVICE static double smoothing() { return Loss::smoothing; }
  [[nodiscard]] HEDDLE_DEVICE static bool counts(std::int32_t target) { return graph_room::counts_target<Loss>(target); }
};
/// rule() is what a kernel is given of the loss: of CrossEntropy a rule by which all targets count and none is smoothed.
template <class Loss> struct RuleOfLoss {
  [[nodiscard]] static OwnRuleOfTargets<Loss> rule() { return {}; }
};
template <> struct RuleOfLoss<graph_room::CrossEntropy> {
  [[nodiscard]] static RuleOfTargets<false> rule() { return {}; }
};
template <class... Options> struct RuleOfLoss<graph_room::CrossEntropyWith<Options...>> {
  using Loss = graph_room::CrossEntropyWith<Options...>;
  [[nodiscard]] static RuleOfTargets<(Loss::smoothing > 0)> rule() { return {Loss::smoothing, Loss::leaves_out, Loss::ignored_target}; }
};

/// Floats that a part tells of one position.
template <class Rule> inline constexpr std::int64_t floats_of_position = Rule::smooths ? 4 : 3;

/// With smoothing, what all classes together have of the loss and of the gradient, as WeightsOfTarget of Eigen. A tenth of a target among 4 classes
/// that weigh 1 each, 4 together, has of_sum 1 and of_logit 0.025; the target's own weight is 0.9.
struct SharesOfTarget {
  double of_target, of_sum, of_logit;
  HEDDLE_DEVICE SharesOfTarget(double smoothing, std::int64_t classes, double weight, double weights_together)
      : of_target((1 - smoothing) * weight), of_sum(0), of_logit(smoothing / static_cast<double>(classes)) {
    of_sum = of_target + (smoothing > 0 ? of_logit * weights_together : 0);
  }
};

}  // namespace heddle::compute_room
