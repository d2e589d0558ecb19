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

TEST_CASE("cross-entropy is the sum of log sum exp minus the target's logit, its gradient softmax minus one-hot over the rows of all ranks") {
  for (const std::int64_t rows : {0, 1, 2, 3, 16, 63, 64}) {
    for (const std::int64_t classes : {2, 3, 10, 33}) {
      const Array logits(rows * classes, 1);
      const Array gradient(rows * classes, 0, arrays::nan);
      const auto targets = classes_of(rows, classes);
      const std::int64_t total = 2 * rows + 1;  // this grain is a part of the step
      const float got = sum<CrossEntropy>(rows, classes, total, logits.data(), targets.data(), gradient.data());
      double expected = 0;
      for (std::int64_t i = 0; i < rows; ++i) {
        const float* const row = logits.data() + i * classes;
        const double loss = cross_entropy(row, classes, targets[static_cast<std::size_t>(i)]);
        expected += loss;
        for (std::int64_t j = 0; j < classes; ++j) {
          const bool is_target = j == targets[static_cast<std::size_t>(i)];
          const double softmax = std::exp(static_cast<double>(row[j]) - loss - static_cast<double>(row[targets[static_cast<std::size_t>(i)]]));
          const double slope = (softmax - (is_target ? 1 : 0)) / static_cast<double>(total);
          // x - max rounds (4 u absolute), exp 2 u, the scale and two products and the difference u each, all at most 1 / total.
          CHECK(std::abs(static_cast<double>(gradient[i * classes + j]) - slope) <= 10 * u / static_cast<double>(total));
        }
      }
      // Each power is off by 6 u relative, so the logarithm by 6 u per row; the sum rounds once to float.
      CHECK(std::abs(static_cast<double>(got) - expected) <= 6 * u * static_cast<double>(rows) + u * expected);
      CHECK(gradient.guarded());
    }
  }
}

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

// Both compared with one whole row: a power is off by 6 u as above, the sum of a part is rounded once: 7 u. The scale rounds once, the product and
// the difference u each, 1 / total too: 7 + 6 + 4 = 17 u over total for a gradient of at most 1 / total.
TEST_CASE("parts of the classes give the loss of the whole, whichever part is looked at, and each its part of the gradient") {
  constexpr std::int64_t rows = 5;
  constexpr std::int64_t positions = 3;
  for (const int parts : {2, 3, 4}) {
    for (const std::int64_t own : {1, 2, 17}) {
      const std::int64_t classes = parts * own;
      const std::int64_t places = rows * positions;
      const Array logits(places * classes, 1);
      logits[3] = 20;  // one part far above the others
      const auto targets = classes_of(places, classes);
      const Array whole(places * classes);
      const LossCall one{rows, positions * classes, 7, logits.data(), targets.data(), whole.data(), positions};
      const double wanted = static_cast<double>(LossKernel<CrossEntropy, EigenCompute>::sum(one));
      const Array together(rows * parts * positions * 3);
      std::vector<Array> cut(static_cast<std::size_t>(parts), Array(places * own));
      std::vector<Array> gradients(static_cast<std::size_t>(parts), Array(places * own, 0, arrays::nan));
      const auto call = [&](int part, float* terms, float* gradient) {
        return LossCall{rows, positions * own, 7,    cut[static_cast<std::size_t>(part)].data(), targets.data(), gradient, positions,
                        part, parts,           terms};
      };
      for (int part = 0; part < parts; ++part) {
        const auto p = static_cast<std::size_t>(part);
        for (std::int64_t i = 0; i < places * own; ++i) cut[p][i] = logits[i / own * classes + part * own + i % own];
        const Array terms(places * 3, 0, arrays::nan);
        LossKernel<CrossEntropy, EigenCompute>::terms(call(part, terms.data(), gradients[p].data()));
        CHECK(terms.guarded());
        for (std::int64_t i = 0; i < places * 3; ++i)  // rank by rank in each row, as they are gathered
          together[(i / (positions * 3) * parts + part) * positions * 3 + i % (positions * 3)] = terms[i];
      }
      std::int64_t wrong = 0;
      float first = 0;
      for (int part = 0; part < parts; ++part) {
        const auto p = static_cast<std::size_t>(part);
        const float loss = LossKernel<CrossEntropy, EigenCompute>::sum(call(part, together.data(), gradients[p].data()));
        if (part == 0) first = loss;
        CHECK(loss == first);  // all ranks have the same bits
        CHECK(LossKernel<CrossEntropy, EigenCompute>::sum(call(part, together.data(), nullptr)) == loss);
        CHECK(std::abs(static_cast<double>(loss) - wanted) <= 13 * u * rows + 2 * u * wanted);
        for (std::int64_t i = 0; i < places * own; ++i) {
          const float there = whole[i / own * classes + part * own + i % own];
          wrong += std::abs(static_cast<double>(gradients[p][i]) - static_cast<double>(there)) <= 17 * u / (7 * positions) ? 0 : 1;
        }
        CHECK(gradients[p].guarded());
      }
      CHECK(wrong == 0);
    }
  }
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

TEST_CASE("evaluation needs no gradient and gives the same bits") {
  const Array logits(6 * 10, 1);
  const Array predictions(6 * 10, 2);
  const Array wanted(6 * 10, 3);
  const Array gradient(60);
  const auto targets = classes_of(6, 10);
  CHECK(sum<CrossEntropy>(6, 10, 6, logits.data(), targets.data(), nullptr) ==
        sum<CrossEntropy>(6, 10, 6, logits.data(), targets.data(), gradient.data()));
  CHECK(sum<MeanSquaredError>(6, 10, 6, predictions.data(), wanted.data(), nullptr) ==
        sum<MeanSquaredError>(6, 10, 6, predictions.data(), wanted.data(), gradient.data()));
}

TEST_CASE("a class number outside the classes makes the loss NaN and reads nothing") {
  const Array logits(4, 1);
  for (const std::int32_t target : {-1, 2, 1 << 30}) {
    const std::int32_t targets[] = {0, target};
    const Array gradient(4);
    CHECK(std::isnan(sum<CrossEntropy>(2, 2, 2, logits.data(), targets, gradient.data())));
    CHECK_FALSE(std::isnan(gradient[0]));
    CHECK(std::isnan(gradient[2]));
    CHECK(std::isnan(gradient[3]));
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

TEST_CASE("squared error is the sum over rows of the mean over features, its gradient that of the mean over all ranks") {
  for (const std::int64_t rows : {0, 1, 2, 3, 16, 63, 64}) {
    for (const std::int64_t features : {1, 2, 15, 16, 17, 50}) {
      const Array output(rows * features, 1);
      const Array targets(rows * features, 2);
      const Array gradient(rows * features, 0, arrays::nan);
      const std::int64_t total = rows + 3;
      const float got = sum<MeanSquaredError>(rows, features, total, output.data(), targets.data(), gradient.data());
      double expected = 0;
      for (std::int64_t i = 0; i < rows * features; ++i) {
        const double difference = static_cast<double>(output[i]) - static_cast<double>(targets[i]);
        expected += difference * difference / static_cast<double>(features);
        const double slope = 2 * difference / static_cast<double>(features * total);
        CHECK(std::abs(static_cast<double>(gradient[i]) - slope) <= 3.01 * u * std::abs(slope));  // difference, scale, product
      }
      CHECK(std::abs(static_cast<double>(got) - expected) <= 3.01 * u * expected);  // squares of rounded differences, one rounding at the end
      CHECK(gradient.guarded());
    }
  }
}

TEST_CASE("the gradient may lie where the output was") {
  const Array output(21, 1);
  const Array targets(21, 2);
  const Array apart(21);
  const Array in_place = output;
  sum<MeanSquaredError>(3, 7, 3, output.data(), targets.data(), apart.data());
  sum<MeanSquaredError>(3, 7, 3, in_place.data(), targets.data(), in_place.data());
  CHECK(in_place.same_bits(apart));
  const Array logits = output;
  const auto classes = classes_of(3, 7);
  const float loss = sum<CrossEntropy>(3, 7, 3, output.data(), classes.data(), apart.data());
  CHECK(sum<CrossEntropy>(3, 7, 3, logits.data(), classes.data(), logits.data()) == loss);
  CHECK(logits.same_bits(apart));
}
