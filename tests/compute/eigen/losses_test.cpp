// SPDX-License-Identifier: MIT
#include "heddle/compute/eigen/losses.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "compute/eigen/arrays.hpp"

using namespace heddle;
using arrays::Array;

namespace {

constexpr double u = arrays::unit_roundoff;

template <class Loss>
float sum(std::int64_t rows, std::int64_t features, std::int64_t total, const float* output, const void* targets, float* gradient) {
  return LossKernel<Loss, EigenCompute>::sum({rows, features, total, output, targets, gradient});
}

double cross_entropy(const float* logits, std::int64_t classes, std::int32_t target) {
  double powers = 0;
  for (std::int64_t j = 0; j < classes; ++j) powers += std::exp(static_cast<double>(logits[j]));
  return std::log(powers) - static_cast<double>(logits[target]);
}

std::vector<std::int32_t> classes_of(std::int64_t rows, std::int64_t classes) {
  std::vector<std::int32_t> targets;
  for (std::int64_t i = 0; i < rows; ++i) targets.push_back(static_cast<std::int32_t>((7 * i + 3) % classes));
  return targets;
}

}  // namespace

TEST_CASE("a row of several positions has the mean of their losses, and their gradients are of that mean") {
  constexpr std::int64_t rows = 5;
  constexpr std::int64_t positions = 4;
  constexpr std::int64_t classes = 7;
  const Array logits(rows * positions * classes, 1);
  const auto targets = classes_of(rows * positions, classes);
  const Array together(rows * positions * classes, 0, arrays::nan);
  const Array apart(rows * positions * classes);
  const LossCall call{rows, positions * classes, 9, logits.data(), targets.data(), together.data(), positions};
  const float mean = LossKernel<CrossEntropy, EigenCompute>::sum(call);
  // Every position as a row of its own, of four times as many rows: the same gradients, and four times the loss. 4 is a power of two.
  const float whole = sum<CrossEntropy>(rows * positions, classes, 9 * positions, logits.data(), targets.data(), apart.data());
  CHECK(mean == whole / positions);
  CHECK(together.same_bits(apart));
  CHECK(together.guarded());
}

TEST_CASE("a part that is masked out has no share; a class number outside all parts, or a NaN in one, makes the loss NaN") {
  const Array low(2, 0, -std::numeric_limits<float>::infinity());
  const Array high(2, 3);
  const Array terms(6);
  Array gradients[] = {Array(2), Array(2)};
  const auto loss = [&](std::int32_t target, const Array& first) {
    for (int part = 0; part < 2; ++part)
      LossKernel<CrossEntropy, EigenCompute>::terms(
          {1, 2, 1, (part == 0 ? first : high).data(), &target, gradients[part].data(), 1, part, 2, terms.data() + 3 * part});
    LossKernel<CrossEntropy, EigenCompute>::sum({1, 2, 1, high.data(), &target, gradients[1].data(), 1, 1, 2, terms.data()});
    return LossKernel<CrossEntropy, EigenCompute>::sum({1, 2, 1, first.data(), &target, gradients[0].data(), 1, 0, 2, terms.data()});
  };
  CHECK(std::abs(static_cast<double>(loss(2, low)) - cross_entropy(high.data(), 2, 0)) <= 14 * u);
  CHECK((gradients[0][0] == 0 && gradients[0][1] == 0));
  CHECK(std::isnan(loss(4, low)));
  CHECK(std::isnan(gradients[1][0]));
  CHECK(std::isnan(loss(-1, low)));
  const Array broken(2, 1);
  broken[1] = arrays::nan;
  CHECK(std::isnan(loss(2, broken)));
}

TEST_CASE("large logits neither overflow nor lose the loss") {
  const Array logits(3);
  logits[0] = 1000.0F;
  logits[1] = 999.0F;
  logits[2] = -1000.0F;
  const std::int32_t target = 1;
  const Array gradient(3);
  const double expected = 1 + std::log(1 + std::exp(-1.0));
  CHECK(std::abs(static_cast<double>(sum<CrossEntropy>(1, 3, 1, logits.data(), &target, gradient.data())) - expected) <= 8 * u);
  CHECK(gradient[2] == 0.0F);
}

TEST_CASE("finite differences of the loss give its gradient") {
  const Array logits(4 * 5, 3);
  const auto targets = classes_of(4, 5);
  const Array gradient(20);
  sum<CrossEntropy>(4, 5, 4, logits.data(), targets.data(), gradient.data());
  for (std::int64_t i = 0; i < 20; ++i) {
    const std::int64_t row = i / 5;
    const float kept = logits[i];
    const auto at = [&](float x) {
      logits[i] = x;
      return cross_entropy(logits.data() + row * 5, 5, targets[static_cast<std::size_t>(row)]);
    };
    const double slope =
        (at(kept + 0x1p-10F) - at(kept - 0x1p-10F)) / (static_cast<double>(kept + 0x1p-10F) - static_cast<double>(kept - 0x1p-10F)) / 4;
    logits[i] = kept;
    // Truncation h^2 / 6 |f'''| with |f'''| <= 0.1; the kernel's gradient as above.
    CHECK(std::abs(static_cast<double>(gradient[i]) - slope) <= 0x1p-20 / 6 * 0.1 + 10 * u);
  }
}

TEST_CASE("a NaN among the logits is a NaN loss, wherever it stands") {
  for (std::int64_t at = 0; at < 3; ++at) {
    const Array logits(3, 1);
    logits[at] = arrays::nan;
    const std::int32_t target = 1;
    CHECK(std::isnan(sum<CrossEntropy>(1, 3, 1, logits.data(), &target, nullptr)));
  }
}
