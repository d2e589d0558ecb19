// SPDX-License-Identifier: MIT
#include "heddle/transport/nccl_peers.hpp"

#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <thread>

#include "says.hpp"

using namespace heddle;
using std::chrono::milliseconds;
using tests::sentence;
using transport_room::NcclPeers;
using transport_room::PendingLimits;

namespace {
NcclPeers peers_of(int ranks, std::chrono::nanoseconds deadline = milliseconds{50}) {
  return NcclPeers{ranks, {{0, 1}}, PendingLimits{4, 4, {1000}, nullptr}, deadline};
}
}  // namespace

TEST_CASE("a rank that waits goes on within its deadline, and behind it whoever has given its queue least is lost") {
  NcclPeers peers{3, {{0, 1, 2}}, PendingLimits{4, 4, {}, nullptr}, milliseconds{50}};
  const auto now = NcclPeers::Clock::now();
  peers.pause(0, now);  // in time
  for (const int rank : {0, 0, 1, 2, 2}) peers.queued(rank);
  CHECK((peers.calls(0) == 2 && peers.calls(1) == 1));
  CHECK(sentence([&] { peers.pause(0, now - milliseconds{60}); }) ==
        "[heddle.R01] rank 1 was lost at the queue of rank 0, sequence 2: it gave its card nothing within the deadline of 50 ms. Fix: look at the "
        "first "
        "error of rank 1, or raise the deadline if it is only slow.");
  CHECK(sentence([&] { peers.pause(2, now); }).find("rank 1 was lost at the queue of rank 2") != std::string::npos);  // at once
  peers.reset();
  peers.pause(2, NcclPeers::Clock::now());
  CHECK(sentence([&] {
          peers.pause(2, now - milliseconds{60});
        }).find("rank 2 was lost at the queue of rank 2, sequence 0: its queue, or that of a rank that it waits for, did not end") !=
        std::string::npos);
}

TEST_CASE("the room for what others send is that of the largest sum, in whole lines") {
  CHECK(NcclPeers::parts_of(1000, 4) == 3 * 256);  // 63 lines: 15, 16, 16 and 16 of 16 elements
  CHECK(NcclPeers::parts_of(16, 2) == 16);         // one line is not divided
  CHECK(NcclPeers::parts_of(1000, 1) == 0);
  NcclPeers peers = peers_of(2);
  CHECK(peers.room_for_parts(1) == 504);  // 31 lines, and 32 of which the last is not full
  const NcclPeers wide{8, {{0, 1, 2, 3}, {4, 5, 6, 7}, {0, 4}, {1, 5}, {2, 6}, {3, 7}}, PendingLimits{4, 4, {1000, 8000}, nullptr}, milliseconds{50}};
  CHECK(wide.room_for_parts(6) == 4000);  // 3 parts of 256 of four ranks, and one of 4,000 of two
  CHECK(peers.groups().members(0) == 2);
  CHECK(peers.limits().reductions == 4);
}

TEST_CASE("traffic is kept by rank, and a deadline that is none is refused") {
  NcclPeers peers = peers_of(2);
  peers.traffic(1).count_send(10);
  CHECK((peers.traffic(1).sent(Movement::point_to_point) == Sent{1, Bytes{40}} && peers.traffic(0).sent(Movement::point_to_point) == Sent{}));
  CHECK(sentence([] { (void)peers_of(2, milliseconds{0}); }).find("[heddle.R13]") == 0);
}

TEST_CASE("ranks meet when all have come, and one that never comes is told to those that wait") {
  NcclPeers peers = peers_of(2, std::chrono::seconds{20});
  std::thread other{[&] {
    for (int i = 0; i < 100; ++i) peers.meet(1);
  }};
  for (int i = 0; i < 100; ++i) peers.meet(0);
  other.join();
  peers.lost().add(1, "it has thrown");
  CHECK(sentence([&] { peers.meet(0); }).find("rank 1 was lost at the queue of rank 0, sequence 0: it has thrown") != std::string::npos);
}

TEST_CASE("of ranks that have given their queues as much the one that has not come to the meeting is lost") {
  NcclPeers peers{3, {{0, 1, 2}}, PendingLimits{4, 4, {}, nullptr}, milliseconds{50}};
  std::thread other{[&] { CHECK(sentence([&] { peers.meet(2); }).find("rank 1 was lost at ") != std::string::npos); }};
  CHECK(sentence([&] {
          peers.meet(0);
        }).find("rank 1 was lost at the queue of rank 0, sequence 0: it made no room for its step within the deadline of 50 ms. Fix: ") !=
        std::string::npos);
  other.join();
}
