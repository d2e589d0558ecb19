// SPDX-License-Identifier: MIT
#include "heddle/run/recorded_spans.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include "heddle/policy/tensor_parallel.hpp"
#include "plan/plans.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

using Staged = Trained<Chain, Pipeline<Balanced<2>, OneFOneB, Microbatches<1>, FewMicrobatches>>;

StepClock::time_point second(int number) { return StepClock::time_point{} + std::chrono::seconds{100 + number}; }

/// The lines of both stages: each rank takes a second for each line, one behind the other.
std::vector<RecordedRank> both() {
  const Program& p = Staged::training;
  std::vector<RecordedRank> ranks;
  for (int r = 0; r < 2; ++r) {
    RecordedRank rank{Rank{r}, {}};
    int now = 0;
    for (int i = p.lists[r].begin; i < p.lists[r].end; ++i, ++now) rank.lines.push_back({i, -1, 1, second(now), second(now + 1)});
    ranks.push_back(rank);
  }
  return ranks;
}
/// The seconds of a line of a rank.
int seconds_before(int rank, ListOp op) {
  const Program& p = Staged::training;
  int i = p.lists[rank].begin;
  while (p.instructions[i].op != op) ++i;
  return i - p.lists[rank].begin;
}
const Span& found(const Timeline& t, int device, SpanKind kind) {
  for (const Span& span : t.spans)
    if (span.device == device && span.kind == kind) return span;
  throw std::runtime_error{"there is no such span"};
}

}  // namespace

TEST_CASE("a message is under way from when both ends have started it until its receiver has it") {
  const Timeline t = timeline_of(Staged::training, both());
  const Span &send = found(t, 0, SpanKind::send), &receive = found(t, 1, SpanKind::receive);
  CHECK(send.flow == receive.flow);
  CHECK(send.flow >= 0);
  const int sender = seconds_before(0, ListOp::send_start), receiver = seconds_before(1, ListOp::receive_start);
  REQUIRE(sender > receiver);
  CHECK(send.begin.value == sender);
  CHECK(receive.begin.value == sender);
  const int waited[] = {seconds_before(0, ListOp::send_wait) + 1, seconds_before(1, ListOp::receive_wait) + 1};
  CHECK(send.end.value == std::min(waited[0], waited[1]));
  CHECK(receive.end.value == waited[1]);
  CHECK(send.bytes == Staged::training.bytes(Staged::training.transfers[0]));
  CHECK(t.devices == std::vector<std::string>{"rank 0", "rank 1"});
  CHECK(t.measured);
}

TEST_CASE("a receiver that comes late lets the message begin late, unless its sender has already seen it go") {
  std::vector<RecordedRank> ranks = both();
  const int sender = seconds_before(0, ListOp::send_start), sent = seconds_before(0, ListOp::send_wait) + 1;
  const int receiver = seconds_before(1, ListOp::receive_start);
  for (const int late : {sent - receiver - 1, sent - receiver + 3}) {
    std::vector<RecordedRank> shifted = ranks;
    for (Recorded& line : shifted[1].lines) line.begin += std::chrono::seconds{late}, line.end += std::chrono::seconds{late};
    const Timeline t = timeline_of(Staged::training, shifted);
    CHECK(found(t, 0, SpanKind::send).begin.value == (late + receiver < sent ? std::max(sender, late + receiver) : sender));
    CHECK(found(t, 1, SpanKind::receive).begin.value == std::max(sender, late + receiver));
  }
}

TEST_CASE("the step begins with the first line of any rank") {
  std::vector<RecordedRank> ranks = both();
  for (Recorded& line : ranks[0].lines) line.begin += std::chrono::seconds{5}, line.end += std::chrono::seconds{5};
  const Timeline t = timeline_of(Staged::training, ranks);
  CHECK(found(t, 0, SpanKind::forward).begin.value == 5 + seconds_before(0, ListOp::forward));
  CHECK(found(t, 1, SpanKind::forward).begin.value == seconds_before(1, ListOp::forward));
}

TEST_CASE("a message whose other end is in another process has no flow and no peer") {
  std::vector<RecordedRank> ranks = both();
  ranks.pop_back();
  const Timeline t = timeline_of(Staged::training, ranks);
  CHECK(t.devices.size() == 1);
  for (const Span& span : t.spans) {
    CHECK(span.flow == -1);
    CHECK(span.peer == -1);
  }
}

TEST_CASE("a step is whole if each line ran once, and says which did not") {
  std::vector<RecordedRank> ranks = both();
  CHECK(missing(Staged::training, ranks[0]).empty());
  ranks[0].lines.push_back(ranks[0].lines.front());
  CHECK(missing(Staged::training, ranks[0]) == "rank 0 ran line 0 more than once");
  ranks[1].lines.erase(ranks[1].lines.begin());
  CHECK(missing(Staged::training, ranks[1]) == "rank 1 ran line " + std::to_string(Staged::training.lists[1].begin) + " not at all");
}

TEST_CASE("a compute is cut at what it waits for, and a collective lasts from its start to the end of its wait") {
  using Parts = Trained<Chain, TensorParallel<2>>;
  const Program& p = Parts::training;
  std::vector<RecordedRank> ranks{{Rank{0}, {}}};
  int forward = p.lists[0].begin;
  while (p.instructions[forward].op != ListOp::forward) ++forward;
  const IndexRange& body = p.body(p.instructions[forward]);
  int wait = body.begin;
  while (wait < body.end && !waits(p.entries[wait].what)) ++wait;
  REQUIRE(wait < body.end);
  ranks[0].lines = {{forward, wait, 1, second(2), second(5)}, {forward, -1, 1, second(0), second(9)}};
  const Timeline t = timeline_of(p, ranks);
  REQUIRE(t.spans.size() == 3);
  CHECK(t.spans[0].kind == SpanKind::collective);
  CHECK(t.spans[0].begin.value == 2);
  CHECK(t.spans[1].entry == body.begin);
  CHECK(t.spans[1].seconds() == 2);
  CHECK(t.spans[2].entry == wait + 1);
  CHECK(t.spans[2].seconds() == 4);
  CHECK(t.busy(0).value == 6);
  CHECK(t.spans[0].bytes == bytes_sent(p, Rank{0}, p.collectives[p.entries[wait].collective]));
}
