// SPDX-License-Identifier: MIT
// Kernels of the card with sizes of a test's own, held against the loops in double that every Compute is held against.
#pragma once

#include <doctest/doctest.h>

#include <cstdint>
#include <string>
#include <vector>

#include "compute/cuda/on_card.hpp"
#include "conformance/compute.hpp"
#include "conformance/cuda.hpp"

namespace against_loops {

using namespace heddle;
using conformance::UploadedCuda;
using on_card::Card;

/// A layer of its own size with operands drawn from a seed, after a forward and a backward.
template <class L> struct Ran : run_room::LeafUnderTest<L, UploadedCuda> {
  using Test = run_room::LeafUnderTest<L, UploadedCuda>;
  std::int64_t rows;

  Ran(const Shape& shape, std::int64_t samples) : Test(L::describe(Spec{shape}), samples, Seed{7}), rows(samples) { this->context.trains = true; }
  Ran& run() {
    this->forward(0, rows);
    this->backward(0, rows, false);
    return *this;
  }
  /// What is not as the loops have it; empty if there is nothing.
  [[nodiscard]] std::string off() const {
    const std::vector<Floats> before;
    const auto wanted = conformance::Slow<L>::run(
        {this->leaf(), rows, this->input, this->output_gradient, this->parameters, before, this->context, this->second}, conformance::Precision{});
    std::string found = conformance::off("the output", this->output, wanted.output);
    if (found.empty()) found = conformance::off("the statistics", this->statistics, wanted.statistics);
    if (found.empty()) found = conformance::off("the gradient of the input", this->input_gradient, wanted.input_gradient);
    for (std::size_t k = 0; k < this->gradients.size() && found.empty(); ++k)
      found = conformance::off("gradient " + std::to_string(k), this->gradients[k], wanted.gradients[k]);
    return found;
  }
};
/// Of a layer of this shape and so many rows.
template <class L> [[nodiscard]] std::string off(const Shape& shape, std::int64_t rows) { return Ran<L>(shape, rows).run().off(); }

/// Whether the bits depend on the order in which threads and blocks run.
template <class L> [[nodiscard]] bool same_bits_in_any_order(const Shape& shape, std::int64_t rows) {
  std::vector<Floats> found[2];
  for (const std::size_t seed : {0U, 1U}) {
    const Card card(seed + 1);
    Ran<L> ran(shape, rows);
    ran.run();
    found[seed] = ran.gradients;
    found[seed].push_back(ran.output);
    found[seed].push_back(ran.input_gradient);
  }
  for (std::size_t k = 0; k < found[0].size(); ++k)
    if (!conformance::equal_bits(found[0][k], found[1][k])) return false;
  return true;
}

/// A loss of given logits or predictions, whole, on the card.
template <class Loss> struct RanLoss {
  std::int64_t features;
  Floats output, weights, gradient;
  conformance::LossCase given;
  typename conformance::SlowLoss<Loss>::Targets targets;
  float sum = 0;

  RanLoss(std::int64_t rows, std::int64_t features_given, std::int64_t positions = 1)
      : features(features_given), output(conformance::drawn(rows * features, 11)), given{rows, features, positions, rows + 1, 0, output, weights},
        targets(conformance::SlowLoss<Loss>::targets(given)) {}
  RanLoss(const RanLoss&) = delete;
  RanLoss& operator=(const RanLoss&) = delete;
  RanLoss& run() {
    gradient.assign(output.size(), conformance::nan);
    sum = run_room::LossKernelFor<Loss, UploadedCuda>::sum(call(output.data(), gradient.data()));
    return *this;
  }
  [[nodiscard]] LossCall call(const float* logits, float* to) const {
    LossCall made{given.rows, features, given.total_rows, logits, targets.data(), to, given.positions};
    made.class_weights = weights.empty() ? nullptr : weights.data();
    made.sum_of_weights = given.sum_of_weights();
    return made;
  }
  [[nodiscard]] std::string off() const {
    const auto wanted = conformance::SlowLoss<Loss>::run(given, targets, conformance::Precision{});
    const std::string found = conformance::off("the sum", Floats{sum}, {wanted.sum});
    return found.empty() ? conformance::off("the gradient", gradient, wanted.gradient) : found;
  }
};

}  // namespace against_loops
