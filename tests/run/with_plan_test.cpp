// SPDX-License-Identifier: MIT
#include "heddle/run/with_plan.hpp"

#include <doctest/doctest.h>
#include <stdlib.h>

#include <string>

#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

using Set = PlanSet<Trained<Chain, Single>, Trained<Chain, DataParallel<2>>, Trained<Chain, DataParallel<4>>>;

const auto devices_of = [](auto plan) { return devices<decltype(plan)>; };

std::string refusal(int ranks) {
  try {
    with_plan<Set>(ranks, devices_of);
  } catch (const Error& error) {
    return error.what();
  }
  return {};
}

/// Variables of a launcher, taken back at the end.
struct Launched {
  Launched(const char* size, const char* rank) {
    setenv("WORLD_SIZE", size, 1);
    setenv("RANK", rank, 1);
  }
  Launched(const Launched&) = delete;
  Launched& operator=(const Launched&) = delete;
  ~Launched() {
    unsetenv("WORLD_SIZE");
    unsetenv("RANK");
  }
};

}  // namespace

TEST_CASE("the number of ranks chooses the plan") {
  for (const int ranks : {1, 2, 4}) CHECK(with_plan<Set>(ranks, devices_of) == ranks);
}

TEST_CASE("a plan with a name of its own is chosen as that type") {
  struct Mine : Trained<Chain, DataParallel<2>> {};
  CHECK(with_plan<PlanSet<Trained<Chain, Single>, Mine>>(2, [](auto plan) { return std::is_same_v<decltype(plan), Mine>; }));
}

TEST_CASE("a callable may return nothing, a reference, and keep what it holds") {
  int seen = 0;
  with_plan<Set>(2, [&](auto plan) { seen = devices<decltype(plan)>; });
  CHECK(seen == 2);
  int& same = with_plan<Set>(4, [&seen](auto) -> int& { return seen; });
  CHECK(&same == &seen);
}

TEST_CASE("a set with a name of its own is a set; what is none is refused") {
  struct Mine : Set {};
  CHECK(with_plan<Mine>(2, devices_of) == 2);
  static_assert(AskedSet<Mine>::found.ok());
  CHECK(AskedSet<Chain>::found.sentence().view() ==
        "[heddle.L04] Chain is no PlanSet, so the number of ranks has no plan to choose. Fix: write with_plan<PlanSet<Plan<...>, Plan<...>>>.");
  CHECK(CheckedSet<>::found.sentence().view() == "[heddle.L04] a PlanSet of no plans runs nowhere. Fix: name a plan.");
}

TEST_CASE("R03: a number of ranks that the set does not have is refused with the list") {
  CHECK(refusal(3) ==
        "[heddle.R03] there are 3 ranks, but the set has plans for 1, 2 and 4. Fix: start one of these numbers of ranks, or add a plan "
        "for 3 to the PlanSet.");
  CHECK(refusal(0).find("there are 0 ranks") != std::string::npos);
  CHECK(refusal(4).empty());
}

TEST_CASE("a name chooses the plan, and one that the set does not have is refused with all that it has") {
  using Stages = Trained<Chain, Pipeline<Balanced<2>>>;
  using Named = PlanSet<Choice<"alone", Trained<Chain, Single>>, Choice<"replicas", Trained<Chain, DataParallel<2>>>, Choice<"stages", Stages>>;
  const auto roles = [](auto plan) { return lower<decltype(plan)>().roles; };
  CHECK(with_plan<Named>("replicas", roles) == 1);
  CHECK(with_plan<Named>(std::string{"stages"}, roles) == 2);
  CHECK(with_plan<Named>("alone", devices_of) == 1);
  CHECK(with_plan<Named>(1, devices_of) == 1);
  CHECK_THROWS_WITH_AS(with_plan<Named>("stage", roles),
                       "[heddle.R03] the set has no plan named 'stage'; it has alone, replicas and stages. Fix: write one of these names.", Error);
  const char* const argument = nullptr;  // argv of a program that was given none
  CHECK_THROWS_WITH_AS(with_plan<Named>(argument, roles),
                       "[heddle.R03] no plan is named; the set has alone, replicas and stages. Fix: write one of these names.", Error);
  CHECK_THROWS_WITH_AS(with_plan<Set>(argument, roles),
                       "[heddle.R03] no plan is named; the set has no names. Fix: write Choice<\"name\", Plan<...>> in the PlanSet.", Error);
  CHECK_THROWS_WITH_AS(with_plan<Named>(2, roles),
                       "[heddle.R03] several plans of the set have 2 devices, so their number does not choose. Fix: name one of replicas and stages, "
                       "as in with_plan<Set>(\"replicas\", run).",
                       Error);
  CHECK_THROWS_WITH_AS(with_plan<Set>("alone", roles),
                       "[heddle.R03] the set has no plan named 'alone'; it has no names. Fix: write Choice<\"name\", Plan<...>> in the PlanSet.",
                       Error);
}

TEST_CASE("without a number the launcher says it") {
  {
    const Launched four{"4", "2"};
    CHECK(with_plan<Set>(devices_of) == 4);
  }
  {
    const Launched three{"3", "2"};
    CHECK_THROWS_AS(with_plan<Set>(devices_of), Error);
  }
  const Launched odd{"4", "4"};
  CHECK_THROWS_WITH_AS(with_plan<Set>(devices_of),
                       "[heddle.R20] RANK is 4, but WORLD_SIZE says that there are 4 processes. Fix: count ranks from 0, or let a launcher set both.",
                       Error);
}
