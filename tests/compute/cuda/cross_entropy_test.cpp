// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/cross_entropy.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "compute/cuda/against_loops.hpp"
#include "conformance/layers.hpp"

using namespace heddle;
using against_loops::Card;
using against_loops::RanLoss;
using conformance::equal_bits;
using conformance::UploadedCuda;
using Ignoring = CrossEntropyWith<Ignored<-100>, ClassWeights, LabelSmoothing<1, 4>>;

TEST_CASE("CrossEntropy keeps the laws of every Compute, with all its options, whole and in parts") {
  const Card card;
  conformance::for_each_of<conformance::Losses>([]<class Loss> {
    if constexpr (std::derived_from<Loss, CrossEntropy>) CHECK(conformance::broken_law_of_loss<Loss, UploadedCuda>(40) == "");
  });
}

TEST_CASE("classes of any number are shared by a warp, by a block, or read in tiles") {
  const Card card;
  for (const std::int64_t classes : {300, 1023, 5000, 8195, 20001}) {
    CHECK(RanLoss<CrossEntropy>(2, classes).run().off() == "");
    CHECK(RanLoss<Ignoring>(3, classes).run().off() == "");
  }
}

TEST_CASE("more positions than there are sums of blocks: a warp has several of them") {
  const Card card;
  CHECK(RanLoss<CrossEntropy>(331, 50 * 3, 50).run().off() == "");  // 16,550 positions, and 2048 blocks of 8 warps
}

TEST_CASE("a gradient in the place of logits that are read twice has the same bits, and so has the loss without it") {
  const Card card;
  RanLoss<CrossEntropy> loss(2, 17000);
  loss.run();
  Floats in_place = loss.output;
  const float sum = run_room::LossKernelFor<CrossEntropy, UploadedCuda>::sum(loss.call(in_place.data(), in_place.data()));
  const float evaluated = run_room::LossKernelFor<CrossEntropy, UploadedCuda>::sum(loss.call(loss.output.data(), nullptr));
  CHECK((sum == loss.sum && evaluated == loss.sum && equal_bits(in_place, loss.gradient)));
}

TEST_CASE("parts of many classes have the loss and the gradient of the whole") {
  const Card card;
  constexpr std::int64_t rows = 3, own = 3000;
  constexpr int parts = 3;
  RanLoss<CrossEntropyWith<LabelSmoothing<1, 10>>> whole(rows, own * parts);
  whole.targets = {4000, 1, 8999};
  whole.run();
  CHECK(whole.off() == "");
  using Kernels = run_room::LossKernelFor<CrossEntropyWith<LabelSmoothing<1, 10>>, UploadedCuda>;
  Floats together(rows * parts * 4), sums;
  std::vector<Floats> output, gradient;
  const auto call = [&](int part, Floats& terms) {
    const auto p = static_cast<std::size_t>(part);
    return LossCall{rows, own, whole.given.total_rows, output[p].data(), whole.targets.data(), gradient[p].data(), 1, part, parts, terms.data()};
  };
  for (int part = 0; part < parts; ++part) {
    output.emplace_back();
    for (std::int64_t i = 0; i < rows * own; ++i)
      output.back().push_back(whole.output[static_cast<std::size_t>(i / own * own * parts + part * own + i % own)]);
    gradient.emplace_back(output.back().size(), conformance::nan);
    Floats told(rows * 4, conformance::nan);
    Kernels::terms(call(part, told));
    CHECK((told[2] == 0) == (part != 1));  // target 4000 is of part 1
    for (std::size_t i = 0; i < told.size(); ++i) together[(i / 4 * parts + static_cast<std::size_t>(part)) * 4 + i % 4] = told[i];
  }
  for (int part = 0; part < parts; ++part) sums.push_back(Kernels::sum(call(part, together)));
  CHECK((sums[0] == sums[1] && sums[0] == sums[2] && std::abs(sums[0] - whole.sum) <= 12 * rows * 0x1p-23));
  double most = 0;
  for (std::int64_t i = 0; i < rows * own * parts; ++i) {
    const std::int64_t j = i % (own * parts);
    const float of_part = gradient[static_cast<std::size_t>(j / own)][static_cast<std::size_t>(i / (own * parts) * own + j % own)];
    most = std::max(most, std::abs(static_cast<double>(of_part - whole.gradient[static_cast<std::size_t>(i)])));
  }
  CHECK(most <= 16 * 0x1p-24 / 4);  // each of a gradient of at most 1 / 4, as the suite has it
}

TEST_CASE("large logits neither overflow nor lose the loss; what is masked out has no share, and makes the loss of its own target infinite") {
  const Card card;
  RanLoss<CrossEntropy> loss(3, 3);
  loss.output = {1000, 999, -1000, 2, -infinity, 2, 2, -infinity, 2};
  loss.targets = {1, 0, 1};
  loss.run();
  CHECK(std::isinf(loss.sum));
  CHECK(std::abs(loss.gradient[1] + (1 - 0.26894142F) / 4) <= 0x1p-22F);
  CHECK((loss.gradient[3] == -0.125F && loss.gradient[4] == 0 && loss.gradient[5] == 0.125F));
  loss.targets[2] = 2;
  loss.run();
  CHECK(std::abs(static_cast<double>(loss.sum) - (1.3132616875182228 + 2 * 0.6931471805599453)) <= 4 * 0x1p-24 * 4);
  for (const std::size_t j : {3U, 4U, 5U}) loss.output[j] = -infinity;
  loss.run();
  CHECK((std::isnan(loss.sum) && std::isnan(loss.gradient[3]) && std::isnan(loss.gradient[5]) && !std::isnan(loss.gradient[6])));
}

TEST_CASE("the bits do not depend on the order in which threads and blocks run") {
  Floats gradients[2];
  float sums[2];
  for (const std::size_t seed : {0U, 1U}) {
    const Card card(seed + 1);
    RanLoss<Ignoring> loss(9, 3 * 1030, 3);
    loss.run();
    gradients[seed] = loss.gradient;
    sums[seed] = loss.sum;
  }
  CHECK((sums[0] == sums[1] && equal_bits(gradients[0], gradients[1])));
}
