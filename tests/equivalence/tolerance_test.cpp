// SPDX-License-Identifier: MIT
#include <algorithm>

#include "equivalence/equal.hpp"

using namespace equivalence;

namespace {

constexpr int batch = 64;
template <class... Parts> using Of = Plan<Mlp, CrossEntropy, SGD, Batch<batch>, Parts...>;
using Alone = Of<Single>;

// How far two orders of summation may lie apart, for Mlp = Linear<23, 17>, ReLU, Linear<17, 10> and cross-entropy over 64 rows.
//
// Magnitudes, measured below. A bounds the sum of absolute terms of a hidden value, so hidden values as well; Z that of a logit. A row's gradient of
// the logits is (p - y) / 64 with |p - y| <= 1 and sum_o |p_o - y_o| <= 2, so the absolute terms of an element of a gradient sum over all rows to at
// most G = max(A, 2 W, 1), where W is the largest weight and inputs are below 1.
// Roundings of u = 2^-24 each. Forward n = 23 + 17 + 2 of them per logit, relative to Z: logits differ by n u Z, probabilities by no more, a gradient
// by n u Z G. Backward m = 10 + 8 + 64 + 16: product, softmax, sum over rows, constants, relative to G: m u G. Two runs differ by twice their sum.
// Steps. With learning rate r a difference d becomes at most (1 + r L) d; for r = 0.01 and L <= 5 (24 inputs below 1, |p'| <= 1/4, weights below 1)
// it grows by at most e within 20 steps, and each step adds r times the difference of the gradients.
constexpr double unit = 1.0 / (1 << 24);
constexpr double forward_roundings = 23 + 17 + 2;
constexpr double backward_roundings = 10 + 8 + 64 + 16;
constexpr double rate = 0.01;

struct Magnitudes {
  double hidden = 0;
  double logit = 0;
  double weight = 0;
};

/// Largest sums of absolute terms over all rows; parameters in the order weight, bias, weight, bias.
void measure(Magnitudes& most, const std::vector<std::vector<float>>& p, const Rows<std::int32_t>& rows) {
  const auto size = [](float value) { return std::abs(static_cast<double>(value)); };
  for (const auto& parameter : p)
    for (const float w : parameter) most.weight = std::max(most.weight, size(w));
  for (std::size_t row = 0; row < rows.targets.size(); ++row) {
    double hidden[17];
    for (std::size_t h = 0; h < 17; ++h) {
      hidden[h] = size(p[1][h]);
      for (std::size_t j = 0; j < 23; ++j) hidden[h] += size(p[0][h * 23 + j]) * size(rows.inputs[row * 23 + j]);
      most.hidden = std::max(most.hidden, hidden[h]);
    }
    for (std::size_t o = 0; o < 10; ++o) {
      double logit = size(p[3][o]);
      for (std::size_t h = 0; h < 17; ++h) logit += size(p[2][o * 17 + h]) * hidden[h];
      most.logit = std::max(most.logit, logit);
    }
  }
}

double tolerance(const Magnitudes& most) {
  const double terms = std::max({most.hidden, 2 * most.weight, 1.0});
  const double gradients = 2 * unit * terms * (forward_roundings * most.logit + backward_roundings);
  return steps * rate * gradients * 2.71828;
}

struct Trained {
  std::vector<std::vector<float>> before;
  std::vector<std::vector<float>> parameters;
};

template <class AnyTrainer> Trained slow_steps(AnyTrainer& trainer, const Rows<std::int32_t>& rows) {
  Trained out;
  out.before = parameters_of(trainer, 0);
  for (int step = 0; step < steps; ++step) trainer.step(rows.batch(3 * step, batch));
  out.parameters = parameters_of(trainer, 0);
  for (int replica = 1; replica < trainer.replicas(); ++replica) {
    const auto others = parameters_of(trainer, replica);
    for (std::size_t p = 0; p < others.size(); ++p) CHECK(equal_bits(others[p], out.parameters[p]));  // replicas agree to the bit all the same
  }
  return out;
}

template <class Plan> Trained train_slowly() {
  Trainer<Plan, CpuThreads> trainer{{.learning_rate = rate}, Seed{5}};
  return slow_steps(trainer, rows_of<Plan>(2 * batch));
}

double largest_difference(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  double most = 0;
  for (std::size_t p = 0; p < a.size(); ++p)
    for (std::size_t i = 0; i < a[p].size(); ++i) most = std::max(most, std::abs(static_cast<double>(a[p][i]) - static_cast<double>(b[p][i])));
  return most;
}

void check_close_to_one_device(const Trained& got) {
  static const Trained wanted = train_slowly<Alone>();
  Magnitudes most;
  measure(most, wanted.before, rows_of<Alone>(2 * batch));
  measure(most, wanted.parameters, rows_of<Alone>(2 * batch));
  most = {1.1 * most.hidden, 1.1 * most.logit, 1.1 * most.weight};  // in between: parameters move by less than a tenth of the largest
  REQUIRE(most.weight < 1);
  const double moved = largest_difference(wanted.before, wanted.parameters);
  REQUIRE(moved < 0.1 * most.weight);
  REQUIRE(moved > 100 * tolerance(most));  // a plan that does not train, or forgets a term, is found
  CHECK(largest_difference(got.parameters, wanted.parameters) <= tolerance(most));
}
template <class Plan> void check_close() {
  static_assert(!is_reproducible<Plan>);
  check_close_to_one_device(train_slowly<Plan>());
}
/// The same of a plan that the test lowers while it runs.
template <class Plan> void check_close_as_data() {
  const PlanAsData plan = as_data<Plan>();
  CHECK_FALSE(plan.reproducible());
  DataTrainer<TypesOf<Plan>> trainer{plan, {.learning_rate = rate}, Seed{5}};
  check_close_to_one_device(slow_steps(trainer, rows_of<Alone>(2 * batch)));
}

}  // namespace

TEST_CASE("one grain a rank is reproducible by itself, several are only if a grain or Reproducible is named") {
  static_assert(is_reproducible<Of<Single>>);
  static_assert(is_reproducible<Of<DataParallel<4>>>);
  static_assert(!is_reproducible<Of<Single, Accumulate<2>>>);
  static_assert(is_reproducible<Of<Single, Accumulate<2>, Reproducible>>);
  static_assert(!is_reproducible<Of<Pipeline<Balanced<2>, GPipe, Microbatches<4>>>>);
  static_assert(is_reproducible<Of<Pipeline<Balanced<2>, GPipe, Microbatches<4>>, Grain<16>>>);
  CHECK(Of<Single, Accumulate<2>, Reproducible>::training.batch.grain_rows == 32);
}

TEST_CASE("plans that sum in an order of their own agree with one device within the tolerance of rounding") {
  check_close<Of<Single, Accumulate<4>>>();
  check_close_as_data<Of<Pipeline<Balanced<2>, GPipe, Microbatches<4>>>>();
  check_close_as_data<Of<Pipeline<Balanced<3>, OneFOneB, Microbatches<8>>>>();
  check_close_as_data<Of<DataParallel<2>, Accumulate<2>>>();
  check_close_as_data<Of<Sharded<2, OptimizerState>, Accumulate<2>>>();
  check_close_as_data<Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, DataParallel<2>>>>();
}

TEST_CASE("slices that are reduced in every backward and added up agree with one device within the tolerance of rounding") {
  using Rounds = Of<Sharded<2, Gradients>, Accumulate<4>>;
  static_assert(Rounds::training.storage.gradients && Rounds::training.storage.adds_slices);
  check_close<Rounds>();
  check_close_as_data<Of<Sharded<4>, Accumulate<2>>>();
  check_close_as_data<Of<Hybrid<Sharded<2>, DataParallel<2>>, Accumulate<2>>>();
  check_close_as_data<Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Sharded<2>>>>();
}

TEST_CASE("replicas that take unequal shares of the batch agree with one device within the tolerance of rounding") {
  static_assert(!is_reproducible<Of<WeightedDataParallel<3, 1>>>);
  check_close<Of<WeightedDataParallel<3, 1>>>();
  check_close_as_data<Of<WeightedDataParallel<1, 2, 5>, Accumulate<2>>>();
  check_close_as_data<Of<Hybrid<Sharded<2>, WeightedDataParallel<3, 1>>>>();
  check_close_as_data<Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, WeightedDataParallel<1, 3>>>>();
}

TEST_CASE("Reproducible without a named grain has the bits of one device with the micro-batch as grain") {
  check_same_bits<Of<Single, Accumulate<4>, Reproducible>, Of<Single, Grain<16>>>();
  check_same_bits_as_data<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Reproducible>, Of<Single, Grain<16>>>();
}
