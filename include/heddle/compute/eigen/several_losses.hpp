// SPDX-License-Identifier: MIT
// Room: compute. Several losses on the CPU: the kernel of each reads its part of a row where it lies, and nothing is copied.
// Sees: graph/losses, seams/concepts, compute/eigen.  Does not see: policies, programs.
// In: LossCall.  Out: LossKernel<Losses<...>, EigenCompute>.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>

#include "heddle/compute/eigen/losses.hpp"
#include "heddle/graph/losses/several_losses.hpp"

namespace heddle::compute_room {

/// One of several losses in the output and the targets of a call: each position of each row is a call of its kernel.
class OneOfLosses {
 public:
  OneOfLosses(const LossCall& call, const PlaceOfLoss& place, int number, bool weighs) : all_(call), place_(place) {
    one_.rows = 1;
    one_.features = place.reads.elements();
    one_.total_rows = call.total_rows * place.positions;
    one_.positions = one_.features / place.reads.shape.last();
    one_.target_features = place.targets;
    if (call.each != nullptr) one_.left_out = call.each[number].left_out;
    if (weighs && call.each != nullptr) one_.class_weights = call.class_weights;
    if (one_.class_weights != nullptr) one_.sum_of_weights = call.each[number].sum_of_weights;
  }
  /// By what the sum of the losses of all positions of the step is divided.
  [[nodiscard]] double divisor() const {
    return CountedTargets{one_.left_out, one_.sum_of_weights}.rows(static_cast<double>(one_.total_rows), place_.targets,
                                                                   one_.class_weights != nullptr);
  }
  template <class Kernel> [[nodiscard]] double sum(double weight) {
    double all = 0;
    for (std::int64_t row = 0; row < all_.rows; ++row)
      for (std::int64_t p = 0; p < place_.positions; ++p) {
        const std::int64_t at = row * all_.features + p * place_.stride + place_.first;
        one_.output = all_.output + at;
        one_.gradient = all_.gradient == nullptr ? nullptr : all_.gradient + at;
        one_.targets = static_cast<const std::byte*>(all_.targets) +
                       (row * all_.target_features + place_.first_target + p * place_.targets) * std::int64_t{sizeof(std::int32_t)};
        all += static_cast<double>(Kernel::sum(one_));
        for (std::int64_t j = 0; j < one_.features && one_.gradient != nullptr && weight != 1; ++j) one_.gradient[j] *= static_cast<float>(weight);
      }
    return all;
  }

 private:
  const LossCall& all_;
  PlaceOfLoss place_;
  LossCall one_;
};

}  // namespace heddle::compute_room

namespace heddle {

/// The sum over rows of all losses, each times its weight: what is divided by the rows of the step is the sum of their means.
/// Of 4 rows with means 0.5 and 2, of which the second weighs 1 / 4, the sum is 4.
///
/// Tested  compute/eigen/several_losses_test
template <class... Each, std::derived_from<compute_room::EigenCompute> C> struct LossKernel<graph_room::Losses<Each...>, C> {
  using All = graph_room::Losses<Each...>;

  static float sum(const seams_room::LossCall& call) {
    double all = 0;
    each_of(call, [&](int number, double mean, double) { all += All::said[number].weight * mean; });
    return static_cast<float>(all * static_cast<double>(call.total_rows));
  }
  /// The mean of each, without its weight, and by what it was divided, in rows.
  static void each(const seams_room::LossCall& call, double* means, double* divisors) {
    each_of(call, [&](int number, double mean, double divisor) {
      means[number] = mean;
      divisors[number] = divisor;
    });
  }

 private:
  /// Where nothing counts for a loss, no step and no evaluation is made (D10).
  template <class Take> static void each_of(const seams_room::LossCall& call, Take take) {
    int number = 0;
    (..., take_one<typename graph_room::ReadLossOf<Each>::Loss>(call, number++, take));
  }
  template <class Loss, class Take> static void take_one(const seams_room::LossCall& call, int number, Take take) {
    const graph_room::Spec output = output_of(call);
    compute_room::OneOfLosses one{call, All::place_of(number, output), number, graph_room::weighs_classes<Loss>()};
    const double sum = one.template sum<LossKernel<Loss, C>>(All::said[number].weight);
    take(number, one.divisor() > 0 ? sum / one.divisor() : sum, one.divisor());
  }
  /// A row has so many positions, one behind the other.
  static graph_room::Spec output_of(const seams_room::LossCall& call) {
    graph_room::Spec output;
    if (call.positions > 1) output.shape.append(call.positions);
    output.shape.append(call.features / call.positions);
    return output;
  }
};

}  // namespace heddle
