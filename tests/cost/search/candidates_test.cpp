// SPDX-License-Identifier: MIT
#include "heddle/cost/search/candidates.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "cost/search/models.hpp"

using namespace heddle;
using namespace heddle::extending;
using tests::small_model;

namespace {

std::vector<PlanChoice> all(const Wishes& wishes) {
  std::vector<PlanChoice> out;
  cost_room::each_candidate(small_model(), wishes, [&](const PlanChoice& c) { out.push_back(c); });
  return out;
}
bool has(const std::vector<PlanChoice>& all, const PlanChoice& c) { return std::find(all.begin(), all.end(), c) != all.end(); }

}  // namespace

TEST_CASE("every candidate has the devices, divides the batch, and is there once") {
  const Wishes wishes{.devices = 8, .batch = 48, .may_round = true};
  const std::vector<PlanChoice> found = all(wishes);
  CHECK(found.size() > 1000);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const PlanChoice& c = found[i];
    CHECK(c.devices() == 8);
    CHECK(48 % (c.batch_ranks() * c.micro_batches * c.rounds) == 0);
    CHECK((c.stages == 1 ? c.micro_batches == 1 : c.micro_batches >= c.stages && c.rounds == 1));
    if (i % 20 == 0) CHECK(std::count(found.begin(), found.end(), c) == 1);
  }
}

TEST_CASE("each policy and option is among the candidates, and nothing that was not wished") {
  const std::vector<PlanChoice> found = all({.devices = 8, .batch = 48, .may_round = true});
  CHECK(has(found, {.data = 8}));
  CHECK(has(found, {.shard = 8, .slices = SearchedSlices::states, .rounds = 2}));
  CHECK(has(found, {.tensor = 2, .splits_sequences = true, .stages = 2, .order = SearchedOrder::interleaved_4, .micro_batches = 8, .data = 2}));
  CHECK(has(found, {.stages = 4, .order = SearchedOrder::zero_bubble_h1, .micro_batches = 8, .shard = 2, .again = true, .rounds_values = true}));
  for (const PlanChoice& c : all({.devices = 8, .batch = 48, .most_tensor = 1, .may_run_again = false})) {
    CHECK(c.tensor == 1);
    CHECK_FALSE(c.again);
    CHECK_FALSE(c.rounds_values);
  }
  for (const PlanChoice& c : all({.devices = 8, .batch = 48, .has_to_round = true})) CHECK(c.rounds_values);
}

TEST_CASE("wishes that cannot be are told with their number") {
  CHECK(check_wishes({.devices = 8, .batch = 48}).ok());
  CHECK(check_wishes({.devices = 0, .batch = 48}).sentence().view() == "[heddle.M19] a plan is searched for 0 devices. Fix: name at least 1.");
  CHECK(check_wishes({.devices = 8, .batch = -1}).sentence().view() ==
        "[heddle.M19] a plan is searched for -1 rows of a batch. Fix: name at least 1.");
  CHECK(check_wishes({.devices = 8, .batch = 48, .memory = Bytes{-5}}).sentence().view() ==
        "[heddle.M19] a plan is searched for a memory of -5 bytes. Fix: name what a device has, or 0 for no limit.");
  CHECK(check_wishes({.devices = 8, .batch = 48, .most_tensor = 0}).sentence().view() ==
        "[heddle.M19] a plan is searched for 0 ranks of axis tensor at most. Fix: name at least 1.");
}
