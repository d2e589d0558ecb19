// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "oracle/schedules.hpp"

using namespace heddle;
using namespace heddle::tests;

namespace {

constexpr Lanes all_lanes[] = {Lanes::free, Lanes::per_communicator, Lanes::one_per_device};

/// Every receive is posted where it is waited for: what a transport does that reads its peer only inside the wait.
RoleLists read_at_waits(const RoleLists& lists) {
  RoleLists changed = lists;
  for (auto& list : changed) {
    std::vector<int> order;
    for (std::size_t i = 0; i < list.size(); ++i) {
      if (list[i].kind == EventKind::receive_start) continue;
      if (list[i].kind == EventKind::receive_wait) order.push_back(list[i].start);
      order.push_back(static_cast<int>(i));
    }
    reorder(list, order);
  }
  return changed;
}

}  // namespace

TEST_CASE("pipelines of every form, sound and with a slip of the hand, get the verdict that they have under random timing") {
  Random random{5240};
  Agreement agreement;
  for (int stages = 2; stages <= 5; ++stages)
    for (int micro_batches = 1; micro_batches <= 8; ++micro_batches)
      for (const Form form : {Form::blocking, Form::grouped, Form::late_waits, Form::early})
        for (const bool gpipe_order : {false, true}) {
          const PipelineWriter written{stages, micro_batches, form, gpipe_order};
          agreement.compare(written.lists(), random);
          for (const Slip slip : all_slips)
            for (int n = 0; n < 14; ++n) {
              RoleLists lists = written.lists();
              corrupt(lists, slip, random);
              agreement.compare(lists, random);
            }
        }
  MESSAGE(agreement.pairs << " program and lane pairs: " << agreement.ended << " end, " << agreement.stuck << " deadlock, " << agreement.mismatched
                          << " do not match");
  CHECK(agreement.pairs >= 60000);
  CHECK(agreement.disagreements == 0);
  CHECK(agreement.ended > 3000);  // each kind of verdict is among them
  CHECK(agreement.stuck > 3000);
  CHECK(agreement.mismatched > 3000);
}

TEST_CASE("pytorch #172668, 1F1B: blocking sends and receives deadlock, grouped they end") {
  for (int stages = 2; stages <= 5; ++stages)
    for (int micro_batches = 2; micro_batches <= 8; ++micro_batches) {
      CAPTURE(stages);
      CAPTURE(micro_batches);
      CHECK(verdict(PipelineWriter{stages, micro_batches, Form::blocking, false}.lists(), Lanes::free) == 3);
      CHECK(verdict(PipelineWriter{stages, micro_batches, Form::grouped, false}.lists(), Lanes::free) == 0);
      CHECK(verdict(PipelineWriter{stages, micro_batches, Form::blocking, true}.lists(), Lanes::one_per_device) == 0);  // GPipe needs no groups
    }
}

TEST_CASE("the early form ends where transfers are matched by posting, and is refused on one FIFO a device") {
  int refused_on_one = 0;
  for (int stages = 3; stages <= 5; ++stages)
    for (int micro_batches = stages; micro_batches <= 8; ++micro_batches) {
      const RoleLists lists = PipelineWriter{stages, micro_batches, Form::early, false}.lists();
      CHECK(verdict(lists, Lanes::free) == 0);
      refused_on_one += verdict(lists, Lanes::one_per_device) == 3;
    }
  CHECK(refused_on_one == 6 + 5 + 4);
}

TEST_CASE("a transport whose peers read only at their own wait makes a sound schedule deadlock") {
  for (int micro_batches = 2; micro_batches <= 8; ++micro_batches) {
    const RoleLists lists = PipelineWriter{2, micro_batches, Form::grouped, false}.lists();
    for (const Lanes lanes : all_lanes) CHECK(verdict(read_at_waits(lists), lanes) == 3);
    CHECK(verdict(lists, Lanes::free) == 0);
  }
}

TEST_CASE("receives in order of need, without tags, meet the sends of other values") {
  Writing crossed{2};
  crossed.wait(0, crossed.send_start(0, 1, 8));  // the value that is needed last is sent first
  crossed.wait(0, crossed.send_start(0, 1, 9));
  crossed.wait(1, crossed.receive_start(1, 0, 9));
  crossed.wait(1, crossed.receive_start(1, 0, 8));
  for (const Lanes lanes : all_lanes) CHECK(verdict(crossed.lists, lanes) == 4);
}

TEST_CASE("waiting for a send after later sends were started deadlocks where the peer does the same") {
  Writing window{2};
  for (const int r : {0, 1}) {
    const int first = window.send_start(r, 1 - r);
    const int second = window.send_start(r, 1 - r);
    window.wait(r, first);  // nobody has posted a receive yet
    window.receive(r, 1 - r);
    window.wait(r, second);
    window.receive(r, 1 - r);
  }
  for (const Lanes lanes : all_lanes) CHECK(verdict(window.lists, lanes) == 3);
}

TEST_CASE("two starts of both directions cross on the stream of a pair, and not where the pairs are others") {
  Writing exchange{2};
  for (const int r : {0, 1}) {
    const int sent = exchange.send_start(r, 1 - r);
    const int received = exchange.receive_start(r, 1 - r);
    exchange.wait(r, sent);
    exchange.wait(r, received);
  }
  CHECK(verdict(exchange.lists, Lanes::free) == 0);
  CHECK(verdict(exchange.lists, Lanes::per_communicator) == 3);
  CHECK(verdict(exchange.lists, Lanes::one_per_device) == 3);
  Writing ring{3};
  for (const int r : {0, 1, 2}) {
    const int sent = ring.send_start(r, (r + 1) % 3);
    const int received = ring.receive_start(r, (r + 2) % 3);
    ring.wait(r, sent);
    ring.wait(r, received);
  }
  CHECK(verdict(ring.lists, Lanes::free) == 0);
  CHECK(verdict(ring.lists, Lanes::per_communicator) == 0);
  CHECK(verdict(ring.lists, Lanes::one_per_device) == 3);
}
