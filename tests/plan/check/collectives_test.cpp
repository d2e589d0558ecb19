// SPDX-License-Identifier: MIT
#include "heddle/plan/check/collectives.hpp"

#include <doctest/doctest.h>

#include <string_view>
#include <vector>

#include "plan/flow.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

constexpr auto noted = Code{'S', 18};
using Added = Trained<Skips, Sharded<2>, Accumulate<2>>;

/// A Program whose collectives can be changed as well.
struct Changed : Copy {
  explicit Changed(const Program& p) : Copy(p), collectives(p.collectives, p.collectives + p.collective_count) {}
  Program view() {
    Program p = Copy::view();
    p.collectives = collectives.data();
    p.collective_count = static_cast<int>(collectives.size());
    return p;
  }
  std::vector<Collective> collectives;
};

/// All rules, of a Program in which one collective is changed that has this purpose and kind.
template <class Change> Diagnosis with(const Program& p, Purpose purpose, CollectiveKind kind, Change change) {
  Changed changed{p};
  for (Collective& c : changed.collectives)
    if (c.purpose == purpose && c.kind == kind) {
      change(c);
      return check(changed.view());
    }
  FAIL("no such collective");
  return {};
}
template <class Change> Diagnosis with_gradient(const Program& p, CollectiveKind kind, Change change) {
  return with(p, Purpose::gradient, kind, change);
}

constexpr auto sum = CollectiveKind::all_reduce;
constexpr auto scatter = CollectiveKind::reduce_scatter;
constexpr auto gather = CollectiveKind::all_gather;

}  // namespace

TEST_CASE("what the lowering notes of collectives follows from lines and entries") {
  for (const Program* p : {&Replicas::training, &Replicas::evaluation, &HalvedSlices::training, &SplitSlices::training, &SplitSlices::evaluation,
                           &SplitHalves::training, &TiedStages::training, &Added::training, &Added::evaluation})
    CHECK(check(*p).sentence().view() == "");
}

TEST_CASE("each number of a collective is compared") {
  const Program& p = Replicas::training;
  CHECK(with_gradient(p, sum, [](Collective& c) { c.elements -= 16; }).sentence().view() ==
        "[heddle.S18] the number of elements of a collective is noted as 6128, but 6144 follows from the model, the layout and the batch. Fix: lower "
        "the plan from these once more.");
  CHECK(refused_for(with_gradient(p, sum, [](Collective& c) { c.kind = gather; }), noted, "the kind of a collective"));
  CHECK(refused_for(with_gradient(p, sum, [](Collective& c) { c.purpose = Purpose::value; }), noted, "the purpose of a collective"));
  CHECK(refused_for(with_gradient(p, sum, [](Collective& c) { c.axis = axis::shard; }), noted, "the axis of a collective"));
  CHECK(refused_for(with_gradient(p, sum, [](Collective& c) { c.accumulates = true; }), noted, "whether a collective is added"));
  CHECK(refused_for(with_gradient(p, sum, [](Collective& c) { c.slices = 2; }), noted, "the number of slices of a collective"));
  CHECK(refused_for(with_gradient(p, sum, [](Collective& c) { ++c.payload; }), noted, "the payload of a collective"));
  CHECK(refused_for(with_gradient(p, sum, [](Collective& c) { c.order = SumOrder::any; }), noted, "the order of a sum over ranks"));
  CHECK(refused_for(with(p, Purpose::loss, sum, [](Collective& c) { ++c.elements; }), noted, "the number of elements"));
  CHECK(refused_for(with(SplitSlices::training, Purpose::norm, sum, [](Collective& c) { --c.elements; }), noted, "the number of elements"));
  CHECK(refused_for(with(SplitSlices::training, Purpose::value, sum, [](Collective& c) { --c.payload; }), noted, "the payload"));
}

TEST_CASE("each end of a collective lies where lines and buckets say") {
  const auto target = [](auto change) { return [=](Collective& c) { change(c.target); }; };
  CHECK(refused_for(with_gradient(Added::training, scatter, target([](Address& a) { a.begin += 16; })), noted,
                    "the target of a collective: its first element is noted as"));
  CHECK(refused_for(with_gradient(Added::training, scatter, target([](Address& a) { a.region = RegionKind::fresh; })), noted, ": its region"));
  CHECK(refused_for(with_gradient(TiedStages::training, scatter, target([](Address& a) { a.stride = 0; })), noted, ": its stride"));
  CHECK(refused_for(with_gradient(TiedStages::training, scatter, target([](Address& a) { a.along = axis::data; })), noted, ": its axis"));
  CHECK(refused_for(with(SplitSlices::training, Purpose::value, sum, target([](Address& a) { ++a.pool; })), noted, ": its "));
  CHECK(
      refused_for(with_gradient(Added::training, scatter, [](Collective& c) { c.source.copy ^= 1; }), noted, "the source of a collective: its copy"));
  CHECK(refused_for(with_gradient(Added::training, scatter, [](Collective& c) { c.arrived.copy ^= 1; }), noted,
                    "where a collective of later micro-batches arrives: its copy"));
  CHECK(refused_for(with(Added::training, Purpose::parameters, gather, [](Collective& c) { c.source.begin += 16; }), noted,
                    "the source of a collective: its first element"));
}

TEST_CASE("a wait names the collective of its start, though another one may be of the same numbers") {
  Changed changed{Replicas::training};
  changed.collectives.push_back(changed.collectives.front());
  for (Instruction& line : changed.lists[0])
    if (line.collective == 0 && line.op == ListOp::reduce_wait) line.collective = static_cast<std::int16_t>(changed.collectives.size() - 1);
  CHECK(refused_for(check(changed.view()), noted, "the collective that is waited for is noted as 2, but 0 follows"));
}

TEST_CASE("a line or entry that names no collective, or one that is not there, is refused before all others") {
  Changed changed{Added::training};
  changed.lists[0].back().collective = 0;  // of no collective: nobody reads it
  CHECK(check(changed.view()).ok());
  for (Entry& entry : changed.entries)
    if (entry.what == BodyOp::add_slice) entry.collective = static_cast<std::int16_t>(changed.collectives.size());
  CHECK(refused_for(check(changed.view()), Code{'S', 20}, " names collective "));
  Changed lines{Replicas::training};
  for (Instruction& line : lines.lists[0])
    if (line.op == ListOp::reduce_wait) line.collective = -1;
  CHECK(refused_for(check(lines.view()), Code{'S', 20}, " names collective -1, but what is there is 0 to 1"));
}
