// SPDX-License-Identifier: MIT
#include "heddle/plan/check/line_check.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "heddle/plan/check/check.hpp"
#include "heddle/policy/sharded.hpp"
#include "mutants/mutate.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

using Staged = Trained<Chain, Pipeline<Stage<Part1>, Stage<Sequential<Part2, Part3>>, OneFOneB, Microbatches<4>>>;

std::size_t find(const std::vector<Instruction>& list, ListOp op, int nth = 0) {
  auto at = list.begin();
  while ((at = std::find_if(at, list.end(), [&](const Instruction& i) { return i.op == op; })) != list.end() && nth-- > 0) ++at;
  REQUIRE(at != list.end());
  return static_cast<std::size_t>(at - list.begin());
}
/// The sentence about a Program of which one list was changed.
template <class Change> std::string after(const Program& original, int role, Change change) {
  Changeable changed{original};
  change(changed.lists[static_cast<std::size_t>(role)]);
  return std::string{check(changed.view()).sentence().view()};
}
bool begins(const std::string& text, const std::string& wanted) { return text.substr(0, wanted.size()) == wanted; }

}  // namespace

TEST_CASE("what is sent has been made") {
  const std::string sentence =
      after(training_of<Staged>(), 0, [](auto& list) { std::swap(list[find(list, ListOp::forward)], list[find(list, ListOp::send_start)]); });
  CHECK(sentence ==
        "[heddle.S04] role 0 sends what chunk 0 makes of micro-batch 0 before its forward. Fix: start the send after the compute that makes it.");
}

TEST_CASE("a wait names what its start names") {
  for (const ListOp op : {ListOp::send_wait, ListOp::receive_wait}) {
    CHECK(begins(after(training_of<Staged>(), 0, [&](auto& list) { ++list[find(list, op)].micro_batch; }),
                 "[heddle.S04] role 0 waits at instruction "));
    CHECK(begins(after(training_of<Staged>(), 0, [&](auto& list) { list[find(list, op)].peer = 0; }), "[heddle.S04] role 0 waits at instruction "));
  }
  CHECK(begins(after(training_of<Staged>(), 1, [](auto& list) { ++list[find(list, ListOp::receive_start)].micro_batch; }),
               "[heddle.S04] role 1 waits at instruction "));
}

TEST_CASE("the two ends of a transfer are of one micro-batch") {
  using Two = Trained<Chain, Pipeline<Stage<Part1>, Stage<Sequential<Part2, Part3>>, GPipe, Microbatches<4>>>;
  Changeable changed{training_of<Two>()};
  for (Instruction& line : changed.lists[1])  // the receiver takes the first two the other way round
    if ((line.op == ListOp::receive_start || line.op == ListOp::receive_wait || line.op == ListOp::forward) && line.micro_batch < 2)
      line.micro_batch = static_cast<std::int16_t>(1 - line.micro_batch);
  const std::string sentence{check(changed.view()).sentence().view()};
  CHECK(sentence.find("meets on rank 1 the start of another, at instruction 0. Fix: start transfers in one order on both ranks.") !=
        std::string::npos);
}

TEST_CASE("the loss is reported, and a gradient stepped, when all micro-batches are in it") {
  using Rounds = Trained<Mnist, DataParallel<2>, Accumulate<2>>;
  const auto swap_last_compute = [](auto& list) {
    std::size_t last = list.size() - 1;
    while (!computes(list[last].op)) --last;
    std::swap(list[last], list[last + 1]);
  };
  CHECK(after(evaluation_of<Rounds>(), 0, swap_last_compute) ==
        "[heddle.S06] role 0 reduces or reports the loss after 1 of the 2 micro-batches of chunk 0. Fix: let all of them pass before.");
  const std::string early = after(training_of<Rounds>(), 0, [](auto& list) {
    const Instruction step = list.back();
    list.pop_back();
    list.insert(list.begin(), step);
  });
  CHECK(early == "[heddle.S06] role 0 reduces or steps a gradient after 0 of the 2 micro-batches of chunk 0. Fix: let all of them pass before.");
}

TEST_CASE("the last micro-batch, which adds up the loss, passes the last chunk after the others") {
  using Rounds = Trained<Mnist, Single, Accumulate<2>>;
  CHECK(after(evaluation_of<Rounds>(), 0, [](auto& list) { std::swap(list[0], list[1]); }) ==
        "[heddle.S06] the last micro-batch adds up the loss after 1 of 2 micro-batches. Fix: let it pass the last chunk after all others.");
}

TEST_CASE("reductions of one gradient or loss follow one another") {
  using Both = Trained<Mnist, Hybrid<Sharded<2, OptimizerState>, DataParallel<2>>>;
  const auto swapped = [](ListOp op) {
    return [op](auto& list) {
      for (std::size_t i = 0; i + 1 < list.size(); ++i)
        if (list[i].op == ListOp::reduce_wait && list[i + 1].op == op && list[i].bucket == list[i + 1].bucket) return std::swap(list[i], list[i + 1]);
    };
  };
  CHECK(begins(after(evaluation_of<Both>(), 0, swapped(ListOp::reduce_start)), "[heddle.S06] the loss is "));
  CHECK(begins(after(training_of<Both>(), 0, swapped(ListOp::reduce_start)), "[heddle.S06] the loss is "));
  CHECK(begins(after(training_of<Both>(), 0,
                     [](auto& list) {
                       const auto gather = find(list, ListOp::gather_start);
                       list.insert(list.begin() + static_cast<std::ptrdiff_t>(gather), list[gather]);
                     }),
               "[heddle.S06] gradient bucket 0 of device 0 is gathered after its step 2 times, not once."));
}
