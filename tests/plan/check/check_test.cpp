// SPDX-License-Identifier: MIT
#include "heddle/plan/check/check.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "heddle/heddle.hpp"

using namespace heddle;

namespace {

struct Small : Sequential<Linear<8, 8>, ReLU, Linear<8, 8>, ReLU, Linear<8, 4>> {};
template <class P> using Small8 = Plan<Small, CrossEntropy, SGD, Batch<16>, P>;

[[nodiscard]] std::string text_of(const Diagnosis& found) { return std::string{found.sentence().view()}; }

}  // namespace

TEST_CASE("what the lowering makes passes at run time as it does at build") {
  CHECK(check(lower<Small8<Single>>()).ok());
  CHECK(check(lower<Small8<DataParallel<4>>>()).ok());
  CHECK(check(lower<Small8<Pipeline<Balanced<3>, OneFOneB, Microbatches<4>>>>()).ok());
  CHECK(check(lower<Small8<Hybrid<Pipeline<Balanced<2>, GPipe, Microbatches<4>>, DataParallel<2>>>>(), Lanes::free).ok());
}

TEST_CASE("a Program whose list lost its last step is refused with the bucket") {
  using Spread = Small8<DataParallel<2>>;
  Program broken = lower<Spread>();
  std::vector<IndexRange> lists(broken.lists, broken.lists + broken.roles);
  --lists[0].end;
  broken.lists = lists.data();
  CHECK(text_of(check(broken)).find("[heddle.S06] gradient bucket 0 of device 0 is stepped 0 times, not once.") == 0);
}

TEST_CASE("two ranks that both send first deadlock; one that receives first does not") {
  HandWrittenLists both{2};
  both.send(0, 1, 8);
  both.receive(0, 1, 8);
  both.send(1, 0, 8);
  both.receive(1, 0, 8);
  CHECK(text_of(check(both))
            .find("[heddle.S03] the schedule deadlocks under rendezvous, each rank waits for the next: "
                  "rank 0 [line 1 send to 1] -> rank 1 [line 1 send to 0] -> rank 0. Fix: ") == 0);
  HandWrittenLists turns{2};
  turns.send(0, 1, 8);
  turns.receive(0, 1, 8);
  turns.receive(1, 0, 8);
  turns.send(1, 0, 8);
  CHECK(check(turns).ok());
  CHECK(check(turns, Lanes::one_per_device).ok());
}

TEST_CASE("an exchange that starts both before waiting is legal, and crosses on one lane") {
  HandWrittenLists exchange{2};
  for (const int rank : {0, 1}) {
    const int sent = exchange.send_start(rank, 1 - rank, 8);
    const int received = exchange.receive_start(rank, 1 - rank, 8);
    exchange.wait(rank, sent);
    exchange.wait(rank, received);
  }
  CHECK(check(exchange).ok());
  CHECK(check(exchange, Lanes::one_per_device).code == Code{'S', 3});
}

TEST_CASE("peers that are not there are refused before anything runs") {
  HandWrittenLists lists{2};
  lists.send(0, 2, 8);
  CHECK(text_of(check(lists)) ==
        "[heddle.S04] rank 0 names rank 2 as its peer, but there are 2 ranks and none sends to itself. Fix: name another rank.");
}
