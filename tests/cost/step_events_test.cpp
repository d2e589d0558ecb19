// SPDX-License-Identifier: MIT
#include "heddle/cost/step_events.hpp"

#include <doctest/doctest.h>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

struct Deep : Repeat<4, Linear<16, 16, NoBias>> {};
using Staged = Plan<Deep, MeanSquaredError, SGD, Batch<16>, Pipeline<Balanced<2>, GPipe, Microbatches<4>>>;

int line(int role, ListOp op) {
  const Program& p = Staged::training;
  int i = p.lists[role].begin;
  while (p.instructions[i].op != op) ++i;
  return i;
}

}  // namespace

TEST_CASE("entries that follow one another are one span, a wait makes another, and a line without time has one") {
  StepEvents events{Staged::training, false};
  const int forward = line(0, ListOp::forward), backward = line(0, ListOp::backward);
  events.computed(0, forward, 5, 0, 1);
  events.computed(0, forward, 6, 1, 3);
  CHECK(events.spans().size() == 1);
  CHECK(events.spans()[0].end.value == 3);
  CHECK(events.spans()[0].entry == -1);
  events.computed(0, forward, 7, 4, 5);
  REQUIRE(events.spans().size() == 2);
  CHECK(events.spans()[0].entry == Staged::training.forward_bodies[0].begin);
  CHECK(events.spans()[1].entry == 7);
  events.ended(0, forward, 5);
  CHECK(events.spans().size() == 2);
  events.computed(0, backward, 9, 5, 5);  // takes no time
  events.ended(0, backward, 5);
  REQUIRE(events.spans().size() == 3);
  CHECK(events.spans()[2].kind == SpanKind::backward);
  CHECK(events.spans()[2].seconds() == 0);
}

TEST_CASE("a transfer is a span at either end with the same flow, after the span of the side that decided") {
  StepEvents events{Staged::training, false};
  const int forward = line(0, ListOp::forward), send = line(0, ListOp::send_start), receive = line(1, ListOp::receive_start);
  events.computed(0, forward, -1, 0, 2);
  events.posted(1, 0, false, receive);
  events.posted(0, 0, true, send);
  events.moved(0, 1, 0, 2, 5, Bytes{64}, 0, 1);
  REQUIRE(events.spans().size() == 3);
  const Span &sent = events.spans()[1], &received = events.spans()[2];
  CHECK(sent.kind == SpanKind::send);
  CHECK(sent.peer == 1);
  CHECK(sent.bytes == Bytes{64});
  CHECK(received.kind == SpanKind::receive);
  CHECK(received.device == 1);
  CHECK(received.bytes == Bytes{0});
  CHECK(sent.flow == received.flow);
  CHECK(events.after()[1] == 0);
  events.waited_for_transfer(1, 0, false);
  events.computed(1, line(1, ListOp::forward), -1, 5, 6);
  CHECK(events.after()[3] == 2);
}
