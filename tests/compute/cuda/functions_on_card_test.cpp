// SPDX-License-Identifier: MIT
#include "heddle/compute/cuda/functions_on_card.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstdint>
#include <type_traits>

#include "heddle/graph/layers/relu.hpp"

using namespace heddle;
using namespace compute_room;

namespace {

/// A loss of the user's own, which leaves out every even class.
struct OddClasses : CrossEntropy {
  static constexpr bool counts(std::int32_t target) { return target % 2 == 1; }
};
using Padded = CrossEntropyWith<Ignored<-100>, ClassWeights>;
using Smoothed = CrossEntropyWith<LabelSmoothing<1, 10>>;

template <class Loss> using RuleFor = decltype(RuleOfLoss<Loss>::rule());

}  // namespace

// One kernel serves all options that are numbers.
static_assert(std::is_same_v<RuleFor<Padded>, RuleFor<CrossEntropy>> && std::is_same_v<RuleFor<Padded>, RuleFor<CrossEntropyWith<Ignored<7>>>>);
static_assert(std::is_same_v<RuleFor<Smoothed>, RuleFor<CrossEntropyWith<LabelSmoothing<1, 4>, Ignored<0>>>>);
static_assert(!std::is_same_v<RuleFor<Smoothed>, RuleFor<Padded>>);
static_assert(std::is_same_v<decltype(FunctionsOnCard<LeakyReLU<1, 5>>::functions()), decltype(FunctionsOnCard<LeakyReLU<>>::functions())>);
static_assert(std::is_same_v<decltype(LossOnCard<Huber<1, 2>>::functions()), decltype(LossOnCard<Huber<>>::functions())>);

TEST_CASE("a rule has the numbers of the options") {
  CHECK(RuleOfLoss<CrossEntropy>::rule().counts(-100));
  CHECK(RuleOfLoss<CrossEntropy>::rule().smoothing() == 0);
  CHECK(!RuleOfLoss<Padded>::rule().counts(-100));
  CHECK(RuleOfLoss<Padded>::rule().counts(0));
  CHECK(!RuleOfLoss<CrossEntropyWith<Ignored<7>>>::rule().counts(7));
  CHECK(RuleOfLoss<Smoothed>::rule().smoothing() == doctest::Approx(0.1));
  CHECK(RuleOfLoss<Smoothed>::rule().counts(0));  // no class is ignored by being 0
}

TEST_CASE("a loss of the user's own is asked itself") {
  CHECK(RuleOfLoss<OddClasses>::rule().counts(3));
  CHECK(!RuleOfLoss<OddClasses>::rule().counts(4));
  CHECK(std::is_same_v<RuleFor<OddClasses>::Functions, OddClasses>);
}

TEST_CASE("functions have the bits of their layer and of their loss") {
  for (const float x : {-3.5F, -0.0F, 0.0F, 1e-30F, 2.25F}) {
    CHECK(FunctionsOnCard<LeakyReLU<1, 5>>::functions().forward(x) == LeakyReLU<1, 5>::forward(x));
    CHECK(FunctionsOnCard<LeakyReLU<1, 5>>::functions().backward(x, 3) == LeakyReLU<1, 5>::backward(x, 3));
    CHECK(FunctionsOnCard<ReLU>::functions().forward(x) == ReLU::forward(x));
    CHECK(LossOnCard<Huber<1, 2>>::functions().loss(x, 1) == Huber<1, 2>::loss(x, 1));
    CHECK(LossOnCard<Huber<1, 2>>::functions().slope(x, 1) == Huber<1, 2>::slope(x, 1));
    CHECK(LossOnCard<MeanAbsoluteError>::functions().loss(x, 1) == MeanAbsoluteError::loss(x, 1));
  }
  CHECK(FunctionsOnCard<LeakyReLU<1, 5>>::functions().forward(-5) == -1);
  CHECK(LossOnCard<Huber<>>::functions().loss(3, 1) == 1.5);
}
