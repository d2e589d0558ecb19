// SPDX-License-Identifier: MIT
#include "heddle/plan/check/ranges.hpp"

#include <doctest/doctest.h>

#include <algorithm>

#include "heddle/plan/check/check.hpp"
#include "heddle/plan/inference.hpp"
#include "heddle/plan/options/groups.hpp"
#include "plan/flow.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

constexpr auto outside = Code{'S', 20};
using InTurns4 = Trained<Chain, BackIn<OneFOneB, 4>>;
constexpr int far[] = {-9, -1000, 1000, 30000};

/// check of the Program with one number that names nothing, whatever else it finds: it reads no table there.
struct Told {
  const Program& p;
  Copy copy{p};
  std::vector<Transfer> transfers{p.transfers, p.transfers + p.transfer_count};
  int told = 0;

  Diagnosis ask() {
    Program now = copy.view();
    now.transfers = transfers.data();
    return check(now);
  }
  template <class Field> void each(const std::string& name, Field& field) {
    CAPTURE(name);
    const Field kept = field;
    for (const int value : far) {
      field = static_cast<Field>(value);
      const Diagnosis found = ask();
      CHECK(found.code == outside);
      CHECK(found.words.view().find(". Fix: name one of them.") != std::string_view::npos);
      ++told;
    }
    field = kept;
  }
  void lines() {
    for (auto& list : copy.lists)
      for (Instruction& line : list) {
        if (computes(line.op)) each("chunk", line.chunk);
        if (line.micro_batch >= 0) each("micro_batch", line.micro_batch);
        if (line.transfer >= 0) each("transfer", line.transfer), each("peer", line.peer), each("token", line.token);
        if (line.bucket != -1) each("bucket", line.bucket);
        each("axis", line.axis);
        each("when", line.when);
        each("op", line.op);
      }
  }
  void entries() {
    for (std::size_t e = 0; e < copy.entries.size(); ++e) {
      if (body_of(p, static_cast<int>(e)).count() == 0) continue;
      Entry& entry = copy.entries[e];
      each("what", entry.what);
      each("node", entry.node);
      each("axis", entry.axis);
      each("when", entry.when);
      if (entry.bucket >= 0) each("bucket", entry.bucket);
      for (Place* place : {&entry.a, &entry.b, &entry.c, &entry.d}) {
        each("pool", place->pool);
        if (!place->set()) continue;
        const std::int64_t kept = place->offset;
        for (const std::int64_t offset : {std::int64_t{-64}, std::int64_t{1} << 50, std::int64_t{-1} << 62}) {
          place->offset = offset;
          CHECK(ask().code == outside);
        }
        place->offset = kept;
      }
      const std::int64_t elements = entry.features;
      for (const std::int64_t other : {std::int64_t{-5}, std::int64_t{1} << 40}) {
        entry.features = other;
        CHECK(ask().code == outside);
      }
      entry.features = elements;
    }
  }
  void sent() {
    for (Transfer& t : transfers)
      each("from_chunk", t.from_chunk), each("to_chunk", t.to_chunk), each("from_role", t.from_role), each("to_role", t.to_role), each("use", t.use);
    for (Transfer& t : transfers)
      if (t.use < 0) each("source.pool", t.source.pool), each("target.pool", t.target.pool);
  }
};

}  // namespace

TEST_CASE("every number of a line, an entry and a transfer that names nothing is told before a rule reads a table with it") {
  for (const Program* p : {&Trained<Chain, Single>::training, &InTurns4::training, &InTurns4::evaluation, &HalvedSlices::training,
                           &SplitSlices::training, &TiedStages::training}) {
    CHECK(check(*p).sentence().view() == "");
    Told numbers{*p};
    numbers.lines();
    numbers.entries();
    numbers.sent();
    CHECK(numbers.told > 200);
  }
}

TEST_CASE("the sentence says who names what, and what is there") {
  const Program& p = InTurns4::training;
  Copy copy{p};
  copy.lists[0][0].chunk = 3;
  CHECK(check(copy.view()).sentence().view() == "[heddle.S20] line 0 of device 0 names chunk 3, but what is there is 0 to 2. Fix: name one of them.");
  copy = Copy{p};
  copy.entries[static_cast<std::size_t>(p.backward_bodies[1].begin)].node = 5;
  CHECK(check(copy.view()).sentence().view() ==
        "[heddle.S20] entry 0 of the backward of chunk 1 names layer 5, but what is there is 0 to 4. Fix: name one of them.");
  copy = Copy{p};
  copy.entries[static_cast<std::size_t>(p.backward_bodies[1].begin)].d.pool = 12;
  CHECK(check(copy.view()).sentence().view() ==
        "[heddle.S20] entry 0 of the backward of chunk 1 names pool 12, but what is there is -2 to 11. Fix: name one of them.");
}

TEST_CASE("tables whose ranges run backwards or whose devices are not there are told as well") {
  const Program& p = InTurns4::training;
  Program other = p;
  std::vector<IndexRange> ranges(p.lists, p.lists + p.roles);
  other.lists = ranges.data();
  for (const IndexRange& range : {IndexRange{-1, 3}, IndexRange{3, 2}, IndexRange{0, 100000}}) {
    ranges[0] = range;
    CHECK(check(other).code == outside);
  }
  other = p;
  std::vector<IndexRange> bodies(p.forward_bodies, p.forward_bodies + p.chunks);
  other.forward_bodies = bodies.data();
  for (const IndexRange& range : {IndexRange{-1, 3}, IndexRange{3, 2}}) {
    bodies[1] = range;
    CHECK(check(other).code == outside);
  }
  other = p;
  std::vector<int> devices(p.device_of_chunk, p.device_of_chunk + p.chunks);
  other.device_of_chunk = devices.data();
  devices[1] = p.roles;
  CHECK(check(other).code == outside);
  other = p;
  std::vector<int> nodes(p.first_node, p.first_node + p.chunks + 1);
  other.first_node = nodes.data();
  nodes[1] = p.graph->node_count + 1;
  CHECK(check(other).code == outside);
  const Program& tied = TiedStages::training;
  std::vector<TiedUse> uses(tied.uses, tied.uses + tied.use_count);
  other = tied;
  other.uses = uses.data();
  uses[0].bucket = static_cast<std::int16_t>(tied.bucket_count);
  CHECK(check(other).sentence().view().find("use 0 of tied parameters names ") != std::string_view::npos);
}

TEST_CASE("a piece of a step, or a parameter, of what is not there is refused") {
  using Grouped = Trained<Chain, Sharded<2>, NoDecay<>>;
  const Program& p = Grouped::training;
  const auto told = [&](auto change) {
    std::vector<StepPiece> pieces(p.pieces, p.pieces + p.piece_count);
    std::vector<std::int16_t> of(p.groups.of_parameter, p.groups.of_parameter + p.graph->parameter_count);
    change(pieces, of);
    Program now = p;
    now.pieces = pieces.data();
    now.groups.of_parameter = of.data();
    return std::string{check(now).sentence().view()};
  };
  CHECK(told([](auto&, auto&) {}).empty());
  CHECK(told([](auto& pieces, auto&) { pieces[1].group = 2; }) ==
        "[heddle.S20] piece 1 of a step names group 2, but what is there is 0 to 1. Fix: name one of them.");
  CHECK(told([](auto& pieces, auto&) { pieces[0].bucket = 99; }).find("[heddle.S20] piece 0 of a step names bucket 99") == 0);
  CHECK(told([](auto& pieces, auto&) { pieces[0].begin = -16; }).find("[heddle.S20] piece 0 of a step names as its begin element -16") == 0);
  CHECK(told([](auto& pieces, auto&) { pieces[0].elements = std::int64_t{1} << 40; }).find("[heddle.S20] piece 0 of a step names elements") == 0);
  CHECK(told([](auto& pieces, auto&) { pieces[0].elements = -1; }).find("[heddle.S20]") == 0);
  CHECK(told([](auto&, auto& of) { of[3] = -1; }) == "[heddle.S20] parameter 3 names group -1, but what is there is 0 to 1. Fix: name one of them.");
}

TEST_CASE("an entry of a leaf that takes one value names no second operand, and none a third") {
  for (const BodyOp what : {BodyOp::leaf_backward, BodyOp::leaf_forward, BodyOp::loss})
    for (const int operand : {-1, 1, 2}) {
      Copy copy{lower<InTurns4>()};
      const auto found = std::find_if(copy.entries.begin(), copy.entries.end(), [&](const Entry& entry) { return entry.what == what; });
      REQUIRE(found != copy.entries.end());
      found->operand = static_cast<std::int8_t>(operand);
      CHECK(check(copy.view()).code == outside);
    }
}
