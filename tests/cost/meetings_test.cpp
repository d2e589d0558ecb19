// SPDX-License-Identifier: MIT
#include "heddle/cost/meetings.hpp"

#include <doctest/doctest.h>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

struct Deep : Repeat<4, Linear<16, 16, NoBias>> {};
using Staged = Plan<Deep, MeanSquaredError, SGD, Batch<16>, Pipeline<Balanced<2>, GPipe, Microbatches<4>>>;
using InBuckets = Plan<Deep, MeanSquaredError, SGD, Batch<16>, DataParallel<2>, Bucket<1_KiB>>;
constexpr double bytes = 4 * 16 * 4;  // 4 rows of 16 floats

struct Here {
  const Program& p;
  const Machine& m;
  bool by_rank = false;
  NoEvents none{};
  Devices devices{p, by_rank};
  PriceList prices{p, m, by_rank};
  Meetings<NoEvents> meetings{p, m, devices, prices, none};

  [[nodiscard]] int line(int role, ListOp op, int number) const {
    int i = p.lists[role].begin;
    for (;; ++i)
      if (p.instructions[i].op == op && number-- == 0) return i;
  }
};

}  // namespace

TEST_CASE("a transfer begins when both sides have started it") {
  const Machine machine{.alpha = 10, .beta = 1};
  Here here{Staged::training, machine};
  const int send = here.line(0, ListOp::send_start, 0), receive = here.line(1, ListOp::receive_start, 0);
  here.meetings.work(0, 100, here.line(0, ListOp::forward, 0), -1);
  here.meetings.post(0, send);
  CHECK_FALSE(here.meetings.arrived(0, here.p.instructions[send]));
  here.meetings.work(1, 150, here.line(1, ListOp::forward, 0), -1);
  here.meetings.post(1, receive);
  CHECK(here.meetings.arrived(1, here.p.instructions[receive]));
  CHECK(here.meetings.now(1) == 150 + 10 + bytes);
  CHECK(here.meetings.now(0) == 100);
  CHECK(here.meetings.arrived(0, here.p.instructions[send]));
  CHECK(here.meetings.now(0) == 150 + 10 + bytes);
  CHECK(here.meetings.sending(0) == 10 + bytes);
  CHECK(here.meetings.bytes(0) == bytes);
}

TEST_CASE(
    "the bytes of two messages follow each other on a link, the latency of the second passes beside the first; senders wait for acknowledgements") {
  const Machine machine{.alpha = 10, .beta = 1, .acknowledgement = 7};
  Here here{Staged::training, machine};
  for (int k = 0; k < 2; ++k) {
    here.meetings.post(0, here.line(0, ListOp::send_start, k));
    here.meetings.post(1, here.line(1, ListOp::receive_start, k));
  }
  CHECK(here.meetings.arrived(1, here.p.instructions[here.line(1, ListOp::receive_start, 1)]));
  CHECK(here.meetings.now(1) == bytes + 10 + bytes);
  Instruction wait = here.p.instructions[here.line(0, ListOp::send_start, 0)];
  wait.op = ListOp::send_wait;
  CHECK(here.meetings.arrived(0, wait));
  CHECK(here.meetings.now(0) == 10 + bytes + 7);
}

TEST_CASE("each start costs a device of its own time what the machine says") {
  const Machine machine{.alpha = 10, .per_message = 3};
  Here here{Staged::training, machine};
  here.meetings.post(0, here.line(0, ListOp::send_start, 0));
  CHECK(here.meetings.now(0) == 3);
  CHECK(here.meetings.busy(0) == 3);
}

TEST_CASE("what a device reduces it reduces one after another, and a group begins when its last member has come") {
  const Machine machine{.alpha = 5};
  Here here{InBuckets::training, machine, true};
  REQUIRE(here.p.bucket_count > 1);
  int first = -1, second = -1;
  for (int c = 0; c < here.p.collective_count; ++c)
    if (here.p.collectives[c].purpose == Purpose::gradient) (first < 0 ? first : second) = c;
  const auto join = [&](int d, int c) { here.meetings.join(d, c, here.line(d, ListOp::backward, 0), -1); };
  join(0, first);
  join(0, second);
  CHECK_FALSE(here.meetings.done(0, first));
  here.meetings.work(1, 100, here.line(0, ListOp::forward, 0), -1);
  join(1, first);
  CHECK(here.meetings.done(0, first));
  CHECK(here.meetings.now(0) == 110);
  here.meetings.work(1, 1, here.line(0, ListOp::forward, 0), -1);
  join(1, second);
  CHECK(here.meetings.done(1, second));
  CHECK(here.meetings.now(1) == 120);  // not 111: the wire was busy until 110
  CHECK(here.meetings.sending(1) == 20);
}
