// SPDX-License-Identifier: MIT
#include "heddle/plan/check/slots.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <initializer_list>
#include <string>

#include "heddle/plan/check/check.hpp"
#include "mutants/mutate.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

using Staged = Trained<Chain, Pipeline<Stage<Part1>, Stage<Sequential<Part2, Part3>>, OneFOneB, Microbatches<4>>>;
constexpr int frame_of_first = 0;
constexpr int micro_batches = 4;

Diagnosis with_slots(const Program& original, int pool, std::initializer_list<std::int16_t> slots) {
  Changeable changed{original};
  std::copy(slots.begin(), slots.end(), changed.slots.begin() + pool * micro_batches);
  return check(changed.view());
}
int find(const std::vector<Instruction>& list, ListOp op, int micro_batch) {
  return static_cast<int>(std::find_if(list.begin(), list.end(), [&](const Instruction& i) { return i.op == op && i.micro_batch == micro_batch; }) -
                          list.begin());
}

}  // namespace

TEST_CASE("slots may be given in any way in which no two micro-batches have one at the same time") {
  const Program& p = training_of<Staged>();
  REQUIRE(p.pools[frame_of_first].slots == 3);
  CHECK(with_slots(p, frame_of_first, {0, 1, 2, 0}).ok());
  CHECK(with_slots(p, frame_of_first, {2, 0, 1, 2}).ok());
  CHECK(with_slots(p, frame_of_first, {0, 0, 0, 0}).code == Code{'S', 15});
  CHECK(with_slots(p, frame_of_first, {0, 1, 2, 2}).code == Code{'S', 15});
  const Diagnosis found = with_slots(p, frame_of_first, {0, 0, 1, 2});
  CHECK(std::string{found.sentence().view()}.find("has in slot 0 of chunk 0, but micro-batch 1 has taken that slot. Fix: ") != std::string::npos);
}

TEST_CASE("a slot that a pool has not is refused") {
  CHECK(std::string{with_slots(training_of<Staged>(), frame_of_first, {0, 1, 3, 0}).sentence().view()} ==
        "[heddle.S15] micro-batch 2 has slot 3 in a pool of chunk 0 with 3. Fix: give it one of them.");
  CHECK(with_slots(training_of<Staged>(), frame_of_first, {0, -1, 2, 0}).code == Code{'S', 15});
}

TEST_CASE("an evaluation has no bodies of backwards, so a line of one touches no slot") {
  Changeable changed{evaluation_of<Staged>()};
  const int forward = find(changed.lists[0], ListOp::forward, 0);
  CHECK(run_time::slots(changed.view()).ok());
  for (const ListOp op : {ListOp::backward, ListOp::backward_weight}) {
    changed.lists[0][static_cast<std::size_t>(forward)].op = op;
    CHECK(run_time::slots(changed.view()).ok());
    CHECK(check(changed.view()).code == Code{'S', 5});
  }
}

TEST_CASE("what arrives takes its slot from the start of the receive on") {
  Changeable changed{training_of<Staged>()};
  auto& list = changed.lists[0];
  const auto backward = list.begin() + find(list, ListOp::backward, 0);
  const auto gradient = std::find_if(backward, list.end(), [](const Instruction& i) { return i.op == ListOp::receive_start && i.micro_batch == 1; });
  REQUIRE(gradient != list.end());
  REQUIRE(training_of<Staged>().pools[static_cast<int>(PoolKind::gradient_in)].slots == 1);
  CHECK(check(changed.view()).ok());
  std::rotate(backward, gradient, gradient + 1);
  CHECK(check(changed.view()).code == Code{'S', 15});
}

TEST_CASE("an evaluation is checked as well") {
  const Program& p = evaluation_of<Staged>();
  CHECK(check(p).ok());
  REQUIRE(p.pools[frame_of_first].slots > 1);
  CHECK(with_slots(p, frame_of_first, {0, 0, 0, 0}).code == Code{'S', 15});
}
