// SPDX-License-Identifier: MIT
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <algorithm>

#include "equivalence/equal.hpp"

using namespace equivalence;

namespace {

constexpr int batch = 64;
template <class... Parts> using Of = Plan<Mlp, CrossEntropy, SGD, Batch<batch>, Parts...>;
using Alone = Of<Single>;

// How far two orders of summation may lie apart, for Mlp = Linear<23, 17>, ReLU, Linear<17, 10> and cross-entropy over 64 rows.
//
// Magnitudes. |x| <= 1; |w| <= W, checked below. A row's gradient of the logits is (p - y) / 64 with sum_o |p_o - y_o| <= 2. So the absolute terms
// of one gradient element sum to at most G = max(A, 2 W) over the rows, where A = 23 W + W bounds a hidden value, hence G = 24 W for W <= 1.
// Roundings. From inputs to a gradient element there are at most n = 2 (23 + 17 + 10) + 10 + 64 + 16 of them: the products forward and backward,
// softmax, the sum over rows, constants. Each is at most u = 2^-24 of such a sum of absolute terms; a perturbed logit moves p by at most itself,
// and logits are bounded by 17 A W + W, which enters through n once more as the factor 18 A. Two runs differ by twice that.
// Steps. A difference d of parameters becomes at most (1 + r L) d with r the learning rate; for r = 0.01, L <= 5 (24 inputs below 1, |p'| <= 1/4,
// weights below 1) it grows by at most e within 20 steps, and each step adds r times the difference of the gradients.
constexpr double largest_weight = 1.0;
constexpr double hidden = 24 * largest_weight;
constexpr double roundings = 2 * (23 + 17 + 10) + 10 + 64 + 16;
constexpr double unit = 1.0 / (1 << 24);
constexpr double gradient_difference = 2 * roundings * unit * 24 * largest_weight * hidden;
constexpr double rate = 0.01;
constexpr double difference_after_20_steps = steps * rate * gradient_difference * 2.71828;

struct Trained {
  std::vector<std::vector<float>> before;
  std::vector<std::vector<float>> parameters;
};

template <class Plan> Trained train_slowly() {
  const auto rows = rows_of<Plan>(2 * batch);
  Trainer<Plan, CpuThreads> trainer{{.learning_rate = rate}, Seed{5}};
  Trained out;
  out.before = parameters_of<Plan>(trainer, 0);
  for (int step = 0; step < steps; ++step) trainer.step(rows.batch(3 * step, batch));
  out.parameters = parameters_of<Plan>(trainer, 0);
  for (int replica = 1; replica < trainer.replicas(); ++replica) {
    const auto others = parameters_of<Plan>(trainer, replica);
    for (std::size_t p = 0; p < others.size(); ++p) CHECK(same_bits(others[p], out.parameters[p]));  // replicas agree to the bit all the same
  }
  return out;
}

double largest_difference(const std::vector<std::vector<float>>& a, const std::vector<std::vector<float>>& b) {
  double most = 0;
  for (std::size_t p = 0; p < a.size(); ++p)
    for (std::size_t i = 0; i < a[p].size(); ++i) most = std::max(most, std::abs(static_cast<double>(a[p][i]) - static_cast<double>(b[p][i])));
  return most;
}

template <class Plan> void check_close() {
  static_assert(!is_reproducible<Plan>);
  static const Trained wanted = train_slowly<Alone>();
  for (const auto& parameter : wanted.parameters)
    for (const float w : parameter) REQUIRE(std::abs(static_cast<double>(w)) <= largest_weight);
  const double moved = largest_difference(wanted.before, wanted.parameters);
  REQUIRE(moved > 10 * difference_after_20_steps);  // a plan that did not train, or forgot a term, is found
  CHECK(largest_difference(train_slowly<Plan>().parameters, wanted.parameters) <= difference_after_20_steps);
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
  check_close<Of<Pipeline<Balanced<2>, GPipe, Microbatches<4>>>>();
  check_close<Of<Pipeline<Balanced<3>, OneFOneB, Microbatches<8>>>>();
  check_close<Of<DataParallel<2>, Accumulate<2>>>();
  check_close<Of<Hybrid<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, DataParallel<2>>>>();
}

TEST_CASE("Reproducible without a named grain has the bits of one device with the micro-batch as grain") {
  check_same_bits<Of<Single, Accumulate<4>, Reproducible>, Of<Single, Grain<16>>>();
  check_same_bits<Of<Pipeline<Balanced<2>, OneFOneB, Microbatches<4>>, Reproducible>, Of<Single, Grain<16>>>();
}
