// SPDX-License-Identifier: MIT
#include <doctest/doctest.h>

#include "heddle/transport/pair_ring.hpp"

using namespace heddle;

TEST_CASE("whoever posts last copies and completes") {
  PairRing ring{1};
  for (std::int64_t k = 0; k < 9; ++k) {  // more than once round the ring
    const float source = static_cast<float>(k);
    float target = -1;
    const bool send_first = k % 2 == 0;
    CHECK_FALSE((send_first ? ring.post_send(k, &source, 1) : ring.post_receive(k, &target, 1)));
    CHECK_FALSE(ring.done(k));
    CHECK((send_first ? ring.post_receive(k, &target, 1) : ring.post_send(k, &source, 1)));
    CHECK(ring.done(k));
    CHECK(target == source);
  }
}

TEST_CASE("counts that differ complete without a copy") {
  PairRing ring{1};
  const float source[2] = {1, 2};
  float target[2] = {-1, -1};
  ring.post_receive(0, target, 1);
  ring.post_send(0, source, 2);
  CHECK(ring.done(0));
  CHECK((ring.sent(0) == 2 && ring.received(0) == 1));
  CHECK(target[0] == -1);
}

TEST_CASE("nobody copies to or from a dead slot") {
  PairRing ring{2};
  const float source = 1;
  float target = -1;
  ring.post_receive(0, &target, 1);
  CHECK(ring.kill(0));
  CHECK(ring.dead(0));
  CHECK_FALSE(ring.post_send(0, &source, 1));
  CHECK_FALSE(ring.done(0));
  CHECK(target == -1);
}

TEST_CASE("a transfer that is complete cannot be killed") {
  PairRing ring{2};
  const float source = 1;
  float target = -1;
  ring.post_receive(0, &target, 1);
  ring.post_send(0, &source, 1);
  CHECK_FALSE(ring.kill(0));
  ring.kill_all(PairRing::receive);
  CHECK(ring.done(0));
}

TEST_CASE("a side that leaves ends what it alone has posted and nothing else") {
  PairRing ring{2};
  const float source = 1;
  float target = -1;
  ring.post_receive(0, &target, 1);
  ring.kill_all(PairRing::send);
  CHECK_FALSE(ring.dead(0));
  ring.kill_all(PairRing::receive);
  CHECK(ring.dead(0));
  ring.reset();
  ring.post_receive(0, &target, 1);
  ring.post_send(0, &source, 1);
  CHECK(target == 1);
}
