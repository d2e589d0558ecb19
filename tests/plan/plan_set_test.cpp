// SPDX-License-Identifier: MIT
#include "heddle/plan/plan_set.hpp"

#include <doctest/doctest.h>

#include <string>

#include "heddle/plan/inference.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

using Alone = Trained<Chain, Single>;
using Two = Trained<Chain, DataParallel<2>>;
using Four = Trained<Chain, DataParallel<4>>;
using Set = PlanSet<Two, Alone, Four>;

/// A plan, or an Inference, with a name of its own.
struct Mine : Trained<Chain, Single> {};
struct Applied : Inference<Chain, Batch<64>, DataParallel<2>> {};

template <class... Plans> std::string refusal() { return std::string{CheckedSet<Plans...>::found.text.view()}; }

}  // namespace

TEST_CASE("a set knows the numbers of devices of its plans") {
  static_assert(Set::count == 3);
  static_assert(Set::index_of(2) == 0 && Set::index_of(1) == 1 && Set::index_of(4) == 2);
  static_assert(Set::index_of(3) == -1 && Set::index_of(0) == -1);
  CHECK(Set::list().view() == "1, 2 and 4");
  CHECK(PlanSet<Four>::list().view() == "4");
  CHECK(PlanSet<Four, Two>::list().view() == "2 and 4");
}

TEST_CASE("plans of one set may differ in everything but their number of devices") {
  using Mixed = PlanSet<Alone, Trained<Mnist, Pipeline<Balanced<2>>>>;
  CHECK(Mixed::index_of(2) == 1);
}

TEST_CASE("what derives from a Plan or an Inference is one, in a set as in every question") {
  static_assert(devices<Mine> == 1 && check<Mine>().ok() && PlanSet<Mine, Two>::index_of(1) == 0);
  static_assert(devices<Applied> == 2 && check<Applied>().ok() && PlanSet<Mine, Applied>::index_of(2) == 1);
  static_assert(PlanSet<Inference<Chain, Batch<64>, Single>, Applied>::index_of(1) == 0);
  CHECK(refusal<Mine, Alone>().find("plans 0 and 1 of the set both have 1 device") != std::string::npos);
  CHECK(refusal<Mine, int>() == "[heddle.L04] int in a PlanSet is no Plan. Fix: name Plan<...> itself.");
}

TEST_CASE("L04: the number of ranks must choose") {
  CHECK(refusal<Alone, Two, Trained<Chain, Pipeline<Balanced<2>>>>() ==
        "[heddle.L04] plans 1 and 2 of the set both have 2 devices, so the number of ranks does not choose. Fix: keep one of them.");
  CHECK(refusal<Alone, Alone>().find("both have 1 device, so") != std::string::npos);
  CHECK(refusal<>() == "[heddle.L04] a PlanSet of no plans runs nowhere. Fix: name a plan.");
  CHECK(refusal<Alone, Chain>() == "[heddle.L04] Chain in a PlanSet is no Plan. Fix: name Plan<...> itself.");
  CHECK(refusal<Alone, Two, Four>().empty());
}

TEST_CASE("a set with a broken plan has the refusal of that plan") {
  using Broken = Plan<Chain, CrossEntropy, Adam, Batch<63>, DataParallel<2>>;
  CHECK(refusal<Two, Broken, Two>() == std::string{check<Broken>().text.view()});
  CHECK_FALSE(check<Broken>().ok());
}
