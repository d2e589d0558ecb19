// SPDX-License-Identifier: MIT
#include "heddle/plan/options/plan_part.hpp"

#include <doctest/doctest.h>

using namespace heddle;

namespace {

struct Declares {
  static constexpr PlanPart plan_part = PlanPart::grain;
};
struct Derived : Declares {};
struct AnotherType {
  static constexpr int plan_part = 4;
};
struct Changes {
  static inline PlanPart plan_part = PlanPart::grain;
};

}  // namespace

TEST_CASE("a part of a plan is known by a member of Heddle's own type, not by its name") {
  static_assert(DeclaresPlanPart<Declares> && DeclaresPlanPart<Derived>);
  static_assert(!DeclaresPlanPart<AnotherType> && !DeclaresPlanPart<Changes> && !DeclaresPlanPart<int>);
  CHECK(name_of(Declares::plan_part) == "Grain");
  CHECK(name_of(PlanPart::loss_scaling) == "LossScaling");
  CHECK(name_of(PlanPart::guarded) == "Guarded");
}
