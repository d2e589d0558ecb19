// SPDX-License-Identifier: MIT
#include "heddle/cost/search/scale.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "cost/search/models.hpp"
#include "heddle/cost/presets.hpp"
#include "heddle/cost/search/candidates.hpp"
#include "heddle/heddle.hpp"

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

namespace {

/// Its norms are whole on the ranks of axis tensor, which sum what they have of their gradients after the last micro-batch alone.
struct WithNorms : Sequential<Input<8>, Embedding<32, 16>, Repeat<2, Residual<LayerNorm<16>, Linear<16, 32>, GELU, Linear<32, 16>>>, Linear<16, 32>> {
};
/// Of blocks that a stage may end in: it runs less again than the block.
struct OfBlocks : Sequential<Linear<7, 24>, Repeat<3, Sequential<Linear<24, 24>, ReLU, Linear<24, 24>, Tanh>>, ReLU, Linear<24, 5>> {};

/// The bound of a choice, and what it takes.
void check_bound(const SearchedModel& model, const Machine& machine, int batch, const PlanChoice& c) {
  CAPTURE(policy_text(c) + parts_text(c));
  cost_room::Scales scales{model, machine, batch};
  const LoweredPlan plan = lower(request_for(model, c, batch, Bytes{0}));
  REQUIRE(plan.fault().ok());
  const double seconds = simulate(plan.training(), machine).step.value;
  CHECK(scales.of(c).least_seconds(c) <= seconds * (1 + 1e-9));
  CHECK(scales.of(c).least_seconds(c) > 0.3 * seconds);
}

}  // namespace

TEST_CASE("what only the last micro-batch does is in no bound of the others, and a stage may run less of a block again") {
  const SearchedModel norms = searched_model<WithNorms, CrossEntropy, Adam>(), blocks = searched_model<OfBlocks, CrossEntropy, SGD>();
  const Machine machine{.alpha = 1e-6, .beta = 1e-9, .per_flop = 1e-9}, plain{.per_flop = 1e-9};
  for (const int rounds : {1, 2, 24}) check_bound(norms, machine, 24, {.tensor = 2, .splits_sequences = true, .rounds = rounds});
  check_bound(norms, machine, 24, {.tensor = 2, .splits_sequences = true, .stages = 2, .micro_batches = 24});
  check_bound(blocks, plain, 8, {.stages = 2, .order = SearchedOrder::interleaved_4, .micro_batches = 4, .again = true});
  check_bound(blocks, plain, 24, {.stages = 2, .order = SearchedOrder::interleaved_2, .micro_batches = 24, .again = true});
}

TEST_CASE("a group that lies further out in a plan than alone is bound by the best of those links") {
  Machine slow_inside{.alpha = 1e-7, .per_flop = 1e-9};
  slow_inside.levels[0] = {4, 1e-5, 0};
  cost_room::Scales of_all{small_model(), slow_inside, 48};
  cost_room::each_candidate(small_model(), {.devices = 6, .batch = 48}, [&](const PlanChoice& c) {
    CAPTURE(policy_text(c));
    const LoweredPlan plan = lower(request_for(small_model(), c, 48, Bytes{0}));
    if (plan.fault().ok()) CHECK(of_all.of(c).least_seconds(c) <= simulate(plan.training(), slow_inside).step.value * (1 + 1e-9));
  });
}

TEST_CASE("a model that no ranks can split has a scale with the reason") {
  cost_room::Scales scales{small_model(), Machine{}, 16};
  const cost_room::Scale& scale = scales.of({.tensor = 7});
  CHECK(scale.fault.code.letter == 'P');
}
