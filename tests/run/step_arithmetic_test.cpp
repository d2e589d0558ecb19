// SPDX-License-Identifier: MIT
#include "heddle/run/step_arithmetic.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "heddle/graph/losses/mean_squared_error.hpp"
#include "heddle/policy/sharded.hpp"
#include "heddle/policy/tensor_parallel.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

/// Plain loops in place of a backend; SGD with a rate of 1/2.
KernelTable plain_loops() {
  KernelTable kernels;
  kernels.add = [](float* target, const float* a, const float* b, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) target[i] = a[i] + b[i];
  };
  kernels.step = [](const void*, std::int64_t n, float* parameters, const float* gradients, float* const*) {
    for (std::int64_t i = 0; i < n; ++i) parameters[i] -= gradients[i] / 2;
  };
  return kernels;
}
const auto nothing = [](const float*, std::int64_t) {};

struct Narrow : Sequential<Linear<3, 2>, ReLU, Linear<2, 3>> {};
template <class... Parts> using Of = Plan<Narrow, MeanSquaredError, SGD, Batch<4>, Parts...>;

/// One rank of a plan.
struct OneRank {
  KernelTable kernels = plain_loops();
  HostWork work{kernels};
  RankTensors tensors;
  StepArithmetic arithmetic;
  explicit OneRank(const Program& training, Rank rank = Rank{0}) : tensors(training, rank), arithmetic(training, 0, tensors, work) {}
};

}  // namespace

TEST_CASE("ranks that share a layer sum the squares of their parts alike, also of more than a float counts one by one") {
  struct Wide : Sequential<Linear<8192, 4608, NoBias>> {};
  using Halves = Plan<Wide, MeanSquaredError, SGD, Batch<1>, TensorParallel<2>, Clip<GlobalNorm>>;
  constexpr std::int64_t part = 8192 * 4608 / 2;
  static_assert(part > std::int64_t{1} << 24);
  for (int rank = 0; rank < 2; ++rank) {
    CAPTURE(rank);
    OneRank one{Halves::training, Rank{rank}};
    const HeldPart held = one.tensors.held_gradient(0);
    REQUIRE(held.elements == part);
    std::fill(held.values, held.values + held.elements, 1.0F);
    one.arithmetic.sum_squares(nothing);
    CHECK(one.tensors.norms()[0] == static_cast<float>(part));
  }
}

TEST_CASE("the norm is that of all gradients without the scale of the loss, and the flag tells one that is not finite") {
  using Scaled = Of<Single, Clip<GlobalNorm>, LossScaling>;
  const Program& p = Scaled::training;
  for (const bool overflows : {false, true}) {
    OneRank one{p};
    double squares = 0;
    for (int k = 0; k < p.graph->parameter_count; ++k) {
      const HeldPart part = one.tensors.held_gradient(k);
      for (std::int64_t i = 0; i < part.elements; ++i) {
        part.values[i] = static_cast<float>(8 * (k + i + 1));
        squares += static_cast<double>((k + i + 1) * (k + i + 1));
      }
    }
    if (overflows) one.tensors.held_gradient(2).values[1] = std::numeric_limits<float>::infinity();
    one.arithmetic.unscale(8);
    CHECK(*one.tensors.overflow_flag() == (overflows ? 1.0F : 0.0F));
    CHECK(one.tensors.held_gradient(0).values[0] == 1.0F);
    if (!overflows) CHECK(one.kernels.arithmetic.norm(one.tensors.norms(), one.tensors.program().unit_count) == doctest::Approx(std::sqrt(squares)));
  }
}

TEST_CASE("a step takes the clipped gradients of this rank's slice, and no other rank's") {
  using Sliced = Of<Sharded<2, OptimizerState>, Clip<GlobalNorm>>;
  const Program& p = Sliced::training;
  for (int rank = 0; rank < 2; ++rank) {
    OneRank one{p, Rank{rank}};
    for (int k = 0; k < p.graph->parameter_count; ++k) {
      const HeldPart part = one.tensors.held_parameter(k);
      std::fill(part.values, part.values + part.elements, 10.0F);
      const HeldPart gradient = one.tensors.held_gradient(k);
      std::fill(gradient.values, gradient.values + gradient.elements, 4.0F);
    }
    const StepInput input{};
    for (int b = 0; b < p.bucket_count; ++b) one.arithmetic.step(b, 0.5F, input);
    for (int k = 0; k < p.graph->parameter_count; ++k) {
      const HeldPart part = one.tensors.held_parameter(k);
      const HeldPart own = one.tensors.held_gradient(k);
      for (std::int64_t i = 0; i < part.elements; ++i) {
        const bool mine = i >= own.begin && i < own.begin + own.elements;
        CHECK(part.values[i] == (mine ? 9.0F : 10.0F));  // 10 - 4 / 2 / 2
      }
    }
  }
}

TEST_CASE("gaps between the tensors of a ring are 0, and the tensors stay") {
  using Gathered = Of<Sharded<2>>;
  const Program& p = Gathered::training;
  OneRank one{p};
  for (int b = 0; b < p.bucket_count; ++b) {
    const FlatBucket& bucket = p.buckets[b];
    float* const whole = one.tensors.whole_gradient(bucket);
    std::fill(whole, whole + bucket.elements, 7.0F);
    one.arithmetic.zero_gaps(bucket);
    std::int64_t sevens = 0, of_parameters = 0;
    for (std::int64_t i = 0; i < bucket.elements; ++i) sevens += whole[i] == 7.0F ? 1 : 0;
    for (int k = 0; k < p.graph->parameter_count; ++k)
      if (p.parameters[k].begin >= bucket.begin && p.parameters[k].begin < bucket.end()) of_parameters += p.parameters[k].elements;
    CHECK(of_parameters > 0);
    CHECK(of_parameters < bucket.elements);
    CHECK(sevens == of_parameters);
  }
}
