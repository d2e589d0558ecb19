// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/several_losses.hpp"

#include <doctest/doctest.h>

#include <cmath>

#include "compute/cuda/against_loops.hpp"
#include "conformance/layers.hpp"
#include "heddle/compute/eigen/several_losses.hpp"

using namespace heddle;
using against_loops::Card;
using conformance::CardTensors;
using conformance::drawn;
using conformance::equal_bits;
using conformance::UploadedCuda;

namespace {

/// A vocabulary, of two positions that lie one behind the other, and numbers.
using Wide =
    Losses<LossOf<"next", Outputs<2, 1500>, CrossEntropyWith<Ignored<-100>, ClassWeights>>, LossOf<"value", Outputs<3>, Huber<>, LossWeight<1, 4>>,
           LossOf<"old", Outputs<2, 1500>, CrossEntropy, TargetsOf<"next">, LossWeight<2>>>;
constexpr std::int64_t rows = 4, features = 2 * 3000 + 3, targets = 5;

struct GivenRows {
  Floats output = drawn(rows * features, 1);
  std::vector<TargetValue> target{3, 1400, 0.5F, 0.25F, -1.0F, 9, 7, 1.5F, 0.0F, 0.0F, 0, 1, 1.0F, 2.0F, 3.0F, 1499, 9, 0.0F, 0.0F, 0.0F};
  Floats weights = Floats(features, 0.5F);  // the adapter uploads as many as there are outputs
  CountedTargets each[CudaNumbers::most_losses] = {{3, 6.5}, {0, 0}, {0, 0}};
  [[nodiscard]] LossCall call(Floats& gradient) const {
    LossCall made{rows, features, 6, output.data(), target.data(), gradient.data()};
    made.target_features = targets;
    made.class_weights = weights.data();
    made.each = each;
    return made;
  }
};

/// Means and divisors of the three losses, and their gradient unless that is null.
void each_on_card(const GivenRows& batch, float* gradient, double* means, double* divisors) {
  const auto elements = static_cast<std::int64_t>(batch.output.size());
  CardTensors card;
  CudaNumbers numbers;
  numbers.total_rows = 6;
  for (int k = 0; k < 3; ++k) numbers.counted[k] = batch.each[k];
  LossCallIn<CudaMemory> call{rows, features, 6, card.given(batch.output.data(), elements)};
  call.targets = card.given(batch.target.data(), std::ssize(batch.target));
  if (gradient != nullptr) call.gradient = card.made(gradient, elements);
  call.target_features = targets;
  call.class_weights = card.given(batch.weights.data(), features);
  call.workspace = card.scratch(LossKernel<Wide, CudaCompute>::scratch().value);
  call.space = card.space(numbers);
  LossKernel<Wide, CudaCompute>::each(call, card.made(means, 3), card.made(divisors, 3));
  card.finish();
}

}  // namespace

TEST_CASE("several losses keep the laws of every Compute") {
  const Card card;
  CHECK(conformance::broken_law_of_loss<conformance::SeveralLosses, UploadedCuda>(40) == "");
}

TEST_CASE("each of several losses has on the card the mean, the divisor and the gradient that it has with Eigen") {
  const Card all;
  GivenRows batch;
  Floats wanted(batch.output.size(), conformance::nan), gradient = wanted;
  double means[3], divisors[3], found_means[3]{}, found_divisors[3]{};
  LossKernel<Wide, EigenCompute>::each(batch.call(wanted), means, divisors);
  each_on_card(batch, gradient.data(), found_means, found_divisors);
  for (int k = 0; k < 3; ++k) {
    CHECK(std::abs(found_means[k] - means[k]) <= 16 * 0x1p-24 * means[k]);  // a loss of Eigen's rounds to float at each position
    CHECK(found_divisors[k] == divisors[k]);
  }
  double most = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) most = std::max(most, std::abs(static_cast<double>(gradient[i] - wanted[i])));
  CHECK(most <= 2 * 16 * 0x1p-24);  // both are so far from the loops at most, of a weight of 2 and divisors of 6 and more
}

TEST_CASE("a loss for which nothing counts is 0, and not 0 divided by 0") {
  const Card all;
  GivenRows batch;
  batch.weights = Floats(features, 0.0F);
  batch.each[0] = {0, 0.0};
  double means[3]{}, divisors[3]{};
  each_on_card(batch, nullptr, means, divisors);
  CHECK((means[0] == 0 && divisors[0] == 0));
  CHECK((means[1] > 0 && means[2] > 0));
}

TEST_CASE("a class number outside the classes of one of several losses spoils its positions alone") {
  const Card card;
  GivenRows batch;
  batch.target[0] = 1500;
  Floats gradient(batch.output.size());
  CHECK(std::isnan(run_room::LossKernelFor<Wide, UploadedCuda>::sum(batch.call(gradient))));
  const auto at = [&](std::size_t i) { return std::isnan(gradient[i]); };
  CHECK((at(0) && at(1499) && !at(1500) && !at(3000) && at(3003) && at(4502) && !at(4503)));
  CHECK(!at(static_cast<std::size_t>(features)));
}
