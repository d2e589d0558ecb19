// SPDX-License-Identifier: MIT
#include "heddle/cost/search/scale.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cost/search/models.hpp"
#include "heddle/cost/presets.hpp"
#include "heddle/cost/search/candidates.hpp"

using namespace heddle;
using namespace heddle::extending;
using tests::small_model;

namespace {

/// Machines on which other things are dear each: messages; memory, so that updates take long; calls; all of it as datasheets say; one slow device.
std::vector<Machine> machines() {
  Machine messages;
  messages.alpha = 1e-6;
  messages.beta = 1e-9;
  messages.per_flop = 1e-9;
  Machine memory{.beta = 2e-10, .per_flop = 1e-12, .per_memory_byte = 5e-13};
  Machine calls = memory;
  calls.per_call = 1e-6;
  calls.overlaps = false;
  Machine caches = memory;
  caches.cached.points[0] = {1e5, 4};
  caches.cached.points[1] = {1e7, 1};
  return {messages, memory, calls, caches, h100_nodes(), with_speed(messages, 0, 0, 0.5), with_speed(messages, 1, 1, 2)};
}

}  // namespace

TEST_CASE("no candidate takes less time or memory than its bounds say, on any machine") {
  int lowered = 0;
  int tight = 0;
  for (const Machine& machine : machines()) {
    cost_room::Scales scales{small_model(), machine, 16};
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
  }
  CHECK(lowered > 1400);
  CHECK(tight > lowered / 4);
}

TEST_CASE("a model that no ranks can split has a scale with the reason") {
  cost_room::Scales scales{small_model(), Machine{}, 16};
  const cost_room::Scale& scale = scales.of({.tensor = 7});
  CHECK(scale.fault.code.letter == 'P');
}
