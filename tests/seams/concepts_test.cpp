// SPDX-License-Identifier: MIT
#include "heddle/seams/concepts.hpp"

#include <doctest/doctest.h>

#include "heddle/compute/eigen/eigen.hpp"
#include "heddle/transport/solo.hpp"
#include "heddle/transport/threads.hpp"

using namespace heddle;

namespace {

struct Complete {
  static constexpr Bytes workspace{};
  static void add(float*, const float*, const float*, std::int64_t) {}
  static void copy(float*, const float*, std::int64_t) {}
  static void zero(float*, std::int64_t) {}
};
struct NoWorkspace {
  static void add(float*, const float*, const float*, std::int64_t) {}
  static void copy(float*, const float*, std::int64_t) {}
  static void zero(float*, std::int64_t) {}
};
struct NoZero {
  static constexpr Bytes workspace{};
  static void add(float*, const float*, const float*, std::int64_t) {}
  static void copy(float*, const float*, std::int64_t) {}
};

struct Silent {
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
  [[nodiscard]] bool passable(const Ticket&) { return true; }
};
struct SaysNothingOfTickets : Silent {
  bool passable(const Ticket&) = delete;
};
struct StartGivesNoNumber : Silent {
  void send_start(int, const float*, std::int64_t) {}
};
struct ReceivesIntoConst : Silent {
  std::int64_t receive_start(int, const int*, std::int64_t) { return 0; }
};

}  // namespace

static_assert(Compute<Complete>);
static_assert(Compute<EigenCompute>);
static_assert(!Compute<NoWorkspace>);
static_assert(!Compute<NoZero>);

static_assert(TransportEndpoint<Silent>);
static_assert(TransportEndpoint<Threads::Endpoint>);
static_assert(TransportEndpoint<Solo::Endpoint>);
static_assert(!TransportEndpoint<StartGivesNoNumber>);
static_assert(!TransportEndpoint<SaysNothingOfTickets>);
static_assert(!TransportEndpoint<ReceivesIntoConst>);
static_assert(!TransportEndpoint<int>);

TEST_CASE("a call that names nothing asks for nothing") {
  CHECK(ForwardCall{}.rows == 0);
  CHECK(ForwardCall{}.input == nullptr);
  CHECK(BackwardCall{}.input_gradient == nullptr);
  CHECK_FALSE(BackwardCall{}.add);
  CHECK(LossCall{}.gradient == nullptr);
  CHECK(LossCall{}.total_rows == 0);
}
