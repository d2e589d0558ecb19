// SPDX-License-Identifier: MIT
#include "heddle/cost/search/scale.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "cost/search/models.hpp"
#include "heddle/cost/search/candidates.hpp"

using namespace heddle;
using namespace heddle::extending;
using tests::small_model;

TEST_CASE("no candidate takes less time or memory than its bounds say") {
  Machine machine;
  machine.alpha = 1e-6;
  machine.beta = 1e-9;
  machine.per_flop = 1e-9;
  cost_room::Scales scales{small_model(), machine, 16};
  int lowered = 0;
  int tight = 0;
  cost_room::each_candidate(small_model(), {.devices = 4, .batch = 16, .may_round = true}, [&](const PlanChoice& c) {
    CAPTURE(policy_text(c));
    const cost_room::Scale& scale = scales.of(c);
    if (!scale.fault.ok()) return;
    const LoweredPlan plan = lower(request_for(small_model(), c, 16, Bytes{0}));
    if (!plan.fault().ok()) return;
    ++lowered;
    const double seconds = simulate(plan.training(), machine).step.value;
    std::int64_t most = 0;
    for (int r = 0; r < plan.training().roles; ++r) most = std::max(most, plan.training().arenas[r].total);
    CHECK(scale.least_seconds(c) <= seconds * (1 + 1e-9));
    CHECK(scale.least_bytes(c) <= most);
    CHECK(scale.least_seconds(c) <= scale.likely_seconds(c));
    if (scale.least_seconds(c) > 0.5 * seconds) ++tight;
  });
  CHECK(lowered > 200);
  CHECK(tight > lowered / 4);
}

TEST_CASE("a model that no ranks can split has a scale with the reason") {
  cost_room::Scales scales{small_model(), Machine{}, 16};
  const cost_room::Scale& scale = scales.of({.tensor = 7});
  CHECK(scale.fault.code.letter == 'P');
}
