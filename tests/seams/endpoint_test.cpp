// SPDX-License-Identifier: MIT
#include "heddle/seams/endpoint.hpp"

#include <doctest/doctest.h>

using namespace heddle;

namespace {

using seams_room::Ticket;

/// An endpoint that moves nothing; without one of its functions it is none.
struct Still {
  [[nodiscard]] bool passable(Ticket) const { return true; }
  std::int64_t send_start(int, const float*, std::int64_t) { return 0; }
  void send_wait(int, std::int64_t) {}
  std::int64_t receive_start(int, float*, std::int64_t) { return 0; }
  void receive_wait(int, std::int64_t) {}
  std::int64_t all_reduce_start(int, float*, std::int64_t, SumOrder = SumOrder::tree) { return 0; }
  void all_reduce_wait(int, std::int64_t) {}
  std::int64_t reduce_scatter_start(int, const float*, float*, std::int64_t, SumOrder = SumOrder::tree) { return 0; }
  void reduce_scatter_wait(int, std::int64_t) {}
  std::int64_t all_gather_start(int, const float*, float*, std::int64_t) { return 0; }
  void all_gather_wait(int, std::int64_t) {}
};
struct Deaf : Still {
  void receive_wait(int, std::int64_t) = delete;
};

}  // namespace

TEST_CASE("what starts and waits for each movement is an endpoint") {
  static_assert(seams_room::TransportEndpoint<Still>);
  static_assert(!seams_room::TransportEndpoint<Deaf>);
}

TEST_CASE("a ticket knows whether a group or a peer is waited for") {
  CHECK_FALSE(Ticket{Ticket::send, 1, 0}.collective());
  CHECK_FALSE(Ticket{Ticket::receive, 1, 0}.collective());
  CHECK(Ticket{Ticket::all_reduce, 1, 0}.collective());
  CHECK(Ticket{Ticket::reduce_scatter, 1, 0}.collective());
  CHECK(Ticket{Ticket::all_gather, 1, 0}.collective());
  CHECK(seams_room::RankNeeds{}.ranks == 1);
}
