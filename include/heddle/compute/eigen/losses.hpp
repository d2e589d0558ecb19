// SPDX-License-Identifier: MIT
// Room: compute. The losses on the CPU: value and gradient in one pass over the rows.
// Sees: graph/losses, seams/concepts, compute/eigen.  Does not see: policies, programs.
// In: LossCall.  Out: LossKernel<CrossEntropy | MeanSquaredError | ElementwiseLoss, EigenCompute>.
#pragma once

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>

#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/core/finite.hpp"
#include "heddle/graph/losses/cross_entropy.hpp"
#include "heddle/graph/losses/elementwise_losses.hpp"
#include "heddle/graph/losses/mean_squared_error.hpp"

namespace heddle::compute_room {

/// With smoothing, what all classes together have of the loss and of the gradient: log(sum exp) of a position has the weight `of_sum`, logit j the
/// weight -`of_logit` times that of class j, beside those of the target, which are a share less. Without, only the target counts.
/// A tenth of a target among 4 classes that weigh 1 each has of_sum 1 and of_logit 0.025; the target's own weight is 0.9.
struct WeightsOfTarget {
  double of_target, of_sum, of_logit;
  const float* weights;

  WeightsOfTarget(double smoothing, std::int64_t classes, const float* class_weights, std::int32_t target) : weights(class_weights) {
    double all = 0;
    for (std::int64_t j = 0; j < classes && smoothing > 0; ++j) all += of_class(j);
    of_target = (1 - smoothing) * of_class(target);
    of_logit = smoothing / static_cast<double>(classes);
    of_sum = of_target + of_logit * all;
  }
  [[nodiscard]] double of_class(std::int64_t j) const { return weights == nullptr ? 1 : static_cast<double>(weights[j]); }
};

/// One position of a row: log(sum_j exp(x_j - max)) + max - x_target, gradient (softmax - one_hot) / total.
/// A class number outside 0 .. classes - 1 gives NaN and reads nothing outside the row. The gradient may lie where the logits are. A target that
/// counts nothing has neither loss nor gradient.
template <class Loss>
double cross_entropy_row(const float* logits, std::int64_t classes, std::int32_t target, double total, float* gradient,
                         const float* weights = nullptr) {
  if (!graph_room::counts_target<Loss>(target)) {
    if (gradient != nullptr) std::fill(gradient, gradient + classes, 0.0F);
    return 0;
  }
  if (target < 0 || target >= classes) {
    if (gradient != nullptr) std::fill(gradient, gradient + classes, std::numeric_limits<float>::quiet_NaN());
    return std::numeric_limits<double>::quiet_NaN();
  }
  const WeightsOfTarget smoothed(Loss::smoothing, classes, weights, target);
  const float most = *std::max_element(logits, logits + classes);
  const double below = static_cast<double>(most) - static_cast<double>(logits[target]);  // before gradient may overwrite the logits
  double below_all = 0;                                                                  // of all classes, by their weights
  for (std::int64_t j = 0; j < classes && Loss::smoothing > 0; ++j)
    below_all += smoothed.of_class(j) * (static_cast<double>(most) - static_cast<double>(logits[j]));
  double sum = 0;
  for (std::int64_t j = 0; j < classes; ++j) {
    const float power = std::exp(logits[j] - most);
    if (gradient != nullptr) gradient[j] = power;
    sum += static_cast<double>(power);
  }
  if (gradient != nullptr) {
    const auto scale = static_cast<float>(smoothed.of_sum / (sum * total));
    for (std::int64_t j = 0; j < classes; ++j) gradient[j] *= scale;
    for (std::int64_t j = 0; j < classes && Loss::smoothing > 0; ++j)
      gradient[j] -= static_cast<float>(smoothed.of_logit * smoothed.of_class(j) / total);
    gradient[target] -= static_cast<float>(smoothed.of_target / total);
  }
  return smoothed.of_sum * std::log(sum) + smoothed.of_target * below + smoothed.of_logit * below_all;
}

/// Floats that a part tells of one position.
template <class Loss> inline constexpr std::int64_t terms_of_position = Loss::smoothing > 0 ? 4 : 3;

/// Of each position (largest logit m, sum_j exp(x_j - m), logit of the target or 0) over the classes of one part, and with smoothing the sum of m -
/// x_j by the weights of the classes. The powers stay in gradient. A part of logits that are all -infinity, as classes that are masked out, has no
/// share.
template <class Loss> void cross_entropy_terms(const LossCall& call) {
  const auto* const targets = static_cast<const std::int32_t*>(call.targets);
  const std::int64_t classes = call.features / call.positions;
  for (std::int64_t i = 0; i < call.rows * call.positions; ++i) {
    const float* const logits = call.output + i * classes;
    const std::int64_t own = targets[i] - call.part * classes;
    const float most = *std::max_element(logits, logits + classes);
    float* const terms = call.terms + terms_of_position<Loss> * i;
    terms[0] = most;
    terms[2] = own >= 0 && own < classes ? logits[own] : 0;
    if constexpr (Loss::smoothing > 0) {  // before gradient may overwrite the logits
      double below = 0;
      for (std::int64_t j = 0; j < classes; ++j) {
        const double weight = call.class_weights == nullptr ? 1 : static_cast<double>(call.class_weights[call.part * classes + j]);
        below += weight * (static_cast<double>(most) - static_cast<double>(logits[j]));
      }
      terms[3] = static_cast<float>(below);
    }
    double sum = 0;
    for (std::int64_t j = 0; j < classes; ++j) {
      const float power = bits_of(most) == 0xff800000U ? 0 : std::exp(logits[j] - most);
      if (call.gradient != nullptr) call.gradient[i * classes + j] = power;
      sum += static_cast<double>(power);
    }
    terms[1] = static_cast<float>(sum);
  }
}

/// One position of one row, from the terms of all parts, `stride` floats apart; `gradient` holds the powers of the own part.
template <class Loss>
double cross_entropy_of_terms(const LossCall& call, const float* terms, std::int64_t stride, std::int32_t target, double total, float* gradient) {
  const std::int64_t classes = call.features / call.positions;
  if (!graph_room::counts_target<Loss>(target)) {
    if (gradient != nullptr) std::fill(gradient, gradient + classes, 0.0F);
    return 0;
  }
  if (target < 0 || target >= classes * call.parts) {
    if (gradient != nullptr) std::fill(gradient, gradient + classes, std::numeric_limits<float>::quiet_NaN());
    return std::numeric_limits<double>::quiet_NaN();
  }
  const WeightsOfTarget smoothed(Loss::smoothing, classes * call.parts, call.class_weights, target);
  double most = static_cast<double>(terms[0]);
  for (int p = 1; p < call.parts; ++p) most = std::max(most, static_cast<double>(terms[p * stride]));
  double sum = 0;
  for (int p = 0; p < call.parts; ++p) sum += static_cast<double>(terms[p * stride + 1]) * std::exp(static_cast<double>(terms[p * stride]) - most);
  const std::int64_t owner = target / classes;
  if (gradient != nullptr) {
    const auto scale = static_cast<float>(smoothed.of_sum * std::exp(static_cast<double>(terms[call.part * stride]) - most) / (sum * total));
    for (std::int64_t j = 0; j < classes; ++j) gradient[j] *= scale;
    for (std::int64_t j = 0; j < classes && Loss::smoothing > 0; ++j)
      gradient[j] -= static_cast<float>(smoothed.of_logit * smoothed.of_class(call.part * classes + j) / total);
    if (owner == call.part) gradient[target - owner * classes] -= static_cast<float>(smoothed.of_target / total);
  }
  double below_all = 0;
  for (int p = 0; p < call.parts && Loss::smoothing > 0; ++p) {
    double weights = 0;
    for (std::int64_t j = 0; j < classes; ++j) weights += smoothed.of_class(p * classes + j);
    below_all += static_cast<double>(terms[p * stride + terms_of_position<Loss> - 1]) + weights * (most - static_cast<double>(terms[p * stride]));
  }
  const double below = most - static_cast<double>(terms[owner * stride + 2]);
  return smoothed.of_sum * std::log(sum) + smoothed.of_target * below + smoothed.of_logit * below_all;
}

template <class Loss> float cross_entropy_sum_of_terms(const LossCall& call) {
  const auto* const targets = static_cast<const std::int32_t*>(call.targets);
  const std::int64_t classes = call.features / call.positions;
  const auto total = call.counted();
  const std::int64_t stride = terms_of_position<Loss> * call.positions;  // from one part to the next
  double sum = 0;
  for (std::int64_t i = 0; i < call.rows * call.positions; ++i) {
    const float* const terms = call.terms + (i / call.positions * call.parts * call.positions + i % call.positions) * terms_of_position<Loss>;
    sum += cross_entropy_of_terms<Loss>(call, terms, stride, targets[i], total, call.gradient == nullptr ? nullptr : call.gradient + i * classes);
  }
  return static_cast<float>(sum / static_cast<double>(call.positions));
}

template <class Loss> float cross_entropy_sum(const LossCall& call) {
  if (call.parts > 1) return cross_entropy_sum_of_terms<Loss>(call);
  const auto* const targets = static_cast<const std::int32_t*>(call.targets);
  const std::int64_t classes = call.features / call.positions;
  const auto total = call.counted();
  double sum = 0;
  for (std::int64_t i = 0; i < call.rows * call.positions; ++i) {
    float* const gradient = call.gradient == nullptr ? nullptr : call.gradient + i * classes;
    sum += cross_entropy_row<Loss>(call.output + i * classes, classes, targets[i], total, gradient, call.class_weights);
  }
  return static_cast<float>(sum / static_cast<double>(call.positions));
}

/// One row: sum over features of (x - target)^2, in block_elements partial sums that are added in order; gradient scale (x - target).
inline double squared_error_row(const float* output, const float* targets, std::int64_t features, float scale, float* gradient) {
  double sums[block_elements]{};
  for (std::int64_t j = 0; j < features; j += block_elements) {
    FloatBlock x;
    FloatBlock target;
    x.load(output + j, features - j);
    target.load(targets + j, features - j);
    const int count = static_cast<int>(std::min<std::int64_t>(block_elements, features - j));
    for_lanes([&](int l) { x.values[l] -= target.values[l]; });
    for_lanes([&](int l) { target.values[l] = l < count ? x.values[l] : 0.0F; });  // a short block repeats its first element
    for_lanes([&](int l) { sums[l] += static_cast<double>(target.values[l]) * static_cast<double>(target.values[l]); });
    if (gradient != nullptr) {
      for_lanes([&](int l) { x.values[l] *= scale; });
      x.store(gradient + j, count);
    }
  }
  double sum = 0;
  for (const double part : sums) sum += part;
  return sum;
}

inline float squared_error_sum(const LossCall& call) {
  const auto* const targets = static_cast<const float*>(call.targets);
  const auto scale = static_cast<float>(2 / (static_cast<double>(call.features) * static_cast<double>(call.total_rows)));
  double sum = 0;
  for (std::int64_t i = 0; i < call.rows; ++i) {
    const std::int64_t at = i * call.features;
    float* const gradient = call.gradient == nullptr ? nullptr : call.gradient + at;
    sum += squared_error_row(call.output + at, targets + at, call.features, scale, gradient);
  }
  return static_cast<float>(sum / static_cast<double>(call.features));
}

/// A loss of each element by itself: element after element, in double.
template <class Loss> float elementwise_loss_sum(const LossCall& call) {
  const auto* const targets = static_cast<const float*>(call.targets);
  const auto scale = static_cast<float>(1 / (static_cast<double>(call.features) * static_cast<double>(call.total_rows)));
  double sum = 0;
  for (std::int64_t i = 0; i < call.rows * call.features; ++i) {
    const float x = call.output[i];  // the gradient may lie where it does
    sum += Loss::loss(x, targets[i]);
    if (call.gradient != nullptr) call.gradient[i] = Loss::slope(x, targets[i]) * scale;
  }
  return static_cast<float>(sum / static_cast<double>(call.features));
}

}  // namespace heddle::compute_room

namespace heddle {

/// Sums of a grain are taken in double, row after row.
///
/// Tested  compute/eigen/losses_test
template <std::derived_from<graph_room::CrossEntropy> Loss, std::derived_from<compute_room::EigenCompute> C> struct LossKernel<Loss, C> {
  static float sum(const seams_room::LossCall& call) { return compute_room::cross_entropy_sum<Loss>(call); }
  static void terms(const seams_room::LossCall& call) { compute_room::cross_entropy_terms<Loss>(call); }
};
template <std::derived_from<compute_room::EigenCompute> C> struct LossKernel<graph_room::MeanSquaredError, C> {
  static float sum(const seams_room::LossCall& call) { return compute_room::squared_error_sum(call); }
};
template <graph_room::ElementwiseLoss Loss, std::derived_from<compute_room::EigenCompute> C> struct LossKernel<Loss, C> {
  static float sum(const seams_room::LossCall& call) { return compute_room::elementwise_loss_sum<Loss>(call); }
};

}  // namespace heddle
