// SPDX-License-Identifier: MIT
#include "heddle/backend/mpi_session.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace heddle;

namespace {

TransportNeeds needs_of(int ranks) {
  TransportNeeds needs;
  needs.ranks = ranks;
  needs.groups = {{}};
  for (int r = 0; r < ranks; ++r) needs.groups[0].push_back(r);
  return needs;
}

}  // namespace

// Runs with four processes.
TEST_CASE("a session of one is alone in every process, also where it is the first that needs MPI") {
  LocalSession session{needs_of(1), std::chrono::seconds{20}};
  CHECK(session.local(Rank{0}));
  CHECK(session.first_process());
}

TEST_CASE("a job runs for the rank of this process, whose bytes all processes can have") {
  MpiSession session{needs_of(4), std::chrono::seconds{20}};
  int mine = -1;
  session.run([&](int rank) { mine = rank; });
  CHECK(session.local(Rank{mine}));
  CHECK_FALSE(session.local(Rank{(mine + 1) % 4}));
  CHECK(session.first_process() == (mine == 0));
  for (int owner = 0; owner < 4; ++owner) {
    int told = 10 * mine;
    session.share(Rank{owner}, std::as_writable_bytes(std::span{&told, 1}));
    CHECK(told == 10 * owner);
  }
  session.run([](int) { throw std::runtime_error("mine"); });
  CHECK(session.failed());
  CHECK_THROWS_WITH(session.rethrow_first(), "mine");
  CHECK_FALSE(session.reset());
}

TEST_CASE("sums of collectives add as the pairing says, along the tree") {
  TransportNeeds needs = needs_of(4);
  needs.add = [](float* target, const float* a, const float* b, std::int64_t n) {
    for (std::int64_t i = 0; i < n; ++i) target[i] = a[i] * b[i];
  };
  MpiSession session{needs, std::chrono::seconds{20}};
  float data[] = {0, 0, 0, 0};
  session.run([&](int rank) {
    for (float& v : data) v = static_cast<float>(rank + 2);
    auto& endpoint = session.endpoint(Rank{rank});
    endpoint.all_reduce_wait(0, endpoint.all_reduce_start(0, data, 4));
  });
  session.rethrow_first();
  for (const float v : data) CHECK(v == 2 * 3 * 4 * 5);
}
