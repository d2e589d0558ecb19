// SPDX-License-Identifier: MIT
#include "heddle/plan/plan_set.hpp"

#include <doctest/doctest.h>

#include <string>
#include <string_view>

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

template <class... Plans> std::string refusal() { return std::string{CheckedSet<Plans...>::found.sentence().view()}; }

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
        "[heddle.L04] plans 1 and 2 of the set both have 2 devices, so the number of ranks does not choose. Fix: keep one of them, or name "
        "them: Choice<\"name\", Plan<...>>.");
  CHECK(refusal<Alone, Alone>().find("both have 1 device, so") != std::string::npos);
  CHECK(refusal<>() == "[heddle.L04] a PlanSet of no plans runs nowhere. Fix: name a plan.");
  CHECK(refusal<Alone, Chain>() == "[heddle.L04] Chain in a PlanSet is no Plan. Fix: name Plan<...> itself.");
  CHECK(refusal<Alone, Two, Four>().empty());
}

TEST_CASE("plans of one number of devices are chosen by their names, and the number chooses where it can") {
  using Stages = Trained<Chain, Pipeline<Balanced<2>>>;
  using Named = PlanSet<Choice<"alone", Alone>, Choice<"replicas", Two>, Choice<"stages", Stages>>;
  static_assert(Named::index_of("alone") == 0 && Named::index_of("replicas") == 1 && Named::index_of("stages") == 2);
  static_assert(Named::index_of("stage") == -1 && Named::index_of("") == -1);
  static_assert(Named::index_of(1) == 0 && Named::index_of(2) == -1 && Named::has(2) && !Named::has(3));
  std::string all;
  for (const std::string_view name : Named::names()) all += std::string{name} + ';';
  CHECK(all == "alone;replicas;stages;");
  CHECK(listed(Named::names()).view() == "alone, replicas and stages");
  CHECK(Named::list().view() == "1 and 2");
  using Mixed = PlanSet<Two, Choice<"stages", Stages>, Alone>;  // two devices are those of the plan without a name
  static_assert(Mixed::index_of(2) == 0 && Mixed::index_of("stages") == 1 && Mixed::index_of(1) == 2 && Mixed::index_of("") == -1);
  CHECK(Mixed::names().count == 1);
  CHECK(Set::names().count == 0);
}

TEST_CASE("L04: a name must choose") {
  CHECK(refusal<Choice<"two", Two>, Alone, Choice<"two", Four>>() ==
        "[heddle.L04] plans 0 and 2 of the set are both named 'two', so the name does not choose. Fix: give each a name of its own.");
  CHECK(refusal<Choice<"", Two>>() == "[heddle.L04] plan 0 of the set has an empty name. Fix: give it a name that a user can type.");
  CHECK(refusal<Choice<"two", Chain>>() == "[heddle.L04] Chain in a PlanSet is no Plan. Fix: name Plan<...> itself.");
  CHECK(refusal<Choice<"two", Two>, Choice<"2", Two>, Two>().empty());
}

TEST_CASE("a set with a broken plan has the refusal of that plan") {
  using Broken = Plan<Chain, CrossEntropy, Adam, Batch<63>, DataParallel<2>>;
  CHECK(refusal<Choice<"broken", Broken>>() == std::string{check<Broken>().sentence().view()});
  CHECK(refusal<Two, Broken, Two>() == std::string{check<Broken>().sentence().view()});
  CHECK_FALSE(check<Broken>().ok());
}
