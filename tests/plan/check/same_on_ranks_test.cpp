// SPDX-License-Identifier: MIT
#include "heddle/plan/check/same_on_ranks.hpp"

#include <doctest/doctest.h>

#include "plan/flow.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

constexpr auto same = Code{'S', 16};
constexpr auto of_a_rank = static_cast<When>(7);  // a predicate that nobody has said to be the same on all ranks

template <class Change> Diagnosis with_entry(const Program& p, BodyOp what, Change change) {
  Copy copy{p};
  for (Entry& entry : copy.entries)
    if (entry.what == what) {
      change(entry);
      return check_same_on_ranks(copy.view());
    }
  FAIL("no such entry");
  return {};
}
/// The first line of an operation that moves a bucket, or something in none.
template <class Change> Diagnosis with_line(const Program& p, ListOp op, int bucket, Change change, Purpose purpose = Purpose::gradient) {
  Copy copy{p};
  for (auto& list : copy.lists)
    for (Instruction& line : list)
      if (line.op == op && (purpose == Purpose::gradient ? line.bucket == bucket : p.moves(line, purpose))) {
        change(line);
        return check_same_on_ranks(copy.view());
      }
  FAIL("no such line");
  return {};
}

}  // namespace

TEST_CASE("what the lowering makes does the same on all ranks of a device") {
  for (const Program* p : {&Replicas::training, &InTurns::training, &InTurns::evaluation, &HalvedSlices::training, &SplitSlices::training,
                           &SplitSlices::evaluation, &SplitHalves::training, &TiedStages::training})
    CHECK(check_same_on_ranks(*p).sentence().view() == "");
}

TEST_CASE("a predicate is one that all ranks of a device answer alike") {
  for (const When when : {When::always, When::last_micro_batch, When::reporting, When::first_micro_batch, When::later_micro_batches})
    CHECK(same_on_all_ranks(when));
  CHECK_FALSE(same_on_all_ranks(of_a_rank));
  const auto by_rank = [](Entry& entry) { entry.when = of_a_rank; };
  CHECK(refused_for(with_entry(SplitSlices::training, BodyOp::reduce_value, by_rank), same,
                    " runs on a condition that the ranks of its device need not share"));
  CHECK(refused_for(with_entry(Replicas::training, BodyOp::leaf_forward, by_rank), same, "entry 1 of a body of chunk 0 runs on a condition"));
}

TEST_CASE("a collective of a body is of ranks of one stage") {
  const auto along = [](Axis axis) { return [axis](Entry& entry) { entry.axis = axis; }; };
  CHECK(refused_for(
      with_entry(SplitSlices::training, BodyOp::reduce_value, along(axis::stage)), same,
      " of a body of chunk 0 is a collective over axis stage, of 2 ranks, but the proof that nothing deadlocks holds for groups within one "
      "stage"));
  CHECK(
      refused_for(with_entry(SplitSlices::training, BodyOp::reduce_start, along(axis::context)), same, "a collective over axis context, of 1 ranks"));
  CHECK(with_entry(SplitSlices::training, BodyOp::gather_start, along(axis::stage))
            .ok());  // it goes along the axis that slices units, whatever it says
  CHECK(within_one_role(SplitSlices::training.mesh, axis::data));
  CHECK_FALSE(within_one_role(SplitSlices::training.mesh, axis::stage));
}

TEST_CASE("of the lists, norms and flags alone are reduced over stages") {
  const auto along = [](Axis axis) { return [axis](Instruction& line) { line.axis = axis; }; };
  CHECK(refused_for(with_line(SplitSlices::training, ListOp::reduce_start, 0, along(axis::stage)), same,
                    " over axis stage, of 2 ranks, but only norms and flags are reduced over stages"));
  CHECK(refused_for(with_line(SplitSlices::training, ListOp::reduce_wait, -1, along(axis::stage), Purpose::loss), same,
                    " over axis stage, of 2 ranks"));
  CHECK(with_line(SplitSlices::training, ListOp::reduce_start, -1, along(axis::stage), Purpose::norm).ok());
  CHECK(refused_for(with_line(Replicas::training, ListOp::reduce_wait, 0, along(axis::stage)), same, " over axis stage, of 1 ranks"));
}

TEST_CASE("lines of the loss run where it is reported, and all others always") {
  const auto on = [](When when) { return [when](Instruction& line) { line.when = when; }; };
  CHECK(refused_for(with_line(Replicas::training, ListOp::report, -1, on(When::always)), same, " of the loss always, but what it waits for"));
  CHECK(refused_for(with_line(Replicas::training, ListOp::reduce_start, -1, on(When::always), Purpose::loss), same, " of the loss always"));
  CHECK(refused_for(with_line(SplitSlices::training, ListOp::reduce_start, -1, on(When::reporting), Purpose::norm), same, "on a condition, but"));
  CHECK(refused_for(with_line(Replicas::training, ListOp::step, 0, on(When::reporting)), same, "on a condition, but what it waits for"));
  CHECK(refused_for(with_line(InTurns::training, ListOp::send_start, -1, on(When::reporting)), same, "on a condition, but what it waits for"));
  CHECK(refused_for(with_line(InTurns::training, ListOp::forward, -1, on(of_a_rank)), same, "on a condition, but what it waits for"));
}
